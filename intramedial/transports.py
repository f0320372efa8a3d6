"""Between the event loop and the protocols: writes are joined, and reads come in small parts.

uvicorn writes the head of an answer and its body by themselves: two system calls, and two packets that wake
the client twice. The event loop reads up to 256 KiB at once, which may then have to wait in memory.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl

PART = 4096
"""Bytes that are read, and parsed, at once."""

HELD = 65_536
"""Bytes that are held back at most until the turn of the event loop ends."""


class OneWrite:
    """A transport that joins what is written within one turn of the loop. All else is its own transport's."""

    __slots__ = ("_held", "_loop", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write_now(self, data: bytes) -> None:
        """Write what is held, and this, now."""
        self._held.append(data)
        self.flush()

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
            data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
            self._held.clear()
            self._size = 0
            # A transport whose client went away closes before connection_lost is called.
            if not self._transport.is_closing():
                self._transport.write(data)

    def write_eof(self) -> None:
        """Write what is held, then end the direction to the client (half-close)."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Write what is held, then close."""
        self.flush()
        self._transport.close()

    def own(self) -> asyncio.Transport:
        """The transport itself, with nothing held."""
        self.flush()
        return self._transport


class Flow(FlowControl):
    """Flow control that does not resume reading while bytes of the client wait unparsed (`full`)."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.full = False

    def resume_reading(self) -> None:
        """Read again, unless bytes wait. The application's `receive` calls this as well."""
        if not self.full:
            super().resume_reading()


_buffer = bytearray(PART)
_view = memoryview(_buffer)


class InParts(asyncio.BufferedProtocol):
    """Reads for another protocol, `PART` bytes at most at a time, into one buffer for all connections.

    Without it the event loop hands over up to 256 KiB at once, which may have to wait in memory, once for
    each connection.
    """

    __slots__ = ("protocol",)

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.protocol = protocol

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self.protocol.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See asyncio.BufferedProtocol."""
        return _view

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio.BufferedProtocol. What was read is copied: the next read writes over it."""
        self.protocol.data_received(_view[:nbytes].tobytes())

    def eof_received(self) -> bool | None:
        """See asyncio.Protocol."""
        return self.protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        self.protocol.resume_writing()
