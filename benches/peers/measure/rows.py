"""What is measured, as rows."""

import csv
import os
import statistics
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path

from .sides import OURS, Peer, Sides


@dataclass(frozen=True)
class Row:
    """One peer in one case. Empty where there is no such number; `missing` says why a peer has none."""

    comparison: str
    case: str
    peer: str
    version: str = ""
    runtime: str = ""
    n: int | None = None
    median_ms: float | None = None
    p10_ms: float | None = None
    p90_ms: float | None = None
    requests_per_s: float | None = None
    runs_per_s: float | None = None
    reply_bytes: int | None = None
    times_slower: float | None = None
    missing: str = ""
    does_more: str = ""
    measured_on: str = ""
    cpu_model: str = ""
    cores: str = ""

    def pace(self) -> float | None:
        """What a smaller number of is better, whatever was measured."""
        if rate := self.requests_per_s or self.runs_per_s:
            return 1 / rate
        return self.median_ms


def times(sample: list[float]) -> dict[str, float]:
    """The three figures of a sample in ms, with its size."""
    tenths = statistics.quantiles(sample, n=10, method="inclusive")
    return {"n": len(sample), "median_ms": statistics.median(sample), "p10_ms": tenths[0], "p90_ms": tenths[-1]}


def labelled(row: Row, peer: Peer, sides: Sides) -> Row:
    kind = row.comparison.split(",")[0]
    return replace(
        row, version=sides.version(peer), runtime=sides.runtime(peer.side), does_more=peer.more.get(kind, ""),
        measured_on=date.today().isoformat(), cpu_model=cpu_model(), cores=str(os.cpu_count()))


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def compared(rows: list[Row]) -> list[Row]:
    """The rows, each with its ratio to ours of the same case in the same sitting."""
    ours = {(row.comparison, row.case): row.pace() for row in rows if row.peer == OURS}
    return [with_ratio(row, ours.get((row.comparison, row.case))) for row in rows]


def with_ratio(row: Row, ours: float | None) -> Row:
    pace = row.pace()
    return replace(row, times_slower=pace / ours) if pace and ours else row


DIGITS = {"requests_per_s": 1, "runs_per_s": 1, "times_slower": 2}


def written(name: str, value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{DIGITS.get(name, 3)}f}" if isinstance(value, float) else str(value)


def write_csv(path: Path, rows: list[Row]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        sheet = csv.DictWriter(file, [column.name for column in fields(Row)], lineterminator="\n")
        sheet.writeheader()
        for row in rows:
            sheet.writerow({name: written(name, value) for name, value in asdict(row).items()})
