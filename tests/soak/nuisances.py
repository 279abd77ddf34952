"""Clients that nobody wants: slow ones, silent ones, ones that go away, ones that send garbage.

Each knows how it has to be let go. The limits are those of the server, in seconds: until a head is there, until a body is
there, while a client does not read.
"""

import asyncio
import hashlib
import json
import random
import time
from collections import Counter

from wire import Broken, Connection, request_bytes

HEAD_TIME = BODY_TIME = WRITE_TIME = 30.0
# A busy machine is late; nobody is let go early.
LATE = 15.0

HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256))
# What is sent, and the statuses with which it may be answered; 0 is a connection closed without a word.
GARBAGE = {
    "TLS": (HELLO, {400, 0}),
    "no HTTP": (b"\x00\xff" * 200 + b"\r\n\r\n", {400, 0}),
    "HTTP of the future": (b"GET /health HTTP/9.7\r\n\r\n", {400, 0}),
    "a head without end": (b"GET /health HTTP/1.1\r\nx: " + b"x" * 100_000, {431}),
    "two lengths": (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", {400}),
    "no path": (request_bytes("/nowhere", b"{}"), {404}),
    "no method": (b"BREW /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n", {405}),
    "no JSON": (request_bytes("/runs/garbage/v1/chat/completions", b"{\xff" * 50), {400}),
    "no messages": (request_bytes("/runs/garbage/v1/chat/completions", b'{"model":"scripted/plan"}'), {400}),
    "no such model": (
        request_bytes("/runs/garbage/v1/chat/completions", b'{"model":"x","messages":[{"role":"user","content":"?"}]}'),
        {404},
    ),
    "nested": (request_bytes("/runs/garbage/v1/chat/completions", b"[" * 60_000), {400}),
    "another API": (request_bytes("/v1/responses", b"{}"), {404}),
}


def large(letters):
    """A request whose streamed reply has a call with that many letters in it: about thirty times as many bytes."""
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"a": {"enum": ["x" * letters]}}, "required": ["a"]}}
    body = {
        "model": "scripted/any-once",
        "stream": True,
        "messages": [{"role": "user", "content": "?"}],
        "tools": [{"type": "function", "function": tool}],
    }
    return json.dumps(body).encode()


LARGE = large(200_000)


async def fill(port):
    """Has the server count so many texts that all it remembers of them is full: 65,536, and as many before them. The
    clients would take minutes for that, and memory may grow until then."""
    connection = await Connection.open(port)
    for at in range(16):
        messages = [{"role": "user", "content": f"{at} {number}"} for number in range(9_000)]
        body = json.dumps({"model": "scripted/once", "messages": messages}).encode()
        reply = await connection.ask("/runs/fill/v1/chat/completions", body)
        if reply.status != 200:
            raise SystemExit(f"a request with 9,000 messages: {reply.status}: {reply.body[:200]!r}")
    connection.close()


class Nuisances:
    """All of them; they go on until their tasks are cancelled."""

    # How many there are of each at once.
    KINDS = {
        "silent": 3,
        "a head a byte a second": 3,
        "a body a byte a second": 3,
        "never reads": 2,
        "reads slowly": 3,
        "hangs up mid-stream": 3,
        "garbage": 2,
    }

    def __init__(self, port, seed):
        self.port, self.random = port, random.Random(seed)
        self.ended = Counter()
        self.wrong = []
        self.tasks = []
        self.whole = None

    async def start(self):
        """Fetches the large reply once, quickly, to know it; then lets them loose."""
        connection = await Connection.open(self.port)
        reply = await connection.ask("/runs/large-first/v1/chat/completions", LARGE)
        connection.close()
        if not reply.body.endswith(b"data: [DONE]\n\n") or len(reply.body) < 5 << 20:
            raise SystemExit(f"the large reply is not as expected: {len(reply.body)} bytes")
        self.whole = (len(reply.body), hashlib.sha256(reply.body).hexdigest())
        acts = {
            "silent": self.silent,
            "a head a byte a second": self.slow_head,
            "a body a byte a second": self.slow_body,
            "never reads": self.never_reads,
            "reads slowly": self.reads_slowly,
            "hangs up mid-stream": self.hangs_up,
            "garbage": self.garbage,
        }
        for kind, count in self.KINDS.items():
            self.tasks += [asyncio.create_task(self.again_and_again(kind, acts[kind])) for _ in range(count)]

    async def stop(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def again_and_again(self, kind, act):
        while True:
            connection = None
            try:
                connection = await Connection.open(self.port, 16 << 10 if "reads" in kind else None)
                wrong = await act(connection)
            except Broken as broken:
                wrong = str(broken)
            finally:
                if connection:
                    connection.close()
            self.ended[kind] += 1
            if wrong:
                self.wrong.append(f"{kind}: {wrong}")
            await asyncio.sleep(0.05)

    async def silent(self, connection):
        begun = time.monotonic()
        rest = await asyncio.wait_for(connection.until_closed(), HEAD_TIME * 4)
        return on_time(begun, HEAD_TIME) or (f"was told {rest[:80]!r}" if rest else None)

    async def slow_head(self, connection):
        begun = time.monotonic()
        head = b"POST /runs/slow-head/v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 1000
        await self.drip(connection, head)
        return on_time(begun, HEAD_TIME)

    async def slow_body(self, connection):
        begun = time.monotonic()
        whole = request_bytes("/runs/slow-body/v1/chat/completions", b" " * 1000)
        await connection.send(whole[:-1000])
        dripping = asyncio.create_task(self.drip(connection, whole[-1000:]))
        try:
            reply = await asyncio.wait_for(connection.reply(), BODY_TIME * 4)
        finally:
            dripping.cancel()
        return on_time(begun, BODY_TIME) or (None if reply.status == 408 else f"status {reply.status}, not 408")

    async def drip(self, connection, data):
        """Sends a byte a second until the server closes the connection."""
        closed = asyncio.ensure_future(connection.until_closed()) if data.startswith(b"POST") else None
        try:
            for byte in data:
                await connection.send(bytes([byte]))
                await (asyncio.wait([closed], timeout=1) if closed else asyncio.sleep(1))
                if closed and closed.done():
                    return
        except Broken:
            return
        finally:
            if closed:
                closed.cancel()

    async def never_reads(self, connection):
        connection.writer.transport.pause_reading()
        await connection.send(request_bytes("/runs/never-reads/v1/chat/completions", LARGE))
        # Whatever time the server takes for the request, it has written what fits well before this.
        await asyncio.sleep(WRITE_TIME + LATE)
        connection.writer.transport.resume_reading()
        rest = await asyncio.wait_for(connection.until_closed(), 60)
        return "got the whole reply" if len(rest) >= self.whole[0] else None

    async def reads_slowly(self, connection):
        await connection.send(request_bytes("/runs/reads-slowly/v1/chat/completions", LARGE))
        await connection.head()
        size, digest = 0, hashlib.sha256()
        async for part in connection.chunks():
            # A chunk has up to 64 KiB; so the whole takes longer than the server's patience with who reads nothing.
            size += len(part)
            digest.update(part)
            await asyncio.sleep(0.4)
        return None if (size, digest.hexdigest()) == self.whole else f"another reply, of {size} bytes"

    async def hangs_up(self, connection):
        body = json.dumps({"model": "scripted/plan", "stream": True, "messages": [{"role": "user", "content": "?"}]}).encode()
        pace = [("x-loopmeter-latency", "ttft=50ms,per_token=200ms")]
        await connection.send(request_bytes("/runs/hangs-up/v1/chat/completions", body, pace))
        await connection.head()
        async for _ in connection.chunks():
            await asyncio.sleep(self.random.random() / 4)
            return None

    async def garbage(self, connection):
        name = self.random.choice(list(GARBAGE))
        data, statuses = GARBAGE[name]
        try:
            await connection.send(data)
            status = (await asyncio.wait_for(connection.reply(), 60)).status
        except Broken:
            status = 0
        await asyncio.sleep(0.2)
        return None if status in statuses else f"{name}: status {status}, not {statuses}"


def on_time(begun, limit):
    """What is wrong with being let go now, if something is."""
    took = time.monotonic() - begun
    return None if limit - 1 <= took <= limit + LATE else f"let go after {took:.1f} s, not {limit:.0f} s"
