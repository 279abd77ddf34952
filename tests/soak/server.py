"""The server's process: its start, its memory, what it writes, its end."""

import asyncio
import os
import re
import signal
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(
    r"#(?P<number>\d+) run (?P<run>\S+?)"
    r"(?:: (?P<scenario>[a-z-]+) turn (?P<turn>\d+) attempt (?P<attempt>\d+))?"
    r": (?:(?P<finish>stop|tool_calls|length), (?P<prompt>\d+) \+ (?P<completion>\d+) tokens, \d+ ms"
    r"|fault (?P<fault>\w+), \d+ ms|refused (?P<refused>\d+): .*?|(?P<gone>the client went away) after \d+ ms)"
    r"(?P<odd>; odd: .*)?"
)
MISSED = re.compile(r"… (\d+) exchanges not shown")


@dataclass
class Sample:
    """The process at one moment."""

    second: float
    rss_kib: int
    open_files: int
    threads: int
    requests: int


class Process:
    """`loopmeter serve`, with a line for every exchange in a file."""

    def __init__(self, program, log, fault, port=0):
        self.command = [program, "serve", "--addr", f"127.0.0.1:{port}", "--fault", fault, "--verbose"]
        self.log, self.port, self.process = Path(log), port, None
        self.samples = []

    async def start(self):
        with self.log.open("wb") as log:
            environment = {name: value for name, value in os.environ.items() if name != "LOOPMETER_TOKEN"}
            self.process = await asyncio.create_subprocess_exec(
                *self.command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log, env=environment
            )
        greeting = (await asyncio.wait_for(self.process.stdout.readline(), 60)).decode()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)$", greeting.strip())
        if not found:
            await self.process.wait()
            raise SystemExit(f"the server does not start: {greeting}{self.log.read_text()}")
        self.port = int(found[1])

    def sample(self, second, requests):
        """The memory and the files of the process now."""
        at = Path("/proc", str(self.process.pid))
        status = dict(line.split(":", 1) for line in (at / "status").read_text().splitlines())
        number = lambda name: int(status[name].split()[0])  # noqa: E731
        files = len(os.listdir(at / "fd"))
        return Sample(round(second, 1), number("VmRSS"), files, number("Threads"), requests)

    async def watch(self, requests):
        """Takes a sample every second until it is cancelled."""
        begun = time.monotonic()
        while True:
            self.samples.append(self.sample(time.monotonic() - begun, requests()))
            await asyncio.sleep(1 - (time.monotonic() - begun) % 1)

    async def stop(self, sign, patience):
        """Sends the signal; the exit code, or none, and after how many seconds."""
        begun = time.monotonic()
        self.process.send_signal(sign)
        try:
            code = await asyncio.wait_for(self.process.wait(), patience)
        except (TimeoutError, asyncio.TimeoutError):
            code = None
        return code, time.monotonic() - begun

    async def kill(self):
        if self.process and self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()


@dataclass
class Account:
    """What the server says that it did, from its lines."""

    lines: int = 0
    highest: int = 0
    missed: int = 0
    ends_whole: bool = True
    unread: list = field(default_factory=list)
    odd: list = field(default_factory=list)
    # By scenario and turn, of the runs of the clients that are checked.
    turns: dict = field(default_factory=lambda: defaultdict(Counter))
    # Outcomes by the first part of the run's name.
    runs: dict = field(default_factory=lambda: defaultdict(Counter))

    def add(self, line):
        if missed := MISSED.fullmatch(line):
            self.missed += int(missed[1])
            return
        found = LINE.fullmatch(line)
        if not found:
            self.unread.append(line)
            return
        self.lines += 1
        self.highest = max(self.highest, int(found["number"]))
        run = found["run"]
        group = run if not run[-1].isdigit() else run.split("-")[0]
        outcome = found["fault"] or found["refused"] or (found["gone"] and "gone") or "replies"
        self.runs[group][outcome] += 1
        checked = group == "soak" or (run == "-" and found["scenario"])
        if group == "soak" and found["odd"]:
            self.odd.append(line)
        if checked:
            self.add_turn(found, outcome)

    def add_turn(self, found, outcome):
        sums = self.turns[found["scenario"], int(found["turn"] or 0)]
        sums[outcome] += 1
        if outcome == "replies":
            sums["prompt_tokens"] += int(found["prompt"])
            sums["completion_tokens"] += int(found["completion"])


def account(log):
    """Reads the lines of a server that is gone."""
    made = Account()
    with Path(log).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            made.ends_whole = line.endswith("\n")
            made.add(line.rstrip("\n"))
    return made
