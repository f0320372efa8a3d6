"""Between the event loop and the protocols: reads come in small parts, and a client that takes nothing is
found.

By itself the event loop reads up to 256 KiB at once, which may then have to wait in memory, once for each
connection. Writes go to the event loop as they are: uvloop joins what is written in one of its turns.
"""

import asyncio
import contextlib
import fcntl
import struct
import termios

from uvicorn.protocols.http.flow_control import FlowControl

PART = 4096
"""At most so many bytes are read at once."""

DROPPED = 65_536
"""At most so many bytes are read at once when they are dropped."""


class Flow(FlowControl):
    """Flow control that does not resume reading while bytes of the client wait to be parsed (`full`)."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.full = False

    def resume_reading(self) -> None:
        """Read again, unless bytes wait. The application's `receive` calls this too."""
        if not self.full:
            super().resume_reading()


def unsent(transport: asyncio.Transport) -> int:
    """How many bytes the client has not taken: those in the transport and those in the system's buffer.

    The transport alone does not show that a slow client reads: it can write again only after a long time,
    while the system's buffer shrinks all along.
    """
    waiting = transport.get_write_buffer_size()
    socket = transport.get_extra_info("socket")
    if waiting and socket is not None:
        with contextlib.suppress(OSError):
            (queued,) = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.TIOCOUTQ, bytes(4)))
            waiting += queued
    return waiting


def unread(transport: asyncio.Transport) -> bool:
    """Whether bytes from the client wait in the system's buffer."""
    socket = transport.get_extra_info("socket")
    if socket is None:
        return False
    try:
        (waiting,) = struct.unpack("i", fcntl.ioctl(socket.fileno(), termios.FIONREAD, bytes(4)))
    except OSError:
        return False
    return bool(waiting)


class Stuck:
    """Finds a client that takes nothing of its answer for `most_s` seconds; asked every `every_s` seconds."""

    def __init__(self, every_s: int, most_s: int) -> None:
        self._most = max(1, most_s // every_s)
        self._unsent = 0
        self._looks = 0

    def moves(self) -> None:
        """The client took something."""
        self._looks = 0

    def for_too_long(self, transport: asyncio.Transport) -> bool:
        """Look once more, and return whether the client has taken nothing for too many looks."""
        before, self._unsent = self._unsent, unsent(transport)
        self._looks = self._looks + 1 if self._unsent and self._unsent >= before else 0
        return self._looks >= self._most


_small, _large = memoryview(bytearray(PART)), memoryview(bytearray(DROPPED))


class InParts(asyncio.BufferedProtocol):
    """Reads for another protocol, at most `PART` bytes at a time, into one buffer for all connections."""

    __slots__ = ("_view", "protocol")

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.protocol = protocol
        self._view = _small

    def drop(self) -> None:
        """Read more at once from now on, since what comes is dropped."""
        self._view = _large

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self.protocol.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """See asyncio.BufferedProtocol."""
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio.BufferedProtocol. Copy what was read, since the next read overwrites it."""
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
