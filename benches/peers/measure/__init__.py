"""What `run` is made of: who is there, three comparisons, and the pages that tell of them."""
