"""The server's side of a WebSocket connection, which lets go of a client that does not read."""

import asyncio

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

CUT_AFTER_S = 10.0


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's. Closing a transport waits until all that was written is sent, which a client that does not
    read can put off for ever: so some time after the application has ended, the connection is cut."""

    _cut: asyncio.TimerHandle | None = None

    async def run_asgi(self) -> None:
        """Run the application to its end."""
        await super().run_asgi()
        if not self.disconnected:
            self._cut = self.loop.call_later(CUT_AFTER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to cut."""
        super().connection_lost(exc)
        if self._cut is not None:
            self._cut.cancel()
