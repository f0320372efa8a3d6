"""Where a connection goes: lifespan, live sockets, the JSON API's short path, pages."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")

from channels.routing import URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

pages = get_asgi_application()

# Only after the line above are the applications loaded that these modules need.
from coordination import consumers  # noqa: E402
from intramedial import lean, logs  # noqa: E402

LEAN_PREFIXES = ("/api/", "/health/", "/.well-known/")
LEAN_PATHS = ("/openapi.json",)


async def _refuse(scope, receive, send):
    """Refuse a socket on a path that has none (answered as 403 by the server)."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets = URLRouter([*consumers.websocket_urlpatterns, re_path(r"", _refuse)])


async def application(scope, receive, send):
    """The ASGI application of the whole service."""
    kind = scope["type"]
    if kind == "lifespan":
        await _lifespan(receive, send)
    elif kind == "websocket":
        await sockets(scope, receive, send)
    elif scope["path"].startswith(LEAN_PREFIXES) or scope["path"] in LEAN_PATHS:
        await lean.application(scope, receive, send)
    else:
        # Set here and not only in the middleware: Django logs a 404 or a fault after the middleware is left.
        logs.request_id.set(logs.new_request_id())
        await pages(scope, receive, send)


async def _lifespan(receive, send):
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return
