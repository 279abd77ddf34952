"""The peers, and the sides (Node, Python) that they are installed on."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
OURS = "loopmeter"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Peer:
    """One line of peers.toml."""

    name: str
    side: str
    package: str = ""
    agent: str = ""
    sweep: str = ""
    server: bool = False
    more: dict[str, str] = field(default_factory=dict)


def all_peers() -> list[Peer]:
    return [Peer(**peer) for peer in tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))["peer"]]


@dataclass(frozen=True)
class Sides:
    """What is installed where. `missing` says why a side is not there; its peers then have empty cells."""

    loopmeter: Path
    folder: Path
    missing: dict[str, str]

    def why_missing(self, peer: Peer) -> str:
        return self.missing.get(peer.side, "")

    def command(self, peer: Peer, script: str) -> list[str]:
        """How to start one of the peer's scripts."""
        interpreter = {"node": "node", "python": str(self.folder / "python" / "bin" / "python")}[peer.side]
        return [interpreter, str(HERE / peer.side / "agents" / script)]

    def aimock(self) -> Path:
        return self.folder / "node" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"

    def runtime(self, side: str) -> str:
        if side in self.missing:
            return ""
        if side == "native":
            return "native"
        program = "node" if side == "node" else str(self.folder / "python" / "bin" / "python")
        version = output(program, "--version").removeprefix("v").removeprefix("Python ")
        return f"{side.capitalize()} {version}"

    def version(self, peer: Peer) -> str:
        if peer.name == OURS:
            return output(str(self.loopmeter), "--version").split()[-1]
        if peer.side in self.missing or not peer.package:
            return ""
        if peer.side == "node":
            manifest = self.folder / "node" / "node_modules" / peer.package / "package.json"
            return json.loads(manifest.read_text(encoding="utf-8"))["version"]
        ask = f"from importlib.metadata import version; print(version('{peer.package}'))"
        return output(str(self.folder / "python" / "bin" / "python"), "-c", ask)


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def program() -> Path:
    """The loopmeter that LOOPMETER names, or the one that is built now."""
    if named := os.environ.get("LOOPMETER"):
        return Path(named).resolve()
    say("building loopmeter")
    subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", OURS], cwd=ROOT, check=True)
    return ROOT / "target" / "release" / OURS


def install(peers: list[Peer], folder: Path) -> Sides:
    """Installs the sides that these peers need. One that cannot be installed is missing; it does not end the sitting."""
    loopmeter = program()
    missing = {}
    for side in sorted({peer.side for peer in peers} - {"native"}):
        say(f"installing: {side}")
        code = subprocess.run([str(HERE / "setup"), side, str(folder)], stdout=sys.stderr).returncode
        if code != 0:
            missing[side] = f"`setup {side}` ended with {code}"
            say(f"{side} is missing: {missing[side]}")
    return Sides(loopmeter, folder.resolve(), missing)
