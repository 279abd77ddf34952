"""The page that people read, made from the rows."""

from .rows import Row

INTRODUCTION = """\
# loopmeter and its peers

Written by `benches/peers/run`, as `peers.csv` is: one sitting on {day}, {machine}.
The peers took turns in rounds, so that other work on the machine fell on all of them; still, read the ratios and not the
times. *Times slower* is against loopmeter's row of the same table, and below 1 the peer is faster.

No peer is a slower loopmeter: each does other things too, which take time. The list under each table names what a
peer does there and loopmeter does not.
"""

ABOUT = {
    "agent, warm": """\
## Agents, warm

One run: three requests to `loopmeter serve --scenario plan` over loopback HTTP, two tools in between, connections
kept, nothing streamed. Every answer was the script's, which the endpoint gives only after both calls. loopmeter's client
also counts the tokens of every prompt and reply exactly, and prices them. The endpoint's own time is part of every row.
n is runs, after {warm_up} to warm up (loopmeter's process is new in each round and drops its first {our_warm_up}). Inspect times its
samples itself, to the millisecond; opening and closing an evaluation is left out.
""",
    "agent, from process start": """\
## Agents, from process start

The same run in a new process, from its start until the answer is read. n is processes; the endpoint saw exactly three
requests of each. loopmeter's rows are `loopmeter agent start`, from start to end. It saves the run at every step, which no
peer does here: {kept}; in the last row it is saved on disk, and waited for, so that a crash loses nothing.
""",
    "server": """\
## Mock servers

The third request of `plan`, by wrk with one thread, {seconds} s a round, answered with the same sentence; streamed in the same number of
events. Server and load share the machine. n is rounds, and every figure a median over them; *reply bytes* count the
headers.
loopmeter counts the tokens of every prompt it is sent and says so in `usage`, checks the request, and finds the
turn in the conversation; aimock estimates tokens from the length.
""",
    "sweep": """\
## Sweeps

Runs of three turns with a scripted model in process. loopmeter: {our_runs} cells, from the start of the process to its end, a
row for each run and for each turn. Inspect: {samples} samples in one evaluation with its mock model, timed
inside a warm process, on its defaults, its log written; nothing is scored, and no tokens are counted, since its model is
told what it used. n is rounds.
""",
}

LEFT_OUT = """\
## Left out

promptfoo needs Node 22.22 or later, where everything else here runs on Node 20. Token counters are compared in
`cargo bench --bench core`.
"""


def page(rows: list[Row], facts: dict[str, object]) -> str:
    first = rows[0]
    machine = f"{first.cpu_model or 'a machine'}, {first.cores} cores"
    parts = [INTRODUCTION.format(day=first.measured_on, machine=machine)]
    told = set()
    for comparison in dict.fromkeys(row.comparison for row in rows):
        these = [row for row in rows if row.comparison == comparison]
        parts += [ABOUT[comparison].format(**facts), table(these), more(these, told)]
    return "\n".join(part for part in [*parts, LEFT_OUT] if part)


def figure(value: float | None, digits: int) -> str:
    return "—" if value is None else f"{value:,.{digits}f}"


def ms(value: float | None) -> str:
    """Three figures are more than the noise leaves."""
    return figure(value, 0 if value is None or value >= 100 else 3 if value < 1 else 2)


def whole(value: float | None) -> str:
    return figure(value, 0)


def ratio(value: float | None) -> str:
    return figure(value, 2 if value is not None and value < 10 else 0)


# The columns that can have figures, with their headings and how they are written.
FIGURES = (
    ("n", "n", whole), ("requests_per_s", "requests/s", whole), ("runs_per_s", "runs/s", whole),
    ("median_ms", "median ms", ms), ("p10_ms", "p10 ms", ms), ("p90_ms", "p90 ms", ms),
    ("reply_bytes", "reply bytes", whole), ("times_slower", "times slower", ratio),
)


def table(rows: list[Row]) -> str:
    used = [column for column in FIGURES if any(getattr(row, column[0]) is not None for row in rows)]
    several = len({row.case for row in rows}) > 1
    heads = [*(["case"] if several else []), "peer", "runs on", *(head for _, head, _ in used)]
    cells = [[*([row.case] if several else []), titled(row), row.runtime or "—",
              *(show(getattr(row, name)) for name, _, show in used)] for row in rows]
    return lines([heads, *cells], len(used))


def titled(row: Row) -> str:
    name = f"{row.peer} {row.version}".strip()
    return f"{name} (missing: {row.missing})" if row.missing else name


def lines(cells: list[list[str]], figures: int) -> str:
    """The cells as a Markdown table whose last columns are so many figures."""
    widths = [max(3, *(len(line[at]) for line in cells)) for at in range(len(cells[0]))]
    words = len(widths) - figures
    rule = ["-" * width if at < words else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    padded = [[cell.ljust(width) if at < words else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths))]
              for line in [cells[0], rule, *cells[1:]]]
    return "".join(f"| {' | '.join(line)} |\n" for line in padded)


def more(rows: list[Row], told: set[str]) -> str:
    """What each peer does more, unless it was told before."""
    new = {row.peer: row.does_more for row in rows if row.does_more and row.does_more not in told}
    told.update(new.values())
    if not new:
        return ""
    return "What each does more:\n\n" + "".join(f"- {peer}: {text}\n" for peer, text in new.items())
