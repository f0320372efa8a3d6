"""Where a connection goes: lifespan, live sockets, the JSON API's short path, MCP, pages."""

import gc
import os
from collections.abc import Awaitable, Callable
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")

from channels.routing import URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

pages: Any = get_asgi_application()

# These modules need the applications that the line above loads.
from coordination import mcp
from coordination.authority import process as authority
from coordination.live import consumers
from intramedial import api
from intramedial.databases import disk
from intramedial.http import logs
from intramedial.legal import purging
from intramedial.process.lifespan import Part, Parts, forget, in_thread
from intramedial.workspaces.authentication import callers, no_oauth

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# A base URL that ends in a slash leads to two slashes. The answer names the path that was meant.
SHORT_PREFIXES = ("/api/", "//api/", "/health/")
WELL_KNOWN = "/.well-known/"
SHORT_PATHS = ("/openapi.json", "/openapi.json/")
GARBAGE_AFTER = 20_000  # objects allocated and not freed


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a socket on a path that has none (answered as 403 by the server)."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


# Any, since these patterns lead to ASGI applications, and Django's types know views only.
_patterns: list[Any] = [*consumers.websocket_urlpatterns, re_path(r"", cast("Any", _refuse))]
sockets: Any = URLRouter(_patterns)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the whole service."""
    kind = scope["type"]
    if kind == "lifespan":
        await _lifespan(receive, send)
    elif kind == "websocket":
        await sockets(scope, receive, send)
    elif scope["path"].startswith(SHORT_PREFIXES) or scope["path"] in SHORT_PATHS:
        await api.application(scope, receive, send)
    elif scope["path"] in mcp.PATHS:
        await mcp.application(scope, receive, send)
    elif no_oauth.covers(scope["path"]):
        await no_oauth.application(scope, receive, send)
    elif scope["path"].startswith(WELL_KNOWN):
        await api.application(scope, receive, send)
    else:
        # Here and not only in the middleware: Django logs a 404 or a fault after the middleware has returned.
        logs.request_id.set(logs.new_request_id())
        await pages(scope, receive, send)


def _parts() -> Parts:
    """What this process runs beside requests."""
    purger, watch, leases = purging.Purger(), disk.Watch(), authority.current()
    return Parts(
        Part(stop=in_thread(forget)),
        Part(stop=in_thread(callers.stop)),
        Part(consumers.start, consumers.stop),  # before the authority, which may publish events at once
        Part(in_thread(leases.start), leases.close),
        Part(mcp.sessions.start, mcp.sessions.stop),
        Part(callers.start),
        Part(watch.start, in_thread(watch.stop)),
        Part(purger.start, in_thread(purger.stop)),
    )


async def _lifespan(receive: Receive, send: Send) -> None:
    """Start the parts before the first connection, and stop them after the last one.

    Under a server that sends no lifespan events, the first request that needs the authority or MCP starts it.
    """
    await receive()
    parts = _parts()
    try:
        await parts.start()
    except (authority.StorageFault, mcp.NotStarted) as fault:
        await send({"type": "lifespan.startup.failed", "message": str(fault)})
        return
    _spare_collector()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await parts.stop()
    await send({"type": "lifespan.shutdown.complete"})


def _spare_collector() -> None:
    """Exclude what was loaded from the search for garbage, and search less often: requests leave next to no
    garbage that reference counting does not free."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
