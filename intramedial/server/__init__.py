"""The HTTP and WebSocket server: from bytes of a connection to ASGI."""
