"""Agents: the three turns of `plan` over loopback HTTP, once warm and from the start of the process."""

import csv
import json
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from .processes import Worker, Wrong, environment, held, scripted
from .rows import Row, times
from .sides import OURS, Peer, Sides, say

WARM, COLD = "agent, warm", "agent, from process start"
CASE = "three turns over HTTP"
SAVED = "loopmeter, on disk"

# A file system in memory, where there is one: what is saved there costs no wait for a disk.
_SHARED_MEMORY = Path("/dev/shm")
MEMORY = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None

TURNS = 3
ROUNDS = 10
WARM_UP = 100
# Runs that each of our processes makes before the timed ones: it is a new process in every round.
OUR_WARM_UP = 50

EXPERIMENT = """\
title = "Peers"
about = "Three turns over an endpoint, as often as wanted."
clock = "real"
repeat = {repeat}

[settings]
provider = "endpoint"
transport = "http"
max_turns = 20

[table]
caption = "Peers"
columns = ["turns", "wall_ms"]
"""


class Ours:
    """The place of a worker, for our own client: `loopmeter run` on an endpoint, whose rows have the times."""

    name = OURS

    def __init__(self, loopmeter: Path, url: str):
        self.loopmeter, self.url = loopmeter, url

    def ask(self, runs: int) -> dict:
        rows = experiment(self.loopmeter, self.url, OUR_WARM_UP + runs)
        return {"ms": [float(row["wall_ms"]) for row in rows[OUR_WARM_UP:]]}

    def close(self) -> None:
        """Nothing is kept between two rounds."""


def experiment(loopmeter: Path, url: str, repeat: int) -> list[dict[str, str]]:
    """So many runs in one process, and their rows; none may differ from the script."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "peers.toml"), Path(folder, "out")
        file.write_text(EXPERIMENT.format(repeat=repeat), encoding="utf-8")
        command = [str(loopmeter), "run", str(file), "--out", str(out), "--quiet"]
        subprocess.run(command, env=environment(url), check=True, capture_output=True)
        with open(out / "peers" / "cells.csv", newline="", encoding="utf-8") as rows:
            made = list(csv.DictReader(rows))
    held(OURS, sorted({row["answer"] for row in made}))
    if len(made) != repeat or {row["turns"] for row in made} != {str(TURNS)}:
        raise Wrong(f"{OURS}: {len(made)} runs of {repeat}, or not of {TURNS} turns")
    return made


def warm(peers: list[Peer], sides: Sides, runs: int) -> list[Row]:
    """All peers wait side by side, and in each round each of them is asked for a share of the runs."""
    there = [peer for peer in peers if not sides.why_missing(peer)]
    took = {peer.name: [] for peer in there}
    with ExitStack() as stack:
        url = stack.enter_context(scripted(sides.loopmeter))
        workers = []
        for peer in there:
            say(f"{WARM}: {peer.name}: {WARM_UP} runs to warm up")
            worker = Ours(sides.loopmeter, url) if peer.name == OURS else Worker(
                peer.name, sides.command(peer, peer.agent), url)
            stack.callback(worker.close)
            worker.ask(WARM_UP)
            workers.append(worker)
        for number in range(ROUNDS):
            say(f"{WARM}: round {number + 1} of {ROUNDS}")
            for worker in turned(workers, number):
                took[worker.name] += worker.ask(max(1, runs // ROUNDS))["ms"]
    return [row(WARM, peer, took, sides) for peer in peers]


def turned(items: list, number: int) -> list:
    """The same, beginning somewhere else in each round."""
    first = number % len(items)
    return items[first:] + items[:first]


def row(comparison: str, peer: Peer, took: dict[str, list[float]], sides: Sides) -> Row:
    if why := sides.why_missing(peer):
        return Row(comparison, CASE, peer.name, missing=why)
    return Row(comparison, CASE, peer.name, **times(took[peer.name]))


def cold(peers: list[Peer], sides: Sides, starts: int) -> list[Row]:
    """New processes, each timed from its start to its answer, and held to three requests at the endpoint."""
    there = [peer.name for peer in peers if not sides.why_missing(peer)]
    named = {peer.name: peer for peer in peers}
    took = {name: [] for name in [*there, SAVED]}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "exchanges.log")
        with scripted(sides.loopmeter, log) as url:
            for number in range(starts):
                say(f"{COLD}: round {number + 1} of {starts}")
                for name in turned(list(took), number):
                    before = lines(log)
                    took[name].append(start(name, named.get(name), sides, url))
                    if (exchanges := lines(log) - before) != TURNS:
                        raise Wrong(f"{name}: {exchanges} requests in a run of {TURNS} turns")
    rows = [row(COLD, peer, took, sides) for peer in peers]
    return [*rows, Row(COLD, CASE, SAVED, **times(took[SAVED]))]


def lines(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def start(name: str, peer: Peer | None, sides: Sides, url: str) -> float:
    """One run in a new process, in ms."""
    if name in (OURS, SAVED):
        return start_ours(name, sides.loopmeter, url)
    worker = Worker(name, sides.command(peer, peer.agent), url)
    worker.close()
    return worker.first_ms


def start_ours(name: str, loopmeter: Path, url: str) -> float:
    """`agent start`, which saves every step: into memory, as the peers save nothing, or on disk, as it is used."""
    with tempfile.TemporaryDirectory(dir=MEMORY if name == OURS else None) as runs:
        command = [str(loopmeter), "agent", "start", "--provider", "endpoint", "--dir", runs, "--json"]
        started = time.perf_counter()
        done = subprocess.run(command, env=environment(url), check=True, capture_output=True)
        took = (time.perf_counter() - started) * 1000
    held(name, [json.loads(done.stdout)["answer"]])
    return took
