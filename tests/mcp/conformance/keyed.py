"""The service with a key put on every request that has none: the conformance suite has no way to send one."""

import os
from typing import Any

from intramedial import asgi

KEY = os.environ["CONFORMANCE_KEY"]


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """As `intramedial.asgi.application`."""
    if scope["type"] == "http" and b"authorization" not in dict(scope["headers"]):
        authorization = (b"authorization", f"Bearer {KEY}".encode())
        scope = {**scope, "headers": [*scope["headers"], authorization]}
    await asgi.application(scope, receive, send)
