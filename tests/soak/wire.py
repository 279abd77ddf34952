"""HTTP/1.1 as a client sees it, byte by byte, so that what breaks off is told from what ends."""

import asyncio
import json
import socket
from dataclasses import dataclass, field

# No server of ours sends a larger head or a larger chunk at once.
LIMIT = 1 << 22


class Broken(Exception):
    """The connection ended before the reply did; `begun` says whether a byte of the reply was there."""

    def __init__(self, begun, why):
        super().__init__(why)
        self.begun = begun


@dataclass
class Reply:
    """A whole reply."""

    status: int
    headers: dict = field(default_factory=dict)
    body: bytes = b""

    def json(self):
        return json.loads(self.body)

    def events(self):
        """The data of the server-sent events, in order."""
        blocks = self.body.split(b"\n\n")
        if blocks.pop() != b"":
            raise ValueError("the last event has no end")
        for block in blocks:
            if not block.startswith(b"data: "):
                raise ValueError(f"not an event: {block[:60]!r}")
            yield block[len(b"data: ") :]


def request_bytes(path, body, headers=()):
    """A POST of `body`, as bytes."""
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", f"content-length: {len(body)}"]
    lines.extend(f"{name}: {value}" for name, value in headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Connection:
    """One connection, for one request after the other."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.bytes_in = 0

    @classmethod
    async def open(cls, port, receive_buffer=None):
        """A connection to that port; with a small receive buffer, the kernel reads little ahead."""
        plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        plain.setblocking(False)
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", port))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            limit = receive_buffer or LIMIT
            return cls(*await asyncio.open_connection(sock=plain, limit=limit))
        except OSError as error:
            plain.close()
            raise Broken(False, f"no connection: {error}") from error

    def close(self):
        self.writer.close()

    async def send(self, data):
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError as error:
            raise Broken(False, f"sending: {error}") from error

    async def ask(self, path, body, headers=()):
        """Sends a request and reads its reply to the end."""
        await self.send(request_bytes(path, body, headers))
        return await self.reply()

    async def reply(self):
        """The next reply, whole, or `Broken`."""
        reply = await self.head()
        if reply.headers.get("transfer-encoding") == "chunked":
            reply.body = b"".join([part async for part in self.chunks()])
        else:
            reply.body = await self.exactly(int(reply.headers.get("content-length", 0)))
        return reply

    async def head(self):
        """Status and headers of the next reply."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise Broken(bool(error.partial), "the connection ended before the head") from error
        except OSError as error:
            raise Broken(False, f"before the head: {error}") from error
        self.bytes_in += len(head)
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return Reply(int(first.split(" ")[1]), {name.lower(): value for name, value in headers.items()})

    async def chunks(self):
        """The chunks of a body, to the one that ends it."""
        while True:
            try:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
            except (asyncio.IncompleteReadError, OSError) as error:
                raise Broken(True, "the stream broke off") from error
            data = await self.exactly(size + 2)
            if size == 0:
                return
            yield data[:-2]

    async def exactly(self, size):
        try:
            data = await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Broken(True, "the body broke off") from error
        self.bytes_in += len(data)
        return data

    async def until_closed(self):
        """Whatever else comes, until the server closes or resets the connection."""
        rest = b""
        try:
            while data := await self.reader.read(1 << 16):
                rest += data
        except OSError:
            pass
        return rest
