"""Between the event loop and the protocols: writes are joined, and reads come in small parts.

uvicorn writes the head of an answer and its body by themselves: two system calls, and two packets that wake
the client twice. The event loop reads up to 256 KiB at once, which may then have to wait in memory.
"""

import asyncio
import contextlib
import fcntl
import struct
import termios
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl

PART = 4096
"""Bytes that are read, and parsed, at once."""

DROPPED = 65_536
"""Bytes that are read at once when they are dropped."""

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


def unsent(transport: Any) -> int:
    """Bytes that the client has not taken: those of the transport, and those of the system. With a slow
    client it is long until the transport can write again, and the system's become fewer all the while."""
    waiting: int = transport.get_write_buffer_size()
    socket = transport.get_extra_info("socket")
    if waiting and socket is not None:
        with contextlib.suppress(OSError):
            (queued,) = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4)))
            waiting += queued
    return waiting


def unread(transport: Any) -> bool:
    """Whether bytes from the client wait in the system to be read."""
    socket = transport.get_extra_info("socket")
    if socket is None:
        return False
    try:
        (waiting,) = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.FIONREAD, bytes(4)))
    except OSError:
        return False
    return bool(waiting)


class Stuck:
    """Whether a client takes what it is answered; looked at every `every_s` seconds."""

    def __init__(self, every_s: int, most_s: int) -> None:
        self._most = max(1, most_s // every_s)
        self._unsent = 0
        self._looks = 0

    def moves(self) -> None:
        """The client took something."""
        self._looks = 0

    def for_too_long(self, transport: Any) -> bool:
        """Look. Whether nothing was taken since as many looks as there may be."""
        before, self._unsent = self._unsent, unsent(transport)
        self._looks = self._looks + 1 if self._unsent and self._unsent >= before else 0
        return self._looks >= self._most


_small, _large = memoryview(bytearray(PART)), memoryview(bytearray(DROPPED))


class InParts(asyncio.BufferedProtocol):
    """Reads for another protocol, `PART` bytes at most at a time, into one buffer for all connections.

    Without it the event loop hands over up to 256 KiB at once, which may have to wait in memory, once for
    each connection.
    """

    __slots__ = ("_view", "protocol")

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.protocol = protocol
        self._view = _small

    def drop(self) -> None:
        """What comes from now on is dropped: read more at once."""
        self._view = _large

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self.protocol.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See asyncio.BufferedProtocol."""
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio.BufferedProtocol. What was read is copied: the next read writes over it."""
        self.protocol.data_received(self._view[:nbytes].tobytes())

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
