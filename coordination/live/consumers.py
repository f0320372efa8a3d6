"""Live sockets: who may watch is let in. They relay and never decide; see `base_consumer.py` for how."""

import asyncio

from django.conf import settings
from django.http import parse_cookie
from django.urls import path

from intramedial.accounts import watching
from intramedial.accounts.watching import Watcher
from intramedial.http.calls import RequestParts
from intramedial.http.origins import require_same_origin
from intramedial.http.problems import Problem

from .base_consumer import LiveConsumer
from .hub import hub
from .hub import stop as stop_hub

TICKET = "ticket."


def _session(parts: RequestParts) -> str | None:
    """The session that the handshake's cookies name, if any."""
    return parse_cookie(parts.headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME)


class WorkspaceConsumer(LiveConsumer):
    """`/ws/espacios/{workspaceId}/`: a member in a browser, by session; a program, by API key."""

    def check_origin(self, parts: RequestParts) -> None:
        """No page can send a key, nor is one sent by itself. A session counts only with the Origin of a page
        of ours: browsers always say where a socket comes from. A program with neither is told so."""
        if "authorization" in parts.headers:
            return
        if _session(parts) is not None and "origin" not in parts.headers:
            raise Problem("forbidden", "A socket with a session must say its Origin.")
        require_same_origin(parts.headers)

    async def admit(self, parts: RequestParts) -> Watcher:
        workspace = self.scope["url_route"]["kwargs"]["workspace"]
        if "authorization" in parts.headers:
            return await watching.program(workspace, parts)
        return await watching.member(workspace, _session(parts))


class TrialConsumer(LiveConsumer):
    """`/ws/prueba/`: a visitor, by a one-time ticket offered as the subprotocol `ticket.…`."""

    def check_origin(self, parts: RequestParts) -> None:
        """A ticket is not sent by itself as a cookie is, so a program without an Origin may pass."""
        require_same_origin(parts.headers)

    async def admit(self, parts: RequestParts) -> Watcher:
        offered = [word for word in self.scope["subprotocols"] if word.startswith(TICKET)]
        return await watching.visitor(offered[0].removeprefix(TICKET) if offered else "")


def start() -> None:
    """Begin to tell and to hear what is decided; on the event loop, before the first connection."""
    hub()


async def stop() -> None:
    """Tell what is left to tell, after the last connection."""
    await stop_hub()
    await asyncio.to_thread(watching.stop)


websocket_urlpatterns = [
    path("ws/espacios/<str:workspace>/", WorkspaceConsumer.as_asgi()),
    path("ws/prueba/", TrialConsumer.as_asgi()),
]
