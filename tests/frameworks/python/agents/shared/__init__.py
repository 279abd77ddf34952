"""What every agent of this folder shares: the files and tools, the endpoint, the last line."""
