"""Where a connection goes: lifespan, live sockets, the JSON API's short path, MCP, pages."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")

from channels.routing import URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

pages = get_asgi_application()

# Only after the line above are the applications loaded that these modules need.
from coordination import mcp
from coordination.authority import process as authority
from coordination.live import consumers
from coordination.read import current
from intramedial import api
from intramedial.databases import disk
from intramedial.http import logs
from intramedial.legal import purging
from intramedial.workspaces.authentication import callers, no_oauth

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# Two slashes come from a base URL that ends in one; the answer names the path that was meant.
LEAN_PREFIXES = ("/api/", "//api/", "/health/")
WELL_KNOWN = "/.well-known/"
LEAN_PATHS = ("/openapi.json", "/openapi.json/")
GARBAGE_AFTER = 20_000  # objects made and not freed


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a socket on a path that has none (answered as 403 by the server)."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets = URLRouter([*consumers.websocket_urlpatterns, re_path(r"", _refuse)])


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the whole service."""
    kind = scope["type"]
    if kind == "lifespan":
        await _lifespan(receive, send)
    elif kind == "websocket":
        await sockets(scope, receive, send)
    elif scope["path"].startswith(LEAN_PREFIXES) or scope["path"] in LEAN_PATHS:
        await api.application(scope, receive, send)
    elif scope["path"] in mcp.PATHS:
        await mcp.application(scope, receive, send)
    elif no_oauth.covers(scope["path"]):
        await no_oauth.application(scope, receive, send)
    elif scope["path"].startswith(WELL_KNOWN):
        await api.application(scope, receive, send)
    else:
        # Set here and not only in the middleware: Django logs a 404 or a fault after the middleware is left.
        logs.request_id.set(logs.new_request_id())
        await pages(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    """Start the authority and MCP's sessions before the first connection, and stop them after the last.

    A server that sends no lifespan events has each of them started by the first request that needs it.
    """
    await receive()
    consumers.start()  # before the authority, which may have something to tell at once
    try:
        await asyncio.to_thread(authority.start)
        await mcp.sessions.start()
    except (authority.StorageFault, mcp.NotStarted) as fault:
        await consumers.stop()
        await send({"type": "lifespan.startup.failed", "message": str(fault)})
        return
    _spare_collector()
    purger = purging.Purger()
    purger.start()
    callers.start()
    watch = disk.Watch()
    watch.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await asyncio.to_thread(purger.stop)
    await asyncio.to_thread(watch.stop)
    await mcp.sessions.stop()
    await asyncio.to_thread(authority.stop)
    await consumers.stop()
    await asyncio.to_thread(current.stop)
    await asyncio.to_thread(callers.stop)
    await send({"type": "lifespan.shutdown.complete"})


def _spare_collector() -> None:
    """Leave what was loaded out of every search for garbage from now on, and search less often: requests make
    next to none that counting references does not find."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
