"""Sweeps: runs of three turns with a model in process, and what came of each written down."""

import csv
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from .agents import TURNS, turned
from .processes import Worker, Wrong, held
from .rows import Row
from .sides import OURS, Peer, Sides, say

SWEEP = "sweep"
CASE = "three turns, results written"
ROUNDS = 5
OUR_RUNS = 20_000
SAMPLES = 100

EXPERIMENT = f"""\
title = "Peers"
about = "Many runs of three turns."

[settings]
scenario = "plan"

[[axis]]
setting = "latency_ms"
values = {list(range(OUR_RUNS // 20))}

[[axis]]
setting = "max_turns"
values = {list(range(TURNS, TURNS + 20))}

[table]
caption = "Peers"
columns = ["latency_ms", "max_turns", "turns", "cost_usd"]
"""


class Ours:
    """The place of a worker, for `loopmeter run` from the start of its process to its end."""

    name, runs = OURS, OUR_RUNS

    def __init__(self, loopmeter: Path):
        self.loopmeter = loopmeter

    def rate(self) -> float:
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder, "peers.toml"), Path(folder, "out")
            file.write_text(EXPERIMENT, encoding="utf-8")
            command = [str(self.loopmeter), "run", str(file), "--out", str(out), "--quiet"]
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds = time.perf_counter() - started
            self._hold(out / "peers" / "cells.csv")
        return self.runs / seconds

    def _hold(self, cells: Path) -> None:
        with open(cells, newline="", encoding="utf-8") as file:
            made = [(row["turns"], row["answer"]) for row in csv.DictReader(file)]
        held(OURS, sorted({answer for _, answer in made}))
        if len(made) != self.runs or {turns for turns, _ in made} != {str(TURNS)}:
            raise Wrong(f"{OURS}: {len(made)} runs of {self.runs}, or not of {TURNS} turns")


class Theirs:
    """A worker that times itself: neither the start of its process nor its imports count."""

    runs = SAMPLES

    def __init__(self, peer: Peer, sides: Sides, stack: ExitStack):
        self.name = peer.name
        self.worker = Worker(peer.name, sides.command(peer, peer.sweep), "")
        stack.callback(self.worker.close)

    def rate(self) -> float:
        return self.runs / self.worker.ask(self.runs)["seconds"]


def sweeps(peers: list[Peer], sides: Sides) -> list[Row]:
    with ExitStack() as stack:
        there = [Ours(sides.loopmeter) if peer.name == OURS else Theirs(peer, sides, stack)
                 for peer in peers if not sides.why_missing(peer)]
        rates = {one.name: [] for one in there}
        for one in there:
            one.rate()
        for number in range(ROUNDS):
            say(f"{SWEEP}: round {number + 1} of {ROUNDS}")
            for one in turned(there, number):
                rates[one.name].append(one.rate())
    return [row(peer, rates, sides) for peer in peers]


def row(peer: Peer, rates: dict[str, list[float]], sides: Sides) -> Row:
    if why := sides.why_missing(peer):
        return Row(SWEEP, CASE, peer.name, missing=why)
    return Row(SWEEP, CASE, peer.name, n=len(rates[peer.name]), runs_per_s=statistics.median(rates[peer.name]))
