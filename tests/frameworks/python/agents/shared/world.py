"""Three files in memory, four tools over them, and the two texts that open a conversation.

The texts are those of the repository's own experiments, so that prompts can be compared. A tool
that cannot do its work raises, and it is left to each framework what becomes of that.
"""

import json
import os
from pathlib import Path

_WORLD = Path(__file__).resolve().parents[5] / "experiments" / "world"
_FILES = {path.name: path.read_text() for path in sorted((_WORLD / "files").iterdir())}

SYSTEM = (_WORLD / "system.txt").read_text()
USER = (_WORLD / "user.txt").read_text()


def list_files() -> list[str]:
    """List the names of all files."""
    _log("list_files")
    return list(_FILES)


def read_file(path: str) -> str:
    """Read one file and return its whole text.

    Args:
        path: The name of the file.
    """
    _log("read_file", path=path)
    return _FILES[_existing(path)]


def delete_file(path: str) -> str:
    """Delete one file. This cannot be undone.

    Args:
        path: The name of the file.
    """
    _log("delete_file", path=path)
    del _FILES[_existing(path)]
    return f"deleted {path}"


def scan_archive() -> str:
    """Scan the archive of old files. This takes a few seconds."""
    _log("scan_archive")
    return "scanned 1200 files"


TOOLS = [list_files, read_file, delete_file, scan_archive]


def _existing(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise PermissionError(f"permission denied: {path}")
    if path not in _FILES:
        raise FileNotFoundError(f"no such file: {path}. Call list_files to see what exists.")
    return path


def _log(tool: str, **args: str) -> None:
    """Appends the call that starts to the file named by LOOPMETER_TOOL_LOG, where it is set."""
    if log := os.environ.get("LOOPMETER_TOOL_LOG"):
        with open(log, "a", encoding="utf-8") as lines:
            lines.write(json.dumps({"tool": tool, "args": args}) + "\n")
