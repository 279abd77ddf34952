"""The end of a server under load: told to stop by a signal while everybody is at work."""

import asyncio
import json
import signal
import time
from dataclasses import dataclass

from clients import Load
from wire import Broken, Connection, request_bytes

# `loopmeter serve` lets requests in progress end for so long, and exits so when a signal stops it.
GRACE = 2.0
CODE = 130
# A busy machine may be late by so much.
LATE = 3.0


@dataclass
class Ending:
    """How it ended."""

    code: int | None
    seconds: float
    load: Load
    finished: int
    cut: int
    wrong: list


class Long:
    """A streamed reply that is on its way when the server is told to stop."""

    def __init__(self, port, name, milliseconds):
        self.port, self.name, self.milliseconds = port, name, milliseconds
        self.begun = asyncio.Event()
        self.whole = False

    async def run(self):
        body = {"model": "scripted/once", "stream": True, "messages": [{"role": "user", "content": "?"}]}
        pace = [("x-loopmeter-latency", f"ttft={self.milliseconds}ms")]
        path = f"/runs/{self.name}/v1/chat/completions"
        connection = await Connection.open(self.port)
        parts = []
        try:
            await connection.send(request_bytes(path, json.dumps(body).encode(), pace))
            await connection.head()
            self.begun.set()
            async for part in connection.chunks():
                parts.append(part)
            self.whole = b"".join(parts).endswith(b"data: [DONE]\n\n")
        except Broken:
            pass
        finally:
            connection.close()


async def finale(process, scripts, seed, sign):
    """Two seconds of load, then the signal; what became of everybody."""
    load = Load(process.port, scripts, seed, f"end{sign.name.lower()}")
    clients = asyncio.create_task(load.run(64))
    idle = [await Connection.open(process.port) for _ in range(8)]
    await asyncio.sleep(1.5)
    ends_in_time = [Long(process.port, "ends-in-time", 1200) for _ in range(8)]
    # Without these, the server need not use all of its grace.
    ends_too_late = [Long(process.port, "ends-too-late", 30_000) for _ in range(8 if sign is signal.SIGTERM else 0)]
    longs = [asyncio.create_task(long.run()) for long in ends_in_time + ends_too_late]
    await asyncio.gather(*(asyncio.wait_for(long.begun.wait(), 30) for long in ends_in_time + ends_too_late))
    load.closing = True
    begun = time.monotonic()
    code, seconds = await process.stop(sign, GRACE + LATE)
    load.stopping = True
    wrong = []
    everybody = asyncio.gather(clients, *longs, *(connection.until_closed() for connection in idle))
    try:
        await asyncio.wait_for(everybody, 10)
    except (TimeoutError, asyncio.TimeoutError):
        wrong.append(f"clients still wait {time.monotonic() - begun:.1f} s after {sign.name}")
    finished, cut = sum(long.whole for long in ends_in_time), sum(not long.whole for long in ends_too_late)
    if finished < len(ends_in_time):
        wrong.append(f"{len(ends_in_time) - finished} of {len(ends_in_time)} replies with 1.2 s to go were cut off")
    if cut < len(ends_too_late):
        wrong.append(f"{len(ends_too_late) - cut} replies of 30 s ended within a grace of {GRACE:.0f} s")
    for connection in idle:
        connection.close()
    return Ending(code, seconds, load, finished, cut, wrong + load.tally.wrong)
