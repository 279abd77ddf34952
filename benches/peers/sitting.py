"""Measures loopmeter and its peers in one sitting, and writes results/peers/.

    benches/peers/run                                everything: about six minutes
    benches/peers/run --only ai --out FOLDER         one peer beside loopmeter, somewhere else

Agents do the three turns of `plan` over loopback HTTP, warm and from the start of their process; mock servers answer
the same request under the same load (wrk; Debian: `apt-get install wrk`); sweeps make many runs in one process.
LOOPMETER names the program; without, it is built. The peers are installed from the lock files, into .env beside this
file or the folder that PEERS_ENV names. Needs Python 3.11 with venv, Node 20.15 or later, and npm.

A peer that cannot be installed has empty cells and the reason. A peer that answers wrongly ends the sitting with exit
code 1, and nothing is written. Do nothing else on the machine meanwhile.
"""

import argparse
import hashlib
import os
import signal
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from measure import agents, servers, sweeps
from measure.page import page
from measure.processes import Wrong
from measure.rows import Row, compared, labelled, write_csv
from measure.sides import HERE, OURS, ROOT, Peer, Sides, all_peers, install, say

RUNS = 300
RUNS_PER_START = 30


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benches/peers/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N",
                        help=f"warm runs of each agent; a {RUNS_PER_START}th as many processes, 2 at least [{RUNS}]")
    parser.add_argument("--only", nargs="+", metavar="PEER", help="these, or a pattern, beside loopmeter; needs --out")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the rows go [results/peers]")
    args = parser.parse_args()
    if args.only and not args.out:
        parser.error("--only needs --out, or the committed rows of the others would be lost")
    if args.runs < 2 * agents.ROUNDS:
        parser.error(f"--runs needs {2 * agents.ROUNDS} at least, for there are {agents.ROUNDS} rounds")
    return args


def chosen(patterns: list[str] | None) -> list[Peer]:
    peers = all_peers()
    for pattern in patterns or []:
        if not any(fnmatchcase(peer.name, pattern) for peer in peers):
            sys.exit(f"no peer is called {pattern}; there are: {', '.join(peer.name for peer in peers)}")
    wanted = [OURS, *(patterns or ["*"])]
    return [peer for peer in peers if any(fnmatchcase(peer.name, pattern) for pattern in wanted)]


def beside_ours(peers: list[Peer], kind: str) -> list[Peer]:
    """Those that take part in a comparison, or nobody where we would be alone."""
    there = [peer for peer in peers if peer.name == OURS or getattr(peer, kind)]
    return there if len(there) > 1 else []


def measured(peers: list[Peer], sides: Sides, runs: int) -> list[Row]:
    rows = []
    if there := beside_ours(peers, "agent"):
        rows += agents.warm(there, sides, runs)
        rows += agents.cold(there, sides, max(2, runs // RUNS_PER_START))
    if there := beside_ours(peers, "server"):
        rows += servers.servers(there, sides)
    if there := beside_ours(peers, "sweep"):
        rows += sweeps.sweeps(there, sides)
    named = {peer.name: peer for peer in peers}
    return compared([labelled(row, named.get(row.peer, named[OURS]), sides) for row in rows])


def main() -> None:
    # Ended from outside, it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments()
    peers = chosen(args.only)
    sides = install(peers, Path(os.environ.get("PEERS_ENV", HERE / ".env")))
    try:
        rows = measured(peers, sides, args.runs)
    except Wrong as wrong:
        sys.exit(str(wrong))
    facts = {
        "warm_up": agents.WARM_UP, "our_warm_up": agents.OUR_WARM_UP, "seconds": servers.SECONDS,
        "kept": "in the first row into memory" if agents.MEMORY else "in the first row on disk too, for want of /dev/shm",
        "our_runs": f"{sweeps.OUR_RUNS:,}", "samples": sweeps.SAMPLES,
    }
    out = args.out or ROOT / "results" / "peers"
    out.mkdir(parents=True, exist_ok=True)
    write_csv(out / "peers.csv", rows)
    (out / "README.md").write_text(page(rows, facts), encoding="utf-8")
    # As beside everything that is measured and not made again.
    digests = [(file, hashlib.sha256((out / file).read_bytes()).hexdigest()) for file in ("README.md", "peers.csv")]
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {file}\n" for file, digest in digests), encoding="utf-8")
    say(f"{len(rows)} rows, {sum(bool(row.missing) for row in rows)} of them missing")


if __name__ == "__main__":
    main()
