"""The server's side of a WebSocket: it cuts clients that do not read, and compresses a text once for all."""

import asyncio
import struct
from functools import cached_property
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.protocol import State

from intramedial.shared_text import SHARED, WINDOW_BITS

CUT_AFTER_S = 10.0
BROKEN = 1006
"""The code of a connection that ended without a close frame (RFC 6455, 7.4.1)."""
FIN_RSV1_TEXT = 0b1100_0001

DEFLATE = ServerPerMessageDeflateFactory(
    # Without context takeover there is nothing to remember for each of a thousand clients, either.
    server_no_context_takeover=True,
    client_no_context_takeover=True,
    server_max_window_bits=WINDOW_BITS,
)


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's, with three differences.

    Closing a transport waits until all that was written is sent, which a client that does not read can put
    off for ever: so some time after the application has ended, the connection is cut. A text for many clients
    is compressed once. And bytes that are no WebSocket frames close the connection in any state of its
    handshake.
    """

    _cut: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn.available_extensions = [DEFLATE]

    async def run_asgi(self) -> None:
        """Run the application to its end."""
        self.scope["extensions"][SHARED] = {}
        await super().run_asgi()
        if not self.disconnected:
            self._cut = self.loop.call_later(CUT_AFTER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to cut."""
        super().connection_lost(exc)
        if self._cut is not None:
            self._cut.cancel()

    def handle_parser_exception(self) -> None:
        """Close the connection after bytes that are no WebSocket frames.

        uvicorn asserts that a close frame was sent, but before the handshake is answered there is none.
        """
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": BROKEN})
        self.close_sent = True
        self.transport.close()

    async def send(self, message: Any) -> None:
        """Send what the application sends."""
        if (shared := message.get("shared")) is None:
            await super().send(message)
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
            own, everybodys = shared.compressed_after(message["beginning"])
            # Not joined: what is everybody's is kept once, however many clients take their time.
            self.transport.writelines((_head(len(own) + len(everybodys)) + own, everybodys))

    @cached_property
    def _shares(self) -> bool:
        """Whether this client reads what was compressed for all: some take nothing compressed, or a smaller
        window only."""
        return any(
            isinstance(extension, PerMessageDeflate) and extension.local_max_window_bits >= WINDOW_BITS
            for extension in self.conn.extensions
        )


def _head(length: int) -> bytes:
    """The head of a frame that is a whole compressed text (RFC 6455, 5.2; RFC 7692, 6)."""
    if length < 126:
        return struct.pack("!BB", FIN_RSV1_TEXT, length)
    if length < 65_536:
        return struct.pack("!BBH", FIN_RSV1_TEXT, 126, length)
    return struct.pack("!BBQ", FIN_RSV1_TEXT, 127, length)
