"""uvicorn's HTTP, with one write for what is said in one turn of the event loop.

uvicorn writes the head of an answer and its body by themselves: two system calls, and two packets that wake
the client twice.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the protocol of live sockets."""
        if isinstance(self.transport, OneWrite):
            self.transport = self.transport.own()
        super().handle_websocket_upgrade()
