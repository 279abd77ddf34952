"""What every agent here shares: one run at once, then as many as a line of standard input asks for."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

FRAMEWORKS = Path(__file__).resolve().parents[4] / "tests" / "frameworks"
sys.path.append(str(FRAMEWORKS / "python" / "agents"))

from shared import world

BASE_URL = os.environ["OPENAI_BASE_URL"]
API_KEY = os.environ["OPENAI_API_KEY"]
MODEL = os.environ["LLM_MODEL"]

# What the agents print must not get between the lines that are read.
_replies = sys.stdout
sys.stdout = sys.stderr


def tell(reply: dict) -> None:
    print(json.dumps(reply), file=_replies, flush=True)


def asked() -> Callable[[], int | None]:
    """How many runs the next line wants; none at the end of the input."""
    return lambda: int(line) if (line := sys.stdin.readline()) else None


def work(run: Callable[[], Awaitable[str]]) -> None:
    """Tells the answer of a first run, then for each line `N` the times of N runs, in ms, and their answers.

    All runs share one event loop, so that connections are kept. A run before the N is not timed: the endpoint may have
    let go of a connection that was idle.
    """
    asyncio.run(_work(run))


async def _work(run: Callable[[], Awaitable[str]]) -> None:
    tell({"answer": await run()})
    for count in iter(asked(), None):
        ms, answers = [], {await run()}
        for _ in range(count):
            start = time.perf_counter()
            answers.add(await run())
            ms.append((time.perf_counter() - start) * 1000)
        tell({"ms": ms, "answers": sorted(answers)})
