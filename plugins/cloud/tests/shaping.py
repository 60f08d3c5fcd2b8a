"""A line to a server that is not as good as loopback: each request takes longer, and some are answered wrongly,
cut off, or not answered at all, before the server has done them or after it.

A test asks for one in its own process, and changes ``rule`` as it goes; what is measured has one in a process of its
own: ``shaping.py PORT MILLISECONDS`` prints the port on which it listens, until its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from attrs import define, field, frozen

_PIECE = 1 << 20
_START = 30.0  # seconds


@frozen
class Request:
    number: int  # from 1, in the order of their coming
    method: str
    target: str
    head: bytes = field(repr=False)


@frozen
class Trouble:
    """What happens to one request. ``after`` the server has done it, or in place of it."""

    status: int = 0  # of an answer that the line makes up; 0: none
    code: str = "SlowDown"
    after: bool = False
    half: bool = False  # the server's own answer ends in the middle of its body
    upload: bool = False  # the server gets half of the request's body
    # It is on its way until this is set; then it is done and answered as any other, whether or not its sender lives.
    until: threading.Event | None = None
    body: bytes | None = (
        None  # of the answer that is made up, in place of one that is made of the code
    )
    more: str = "Content-Type: application/xml\r\n"  # its headers
    each: str = ""  # the code of an error about the first object of those that one request deletes
    # The body of the server's own answer, changed.
    edit: Callable[[bytes], bytes] | None = None

    @property
    def answer(self) -> bytes:
        """Empty: the connection is closed."""
        if not self.status:
            return b""
        body = self.body
        if body is None:
            text = f"<Error><Code>{self.code}</Code><Message>By the line.</Message></Error>"
            body = b"" if self.status in (204, 304) else text.encode()
        return _whole(self.status, self.more, body)


def _whole(status: int, headers: str, body: bytes) -> bytes:
    size = "" if status in (204, 304) else f"Content-Length: {len(body)}\r\n"
    return f"HTTP/1.1 {status} Trouble\r\n{headers}{size}Connection: close\r\n\r\n".encode() + body


CUT = Trouble()
CUT_AFTER = Trouble(after=True)
HALF = Trouble(after=True, half=True)
UPLOAD = Trouble(upload=True)


@define
class Line:
    """``rule`` says what happens to a request; None: nothing."""

    upstream: int
    delay: float = 0.0  # seconds that each request takes longer
    rule: Callable[[Request], Trouble | None] | None = None
    port: int = 0
    ignored: bytes = b""  # a header that the server does not come to see, in small letters
    requests: list[str] = field(factory=list)  # "METHOD target"
    troubles: int = 0
    most_at_once: int = 0
    arrived: list[str] = field(factory=list)  # statuses of those that had been on their way
    _now: int = 0
    _tasks: set[object] = field(factory=set)  # the loop itself would let go of them

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, with one of its own to the server."""
        ends = [writer]
        self._tasks.add(task := asyncio.current_task())
        try:
            up_reader, up_writer = await asyncio.open_connection(
                "127.0.0.1", self.upstream, limit=_PIECE
            )
            ends.append(up_writer)
            while await self._request(reader, writer, up_reader, up_writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # either side is away, or the line ends: so is the other
        finally:
            for end in ends:
                with suppress(Exception):
                    end.close()
                    await end.wait_closed()
            self._tasks.discard(task)

    async def _request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter,
    ) -> bool:  # fmt: skip
        """One request and its answer; False: the connection ends."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, target = head.split(b" ", 2)[:2]
        self.requests.append(f"{method.decode()} {target.decode()}")
        request = Request(len(self.requests), method.decode(), target.decode(), head)
        if _header(head, b"expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = _without(head, b"expect")
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            trouble = self.rule(request) if self.rule else None
            self.troubles += trouble is not None
            if self.ignored:
                head = _without(head, self.ignored)
            if trouble is not None and trouble.upload:
                up_writer.write(head)
                up_writer.write(
                    await reader.readexactly(int(_header(head, b"content-length") or 0) // 2)
                )
                await up_writer.drain()
                return False
            wanted = trouble is None or trouble.after or trouble.edit is not None
            if trouble is not None and trouble.until is not None:
                body = b"".join([piece async for piece in _body(reader, head)])
                while not trouble.until.is_set():
                    await asyncio.sleep(0.05)
                return await self._on_its_way(head + body, writer, method)
            if wanted:
                up_writer.write(head)
            async for piece in _body(reader, head):
                if wanted:
                    up_writer.write(piece)
                    await up_writer.drain()
            if self.delay:
                await asyncio.sleep(self.delay)
            if not wanted and trouble is not None:
                writer.write(trouble.answer)
                await writer.drain()
                return False
            found = await _answer_head(up_reader)
            bodiless = method == b"HEAD" or found.split(b" ", 2)[1] in (b"204", b"304")
            if trouble is not None and trouble.edit is not None:
                await self._edited(found, writer, up_reader, bodiless, trouble.edit)
                return False
            if trouble is None:
                writer.write(found)
            elif trouble.half:
                await self._half(found, writer, up_reader, bodiless)
                return False
            if not bodiless:
                async for piece in _body(up_reader, found, answer=True):
                    if trouble is None:
                        writer.write(piece)
                        await writer.drain()
            if trouble is not None:
                writer.write(trouble.answer)
                await writer.drain()
                return False
            await writer.drain()
            ends = b"close" in (_header(found, b"connection") or b"").lower()
            return not ends
        finally:
            self._now -= 1

    async def _on_its_way(
        self, request: bytes, writer: asyncio.StreamWriter, method: bytes
    ) -> bool:
        """By a new connection: the server may have closed the first one meanwhile."""
        reader, up = await asyncio.open_connection("127.0.0.1", self.upstream, limit=_PIECE)
        try:
            up.write(request)
            await up.drain()
            found = await _answer_head(reader)
            if method != b"HEAD" and found.split(b" ", 2)[1] not in (b"204", b"304"):
                found += b"".join([piece async for piece in _body(reader, found, answer=True)])
            self.arrived.append(found.split(b" ", 2)[1].decode())
            with suppress(OSError):
                writer.write(found)
                await writer.drain()
            return False
        finally:
            up.close()

    async def _edited(
        self, head: bytes, writer: asyncio.StreamWriter, reader: asyncio.StreamReader,
        bodiless: bool, edit: Callable[[bytes], bytes],
    ) -> None:  # fmt: skip
        body = b"" if bodiless else b"".join([piece async for piece in _body(reader, head)])
        head = _without(_without(head, b"content-length"), b"connection").rstrip(b"\r\n")
        body = edit(body)
        size = b"" if bodiless else b"\r\nContent-Length: %d" % len(body)
        writer.write(head + size + b"\r\nConnection: close\r\n\r\n" + body)
        await writer.drain()

    async def _half(
        self,
        head: bytes,
        writer: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        bodiless: bool,
    ) -> None:
        size = 0 if bodiless else int(_header(head, b"content-length") or 0)
        writer.write(head if size or not bodiless else head[: len(head) // 2])
        writer.write(await reader.readexactly(size // 2))
        await writer.drain()


def _header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def _without(head: bytes, name: bytes) -> bytes:
    lines = head.split(b"\r\n")
    return b"\r\n".join(line for line in lines if line.partition(b":")[0].strip().lower() != name)


async def _answer_head(reader: asyncio.StreamReader) -> bytes:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.split(b" ", 2)[1] != b"100":
            return head


async def _body(  # type: ignore[no-untyped-def]
    reader: asyncio.StreamReader, head: bytes, answer: bool = False
):
    if b"chunked" in (_header(head, b"transfer-encoding") or b"").lower():
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            yield line + await reader.readexactly(size + 2)
            if not size:
                return
    said = _header(head, b"content-length")
    if said is None:
        while answer and (piece := await reader.read(_PIECE)):
            yield piece
        return
    left = int(said)
    while left:
        piece = await reader.read(min(left, _PIECE))
        if not piece:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(piece)
        yield piece


@contextmanager
def line_to(upstream: int, delay: float = 0.0) -> Iterator[Line]:
    """A line to the server on that port of loopback, in a thread of this process."""
    line = Line(upstream, delay)
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def listen() -> asyncio.Server:
        server = await asyncio.start_server(line.serve, "127.0.0.1", 0, limit=_PIECE)
        line.port = server.sockets[0].getsockname()[1]
        ready.set()
        return server

    async def leave(server: asyncio.Server) -> None:
        server.close()
        await asyncio.sleep(0)  # who was let in before
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def run() -> None:
        server = loop.run_until_complete(listen())
        loop.run_forever()
        loop.run_until_complete(leave(server))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(_START)
    try:
        yield line
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_START)


def main() -> None:
    upstream, delay = int(sys.argv[1]), float(sys.argv[2]) / 1000
    with line_to(upstream, delay) as line:
        print(line.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
