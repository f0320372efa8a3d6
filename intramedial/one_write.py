"""uvicorn's HTTP, with one write for what is said in one turn of the event loop.

uvicorn writes the head of an answer and its body by themselves: two system calls, and two packets that wake
the client twice. It also looks at each field of each head, which costs a short answer more than its making;
so an application may hand over a whole answer, whose fields it has looked at itself.
"""

import asyncio
from functools import lru_cache, partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

WHOLE = "intramedial.whole"
"""The ASGI extension that answers at once: `await scope["extensions"][WHOLE](status, head, body)`. `head` is
fields as they are written, each with its CRLF, `content-length` among them and `connection` not."""

HELD = 65_536
"""Bytes that are held back at most until the turn ends."""


class OneWrite:
    """A transport that joins what it is given. Everything else is its own transport's."""

    __slots__ = ("_held", "_loop", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write it when this turn of the loop ends, or when there is much."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            data = b"".join(self._held)
            self._held.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        """Write what is held, then close."""
        self.flush()
        self._transport.close()

    def own(self) -> asyncio.Transport:
        """The transport itself, with nothing held."""
        self.flush()
        return self._transport


class Protocol(HttpToolsProtocol):
    """`HttpToolsProtocol` on such a transport, for as long as it is HTTP that is spoken."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(OneWrite(transport, self.loop))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope["extensions"] = {WHOLE: partial(_answer, cycle)}
        super()._start_asgi_task(cycle, app)

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the protocol of live sockets."""
        if isinstance(self.transport, OneWrite):
            self.transport = self.transport.own()
        super().handle_websocket_upgrade()


async def _answer(cycle: RequestResponseCycle, status: int, head: bytes, body: bytes) -> None:
    """What `RequestResponseCycle.send` does for a start and a body, with nothing left to look at."""
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected:
        return
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    parts = (STATUS_LINE[status], _lines(tuple(cycle.default_headers)), head, end, body)
    cycle.transport.write(b"".join(parts))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()


@lru_cache(maxsize=2)
def _lines(fields: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The server's own fields, which change once a second."""
    return b"".join(b"%b: %b\r\n" % field for field in fields)
