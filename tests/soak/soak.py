"""The server under load for minutes: 64 clients whose every reply is checked, and others that nobody wants."""

import argparse
import asyncio
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import finale
import report
from clients import SERVER_FAULT, Load
from nuisances import Nuisances, fill
from scripts import SCENARIOS, scripts
from server import Process, account

CLIENTS = 64
HERE = Path(__file__).resolve().parent

ABOUT = """\
Soaks `loopmeter serve`: 64 clients make whole runs for some minutes, plain and streamed, with faults that are scripted, and
check every status, text, call and usage against the same runs in process. Beside them, other clients are slow or silent, go
away or send garbage. Then the server is told to stop while all are at work, by SIGTERM; and another one by SIGINT.

The memory is judged from the second minute on, so a run of three minutes is the shortest that says something of it; ten are
usual. Exits with 0 if all held, with 1 and what did not if not, with 2 if it was called wrongly."""


class Findings:
    """What was checked, and whether it held."""

    def __init__(self):
        self.rows = []

    def check(self, what, holds, saw):
        self.rows.append((what, "held" if holds else "DID NOT HOLD", saw))

    def none_of(self, what, wrong):
        """Holds if nothing is in the list; else the first of it is told."""
        shown = "; ".join(str(one)[:300] for one in wrong[:3])
        self.check(what, not wrong, f"{len(wrong)}: {shown}" if wrong else "0")

    def failed(self):
        return [row for row in self.rows if row[1] != "held"]


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/soak/run", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", metavar="LOOPMETER", help="the program, such as target/release/loopmeter")
    parser.add_argument("minutes", metavar="MINUTES", nargs="?", type=float, default=10.0, help="how long [default: 10]")
    parser.add_argument("--out", metavar="DIR", type=Path, default=HERE.parents[1] / "results" / "soak",
                        help="where the samples, the plot and the page go [default: results/soak]")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="what the clients do in which order [default: 1]")
    given = parser.parse_args()
    if not os.access(given.program, os.X_OK) or not Path(given.program).is_file():
        parser.error(f"{given.program} is no program: build it by `cargo build --release`")
    if not 0.1 <= given.minutes <= 24 * 60:
        parser.error("MINUTES is a number from 0.1 to 1440")
    if not Path("/proc/self/status").exists():
        parser.error("the memory of a process is read from /proc, which this system has not: use Linux")
    given.program = str(Path(given.program).resolve())
    return given


async def progress(begun, seconds, load, nuisances, process):
    """A line every ten seconds."""
    while True:
        await asyncio.sleep(10)
        tally, last = load.tally, process.samples[-1]
        faults = tally.requests - tally.seen["whole"]
        print(
            f"{time.monotonic() - begun:4.0f} of {seconds:.0f} s: {tally.requests:,} requests, {tally.runs:,} runs, "
            f"{faults:,} scripted faults, {len(tally.wrong) + len(nuisances.wrong)} wrong, "
            f"{sum(nuisances.ended.values()):,} nuisances let go, {last.rss_kib / 1024:.1f} MiB, "
            f"{last.open_files} open files",
            file=sys.stderr,
            flush=True,
        )


async def soak(process, played, given):
    """The long part: the load, the nuisances, and how many files were open before, during and after."""
    seconds = given.minutes * 60
    load, nuisances = Load(process.port, played, given.seed, "soak"), Nuisances(process.port, given.seed)
    before = process.sample(0, 0)
    watch = asyncio.create_task(process.watch(lambda: load.tally.requests))
    begun = time.monotonic()
    await fill(process.port)
    await nuisances.start()
    telling = asyncio.create_task(progress(begun, seconds, load, nuisances, process))
    clients = asyncio.create_task(load.run(CLIENTS))
    await asyncio.wait([clients, watch, telling], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    is_gone = watch.done()
    load.stopping = True
    telling.cancel()
    watch.cancel()
    await clients
    await nuisances.stop()
    if is_gone:
        last = process.log.read_text().splitlines()[-5:]
        raise SystemExit("\n".join(["the server ended by itself; its last lines:", *last]))
    after = process.sample(0, 0)
    deadline = time.monotonic() + 5
    while after.open_files > before.open_files and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        after = process.sample(0, 0)
    return load, nuisances, (before, after)


def judge_load(findings, load, nuisances, files):
    tally, (before, after) = load.tally, files
    findings.none_of("every reply is the scripted one, every error a scripted one", tally.wrong)
    asked = f"{sum(tally.seen.values()):,} requests"
    findings.check("errors seen are errors scripted", tally.seen == tally.scripted, asked)
    findings.none_of("who is slow, silent, gone or sends garbage is let go as it should be", nuisances.wrong)
    idle = f"{before.open_files} before, {after.open_files} after"
    findings.check("no connection stays open when its client is gone", after.open_files <= before.open_files, idle)


def judge_account(findings, load, nuisances, told):
    """The server's own lines against what the clients have seen."""
    findings.none_of("every line of the server's log can be read", told.unread)
    findings.check("the log ends with a whole line", told.ends_whole, f"{told.lines:,} lines")
    missing = told.highest - told.lines
    findings.check("every exchange has its line", not missing and not told.missed,
                   f"{missing:,} of {told.highest:,} are not there, of which {told.missed:,} were said to be left out")
    ours, theirs = load.tally.turns, told.turns
    differ = [
        f"{key}: clients {dict(ours[key])}, server {dict(theirs[key])}"
        for key in ours | theirs
        if ours[key] != theirs[key]
    ]
    findings.none_of("replies, tokens and faults of each scenario and turn are the same on both sides", differ)
    findings.none_of("the server finds nothing odd in runs that keep to the protocol", told.odd)
    slow, gone = told.runs["slow-body"]["408"], told.runs["hangs-up"]["gone"]
    ended = nuisances.ended
    findings.check("slow bodies are refused with 408 on both sides", slow == ended["a body a byte a second"], f"{slow}")
    never = told.runs["never-reads"]["replies"]
    findings.check("a stream that nobody reads is given up", not never, f"{never} whole ones in the log")
    findings.check("streams left by their client are logged so", gone >= ended["hangs up mid-stream"], f"{gone:,}")


def judge_ending(findings, sign, ending):
    name = sign.name
    findings.check(f"{name}: exits with {finale.CODE} within its grace of {finale.GRACE:.0f} s",
                   ending.code == finale.CODE and ending.seconds <= finale.GRACE + finale.LATE,
                   f"{ending.code} after {ending.seconds:.2f} s")
    findings.none_of(f"{name}: replies in progress are finished if there is time, nobody is left waiting", ending.wrong)


def judge_last_lines(findings, sign, ending, told):
    """Each whole reply that a client has got during the end has its line."""
    ours, theirs = ending.load.tally.seen, told.runs[ending.load.prefix]
    # The server may have answered more than arrived, never less. A reset may also be its farewell, which has no line.
    missing = {kind: count - theirs[{"whole": "replies"}.get(kind, kind)] for kind, count in ours.items()}
    short = {kind: count for kind, count in missing.items() if count > 0 and kind != "reset"}
    seen = f"not there: {short}" if short else "0 missing"
    findings.check(f"{sign.name}: every reply that arrived is in the log", not short, seen)
    cut = told.runs["ends-too-late"]["gone"]
    seen = f"{cut} of {ending.cut}"
    findings.check(f"{sign.name}: what was cut off at the end of the grace is in the log", cut == ending.cut, seen)


def page(given, findings, load, nuisances, flatness, endings, samples):
    """results/soak/README.md."""
    tally = load.tally
    version = subprocess.run([given.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    times = sorted(tally.milliseconds)
    at = lambda share: times[min(int(len(times) * share), len(times) - 1)] if times else 0  # noqa: E731
    kinds = sorted((tally.scripted | tally.seen).keys() - {"whole"})
    kinds = [(kind, tally.scripted[kind], tally.seen[kind]) for kind in kinds]
    gone = [(kind, Nuisances.KINDS[kind], nuisances.ended[kind]) for kind in Nuisances.KINDS]
    rss = [samples[0].rss_kib / 1024, flatness.peak, samples[-1].rss_kib / 1024]
    checked = [(what, held, saw[:120]) for what, held, saw in findings.rows]
    ends = ", ".join(f"after {ending.seconds:.2f} s with {ending.code}" for ending in endings)
    return f"""\
# The server, soaked

Written by `tests/soak/run LOOPMETER {given.minutes:g}`, as `memory.csv` and `memory.svg` are: {date.today()}, {version},
{cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed {given.seed}. The clients run on the same machine as the
server, and other work may have run beside them: the figures of time say less than the others.

{CLIENTS} clients made whole runs of {len(SCENARIOS)} scenarios for {samples[-1].second:.0f} s, and checked every reply against the same run in
process, and what the server says of itself against what they saw.

{report.table(("checked", "", "seen"), checked)}

| | |
| --- | --- |
| requests | {tally.requests:,} |
| runs | {tally.runs:,} |
| whole replies | {tally.whole["plain"]:,} plain, {tally.whole["streamed"]:,} streamed, {tally.whole["usage"]:,} streamed with usage |
| connections | {tally.connections:,} |
| bytes received | {tally.bytes_in:,} |
| plain replies, as the clients see them | median {at(0.5):.1f} ms, 99 of 100 within {at(0.99):.1f} ms, longest {at(1.0):.0f} ms |
| resident memory | {rss[0]:.1f} MiB at the start, {rss[1]:.1f} MiB at most, {rss[2]:.1f} MiB at the end |
| growth | {flatness} |
| open files at most | {max(s.open_files for s in samples)} |
| stopped by SIGTERM, SIGINT | {ends} |

Memory counts as flat if a robust line through the samples (Theil and Sen) grows by no more than {report.MOST_GROWTH_MIB:.0f} MiB or
{report.MOST_GROWTH_SHARE:.0%} over the judged part. That begins after {report.WARM_UP_SECONDS} s and {report.WARM_UP_REQUESTS:,} requests: by then
all that the server remembers is full, the lengths of 131,072 texts included, which the run begins by sending.

## Scripted errors

{report.table(("kind", "scripted", "seen"), kinds)}

## Clients that nobody wants

{report.table(("what they do", "at once", "let go"), gone)}
"""


def cpu():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


async def all_of_it(given, folder):
    findings = Findings()
    print("playing the scenarios in process", file=sys.stderr)
    played = scripts(given.program, folder)
    first = Process(given.program, folder / "first.log", SERVER_FAULT)
    second = None
    try:
        await first.start()
        load, nuisances, files = await soak(first, played, given)
        judge_load(findings, load, nuisances, files)
        print("SIGTERM under load", file=sys.stderr)
        term = await finale.finale(first, played, given.seed, signal.SIGTERM)
        # On the same port, so that it has to be free again.
        second = Process(given.program, folder / "second.log", SERVER_FAULT, first.port)
        await second.start()
        print("SIGINT under load", file=sys.stderr)
        interrupt = await finale.finale(second, played, given.seed + 1, signal.SIGINT)
    finally:
        for process in filter(None, (first, second)):
            await process.kill()
    told, told_second = account(first.log), account(second.log)
    judge_account(findings, load, nuisances, told)
    for sign, ending, said in ((signal.SIGTERM, term, told), (signal.SIGINT, interrupt, told_second)):
        judge_ending(findings, sign, ending)
        judge_last_lines(findings, sign, ending, said)
    flatness = report.Flatness(first.samples)
    if flatness.is_judged:
        findings.check("memory is flat", flatness.holds, str(flatness))
    given.out.mkdir(parents=True, exist_ok=True)
    report.write_csv(given.out / "memory.csv", first.samples)
    others = sum(Nuisances.KINDS.values())
    title = f"loopmeter serve under {CLIENTS} clients and {others} nuisances: {load.tally.requests:,} requests"
    (given.out / "memory.svg").write_text(report.svg(first.samples, flatness, title), encoding="utf-8")
    text = page(given, findings, load, nuisances, flatness, (term, interrupt), first.samples)
    (given.out / "README.md").write_text(text, encoding="utf-8")
    report.write_digests(given.out)
    return findings, text


def main():
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="loopmeter-soak-") as folder:
        findings, text = asyncio.run(all_of_it(given, Path(folder)))
    print(text)
    failed = findings.failed()
    for what, _, saw in failed:
        print(f"did not hold: {what}: {saw}", file=sys.stderr)
    print(f"{len(findings.rows) - len(failed)} of {len(findings.rows)} held; see {given.out}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
