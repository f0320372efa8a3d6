"""The service with a key added to every request without one: the conformance suite cannot send a key."""

import os
from typing import Any

from intramedial import asgi

KEY = os.environ["CONFORMANCE_KEY"]


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Like `intramedial.asgi.application`."""
    if scope["type"] == "http" and b"authorization" not in dict(scope["headers"]):
        authorization = (b"authorization", f"Bearer {KEY}".encode())
        scope = {**scope, "headers": [*scope["headers"], authorization]}
    await asgi.application(scope, receive, send)
