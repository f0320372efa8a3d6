"""The server's side of a WebSocket connection, which lets go of a client that does not read."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's. Closing a transport waits until all that was written is sent, which a client that does not
    read can put off for ever: so some time after the application has ended, the connection is cut."""

    async def run_asgi(self) -> None:
        """Run the application to its end."""
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)
