"""The upper limit: an ASGI application that only sends back what it receives."""

from typing import Any

HEADERS = [(b"content-type", b"application/json")]


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer every request with its own body."""
    body = (await receive())["body"]
    headers = [*HEADERS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
