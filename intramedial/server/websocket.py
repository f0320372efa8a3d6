"""The server's side of a WebSocket: bounds on what a client sends, an end for clients that do not read, and
texts for many sockets that are compressed only once.

Every frame counts, whatever its kind: a ping costs the server as much as a text. So each socket has a bucket
of tokens. Each frame takes one, and so does each read. A socket that overspends is closed with 1008 and cut
off a second later. Nothing is read before the handshake is answered, nor while the client does not read.

permessage-deflate without context takeover (RFC 7692, 7.2.3.3) makes every message a DEFLATE stream of its
own. Such a stream may begin with a stored block (RFC 1951, 3.2.4), and later blocks need not refer to it. So
each socket can store its own beginning in front of an end that was compressed once for all sockets
(`SharedText`).
"""

import asyncio
import struct
import zlib
from functools import cached_property
from typing import Any

from uvicorn import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.protocol import State

from intramedial.http.rates import Bucket
from intramedial.server.listener import listener_of
from intramedial.server.transports import Stuck

ADMITTED = "intramedial.admitted"
"""An ASGI extension and its message: the application sends `{"type": ADMITTED}` once it has admitted the
client."""

SHARED = "intramedial.shared"
"""The ASGI extension by which a `websocket.send` may have `beginning` and `shared` instead of a text.
`within` is how many seconds a client that does not read has to read again; after them the send raises
TimeoutError."""

WINDOW_BITS = 12
"""A window of 4 KiB: small clients ask for it, and it is enough for lists whose items resemble one
another."""

LEVEL = 3
"""The level of compression, of zlib's 1 to 9."""

PART = 1024
"""At most so many bytes of frames are parsed at once."""

FRAMES_AT_ONCE, FRAMES_PER_S = 40, 10
TOO_MANY = (1008, "too_many_frames")

CUT_AFTER_S = 10.0
"""How long a client has to read the last messages after the application has ended."""

CLOSE_S = 1.0
"""How long a client has to answer a close frame before the connection is cut."""

STALL_S = 2.0
"""A pong that is later than this beyond its time is late because this process stood still."""

BROKEN = 1006
"""The code of a connection that ended without a close frame (RFC 6455, 7.4.1)."""
FIN_RSV1_TEXT = 0b1100_0001

DEFLATE = ServerPerMessageDeflateFactory(
    # Without context takeover there is also nothing to remember for each of a thousand clients.
    server_no_context_takeover=True,
    client_no_context_takeover=True,
    server_max_window_bits=WINDOW_BITS,
)


class SharedText:
    """The end of a text for many sockets. Each socket puts a beginning of its own in front."""

    def __init__(self, end: str) -> None:
        self.end = end
        self._compressed: bytes | None = None

    def compress(self) -> bytes:
        """The end as DEFLATE blocks, without the empty block that ends every message (RFC 7692, 7.2.1)."""
        if self._compressed is None:
            compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -WINDOW_BITS)
            blocks = compressor.compress(self.end.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
            self._compressed = blocks[:-4]
        return self._compressed

    def after(self, beginning: str) -> str:
        """The whole text."""
        return beginning + self.end

    def compressed_after(self, beginning: str) -> tuple[bytes, bytes]:
        """The payload of a compressed message in two parts: this socket's own, and the one that all share.

        `beginning` has at most 65 535 bytes.
        """
        stored = beginning.encode()
        return struct.pack("<BHH", 0, len(stored), len(stored) ^ 0xFFFF) + stored, self.compress()


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol with bounds and with shared texts. It is a `listener.Member`."""

    used = known = False
    due = 0
    address = ""  # the client's, for the rate of handshakes that fail
    _admitted = False
    _cut: asyncio.TimerHandle | None = None
    _rest = b""  # what came while nothing was parsed

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn.available_extensions = [DEFLATE]
        self.close_timeout = CLOSE_S
        self.listener = listener_of(server_state, self.loop)
        self.limits = self.listener.limits
        self._stuck = Stuck(self.limits.look_s, self.limits.unread_s)
        self._frames = Bucket(FRAMES_AT_ONCE, FRAMES_PER_S, self.listener.tick)
        self.due = self.listener.tick + self.limits.head_s + 1

    @property
    def idle(self) -> bool:
        """Whether its client was not admitted, and it only waits for the client to read why."""
        return self.close_sent and not self._admitted

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self.listener.watch(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.listener.leave(self)
        if not self._admitted and self.address:
            self.listener.handshake_failed(self.address)
        if self._cut is not None:
            self._cut.cancel()
        self._rest = b""
        super().connection_lost(exc)

    # --- in ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol. Parse a little at a time while there are tokens."""
        if self._rest or not self._may_read():
            self._rest += data
            self.transport.pause_reading()
            return
        least = 1  # a read costs a token even when it completes no frame
        while data:
            part, data = data[:PART], data[PART:]
            self.conn.receive_data(part)
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                self._fail_handshake()
                return
            if not self._frames.take(self.listener.tick, max(least, len(self.conn.events))):
                self._overspent()
                return
            least = 0
            if self.conn.parser_exc is not None:
                self.handle_parser_exception()
                return
            self.handle_events()
            if self.transport.is_closing():
                return
            if data and not self._may_read():
                self._rest = data
                self.transport.pause_reading()
                return

    def _may_read(self) -> bool:
        answered = self.handshake_complete or not self.handshake_initiated
        return answered and self.writable.is_set()

    def _read_on(self) -> None:
        """Parse what waited, and read again unless the application has not taken the last message."""
        if self.transport.is_closing() or not self._may_read():
            return
        rest, self._rest = self._rest, b""
        if rest:
            self.data_received(rest)
        if not (self._rest or self.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def _overspent(self) -> None:
        """Close the socket with 1008, read no more, and cut it off a second later."""
        self.conn.events.clear()
        self.conn.data_to_send()  # drops the pongs
        self.transport.pause_reading()
        if self.close_sent or not self.handshake_complete or self.conn.state is not State.OPEN:
            self.transport.abort()
            return
        code, reason = TOO_MANY
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.close_timer = self.loop.call_later(CLOSE_S, self.transport.abort)

    def _fail_handshake(self) -> None:
        """Send the library's refusal of the handshake, and close."""
        self.handshake_complete = self.close_sent = True
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def handle_parser_exception(self) -> None:
        """Close the connection after bytes that are no WebSocket frames.

        uvicorn asserts that a close frame was sent. Before the handshake is answered none was.
        """
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": BROKEN})
        self.close_sent = True
        self.transport.close()

    def send_receive_event_to_app(self) -> None:
        """Pass a message on; close with 1007 for a text that is not UTF-8 (RFC 6455, 8.1)."""
        if self.curr_msg_data_type == "text" and not self.close_sent:
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self.frames = []
                if self.conn.state is State.OPEN:
                    self.conn.send_close(1007)
                    self.handle_parser_exception()
                return
        super().send_receive_event_to_app()

    async def receive(self) -> Any:
        """See ASGI. The next message. Read again when it was the last one that waited."""
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._read_on()
        return message

    def pause_writing(self) -> None:
        """See asyncio.Protocol. Read nothing from a client that does not read."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        super().resume_writing()
        self._stuck.moves()
        self._read_on()

    # --- the application -----------------------------------------------------------------------------------

    async def run_asgi(self) -> None:
        """Run the application, and close the connection soon after it has ended."""
        self.scope["extensions"].update({SHARED: {}, ADMITTED: {}})
        await super().run_asgi()
        if not self.disconnected:
            # A transport that is closed first sends all that was written. A client that does not read could
            # delay that for ever.
            cut_after_s = CUT_AFTER_S if self._admitted else min(CLOSE_S, CUT_AFTER_S)
            self._cut = self.loop.call_later(cut_after_s, self.transport.abort)

    async def send(self, message: Any) -> None:
        """See ASGI. Send a message of the application."""
        if message["type"] == ADMITTED:
            self._admitted = True
            self.due = self.listener.tick + self.limits.look_s
            self.listener.uncount(self)
            return
        if (
            self.close_sent and self.initial_response is None
        ):  # this side closed it while the application sends
            raise ClientDisconnected
        if (shared := message.get("shared")) is None:
            await super().send(message)
            if message["type"] == "websocket.accept":
                self._read_on()
            return
        if not self.writable.is_set():
            async with asyncio.timeout(message["within"]):
                await self.writable.wait()
        if not self._shares:
            text = shared.after(message["beginning"])
            await super().send({"type": "websocket.send", "text": text})
        else:
            if self.disconnected or self.close_sent or self.conn.state is not State.OPEN:
                raise ClientDisconnected
            own, common = shared.compressed_after(message["beginning"])
            # Not joined: the common part is kept once, however many clients read slowly.
            self.transport.writelines((_head(len(own) + len(common)) + own, common))

    @cached_property
    def _shares(self) -> bool:
        """Whether this client can read the common part. Some take nothing compressed, or only a smaller
        window."""
        return any(
            isinstance(extension, PerMessageDeflate) and extension.local_max_window_bits >= WINDOW_BITS
            for extension in self.conn.extensions
        )

    # --- ends ----------------------------------------------------------------------------------------------

    def keepalive_timeout(self) -> None:
        """Handle that no pong came in time. If this process stood still, the pong may be waiting to be
        read."""
        timeout = self.ping_timeout or 0.0
        if self.loop.time() - self.ping_sent_at > timeout + STALL_S:
            self.ping_sent_at = self.loop.time() - timeout / 2
            self.pong_timer = self.loop.call_later(timeout / 2, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def expire(self) -> None:
        """Handle that `due` has come: cut off a client that was not admitted in time, or that does not
        read."""
        if not self._admitted:
            self.transport.abort()
            return
        if self._stuck.for_too_long(self.transport):
            self.transport.abort()
        self.due = self.listener.tick + self.limits.look_s

    def unread(self) -> bool:
        """Whether its client has sent bytes that were not read. The listener asks only before a first
        request."""
        return False

    def evict(self) -> None:
        """Close it at once to make room for another connection."""
        self.transport.abort()


def _head(length: int) -> bytes:
    """The head of a frame that holds a whole compressed text (RFC 6455, 5.2; RFC 7692, 6)."""
    if length < 126:
        return struct.pack("!BB", FIN_RSV1_TEXT, length)
    if length < 65_536:
        return struct.pack("!BBH", FIN_RSV1_TEXT, 126, length)
    return struct.pack("!BBQ", FIN_RSV1_TEXT, 127, length)
