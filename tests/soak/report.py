"""What a soak leaves behind: the samples as CSV, a plot of them, a page that says what held."""

import csv
import hashlib
from statistics import median

# Memory is flat if, by a robust line (Theil and Sen: the median of the slopes of all pairs of samples), it grows over the
# judged part of the run by no more than this.
MOST_GROWTH_MIB = 4.0
MOST_GROWTH_SHARE = 0.05
# The judged part begins after a minute, or later: once the server has been asked so often that all that it remembers is
# full: 100,000 exchanges, or 64 MiB of them, and the lengths of 131,072 texts, which `fill` sees to. Before that, memory may
# grow by design.
WARM_UP_SECONDS = 60
WARM_UP_REQUESTS = 120_000
# A shorter judged part says nothing.
LEAST_JUDGED_SECONDS = 60


class Flatness:
    """Whether memory is flat, and the line that says so."""

    def __init__(self, samples):
        warm = [s for s in samples if s.second >= WARM_UP_SECONDS and s.requests >= WARM_UP_REQUESTS]
        self.begins = warm[0].second if warm else None
        self.seconds = warm[-1].second - warm[0].second if warm else 0
        self.is_judged = self.seconds >= LEAST_JUDGED_SECONDS
        self.peak = max(s.rss_kib for s in samples) / 1024
        if not self.is_judged:
            return
        points = [(s.second, s.rss_kib / 1024) for s in warm]
        self.slope = theil_sen(points)
        self.middle = median(mib for _, mib in points)
        self.at_zero = median(mib - self.slope * second for second, mib in points)
        self.growth = self.slope * self.seconds
        self.most = max(MOST_GROWTH_MIB, MOST_GROWTH_SHARE * self.middle)
        self.holds = self.growth <= self.most

    def __str__(self):
        if not self.is_judged:
            return (
                f"not judged: less than {LEAST_JUDGED_SECONDS} s were left after {WARM_UP_SECONDS} s and "
                f"{WARM_UP_REQUESTS:,} requests"
            )
        return (
            f"{self.slope * 60:+.3f} MiB a minute from {self.begins:.0f} s on, "
            f"{self.growth:+.2f} MiB over {self.seconds:.0f} s; {self.most:.1f} MiB are allowed"
        )


def theil_sen(points):
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for at, a in enumerate(points) for b in points[at + 1 :] if b[0] > a[0]]
    return median(slopes)


def write_csv(path, samples):
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("second", "rss_kib", "open_files", "threads", "requests"))
        rows.writerows((s.second, s.rss_kib, s.open_files, s.threads, s.requests) for s in samples)


def step_for(most):
    """The smallest of 1, 2, 5, 10, ... or of their tenths and hundredths, with which there are ten marks at most."""
    steps = (lead * 10.0**power for power in range(-3, 10) for lead in (1, 2, 5))
    return next(step for step in steps if most / step <= 10)


class Panel:
    """One diagram with its axes; both begin at zero."""

    LEFT, WIDTH = 78, 640

    def __init__(self, top, height, most_x, most_y):
        self.top, self.height, self.most_x, self.most_y = top, height, most_x, most_y

    def x(self, value):
        return round(self.LEFT + self.WIDTH * value / self.most_x, 1)

    def y(self, value):
        return round(self.top + self.height * (1 - value / self.most_y), 1)

    def axes(self, title, has_time):
        bottom, right = self.top + self.height, self.LEFT + self.WIDTH
        yield f'<path d="M{self.LEFT} {self.top}V{bottom}H{right}" fill="none" stroke="#333"/>'
        for at, text in marks(self.most_y):
            yield f'<path d="M{self.LEFT} {self.y(at)}H{right}" stroke="#ddd"/>' if at else ""
            yield f'<text x="{self.LEFT - 8}" y="{self.y(at) + 4}" text-anchor="end">{text}</text>'
        for at, text in marks(self.most_x):
            yield f'<path d="M{self.x(at)} {bottom}v5" stroke="#333"/>'
            yield f'<text x="{self.x(at)}" y="{bottom + 19}" text-anchor="middle">{text}</text>'
        middle = self.top + self.height / 2
        yield f'<text transform="translate(22 {middle}) rotate(-90)" text-anchor="middle">{title}</text>'
        if has_time:
            middle = self.LEFT + self.WIDTH / 2
            yield f'<text x="{middle}" y="{bottom + 40}" text-anchor="middle">time since the start (minutes)</text>'

    def line(self, points, style):
        path = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in points)
        return f'<polyline points="{path}" fill="none" {style}/>'


def marks(most):
    step, at = step_for(most), 0.0
    while at <= most * 1.0001:
        yield at, f"{at:g}"
        at += step


def svg(samples, flatness, title):
    """Memory and open files over time."""
    minutes = max(samples[-1].second / 60, 0.1)
    memory = Panel(56, 240, minutes, max(s.rss_kib for s in samples) / 1024 * 1.15)
    files = Panel(340, 110, minutes, max(s.open_files for s in samples) * 1.15)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 510" font-family="sans-serif" font-size="13" fill="#222">',
        '<rect width="740" height="510" fill="#fff"/>',
        f'<text x="{Panel.LEFT}" y="24" font-size="16">{title}</text>',
    ]
    if flatness.is_judged:
        begins = memory.x(flatness.begins / 60) - Panel.LEFT
        parts.append(f'<rect x="{Panel.LEFT}" y="{memory.top}" width="{begins}" height="{memory.height}" fill="#f0f0f0"/>')
        parts.append(f'<text x="{Panel.LEFT + 6}" y="{memory.top + 16}" fill="#666">warming up</text>')
    parts += memory.axes("resident memory (MiB)", False)
    parts.append(memory.line([(s.second / 60, s.rss_kib / 1024) for s in samples], 'stroke="#1f5fa8" stroke-width="1.6"'))
    if flatness.is_judged:
        ends = [flatness.begins, flatness.begins + flatness.seconds]
        trend = [(second / 60, flatness.at_zero + flatness.slope * second) for second in ends]
        parts.append(memory.line(trend, 'stroke="#b3261e" stroke-width="1.4" stroke-dasharray="6 4"'))
        words = f"robust line: {flatness.slope * 60:+.3f} MiB a minute"
        x, y = memory.x(minutes) - 6, memory.y(flatness.at_zero * 0.75)
        parts.append(f'<text x="{x}" y="{y}" text-anchor="end" fill="#b3261e">{words}</text>')
    parts += files.axes("open files", True)
    parts.append(files.line([(s.second / 60, s.open_files) for s in samples], 'stroke="#1f5fa8" stroke-width="1.2"'))
    return "\n".join(part for part in [*parts, "</svg>"] if part) + "\n"


def table(heading, rows):
    """A Markdown table; the columns after the first are numbers if their first row is."""
    texts = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [heading, *texts]) for at in range(len(heading))]
    right = [rows and isinstance(rows[0][at], int) for at in range(len(heading))]

    def line(row):
        cells = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True))
        return f"| {' | '.join(cells)} |"

    rule = "| " + " | ".join("-" * (w - 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + " |"
    return "\n".join([line(heading), rule, *map(line, texts)])


def write_digests(folder):
    """`SHA256SUMS`, as beside everything that was measured and is not made again by `loopmeter run`."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    digests = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text("".join(digests), encoding="utf-8")
