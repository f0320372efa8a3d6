"""The two kinds of live sockets and who may open them. `base_consumer.py` has what they have in common."""

import asyncio

from django.conf import settings
from django.http import parse_cookie
from django.urls import path

from intramedial.accounts import watching
from intramedial.accounts.watching import Watcher
from intramedial.http.calls import RequestParts
from intramedial.http.origins import require_same_origin
from intramedial.http.problems import Problem

from .base_consumer import LiveConsumer, application
from .hub import hub
from .hub import stop as stop_hub

TICKET = "ticket."


def _session(parts: RequestParts) -> str | None:
    """The session that the handshake's cookies name, if any."""
    return parse_cookie(parts.headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME)


class WorkspaceConsumer(LiveConsumer):
    """`/ws/espacios/{workspaceId}/`: a member by the browser's session, or a program by an API key."""

    def check_origin(self, parts: RequestParts) -> None:
        """Accept a key from everywhere, since no page can add that header to a handshake.

        A session is sent by the browser itself, so it needs the Origin of one of our pages; browsers always
        send one. A handshake with neither key nor session is refused later, with its reason.
        """
        if "authorization" in parts.headers:
            return
        if _session(parts) is not None and "origin" not in parts.headers:
            raise Problem("forbidden", "A socket with a session must say its Origin.")
        require_same_origin(parts.headers)

    async def admit(self, parts: RequestParts) -> Watcher:
        """The program or the member. Raises Problem."""
        workspace = self.scope["url_route"]["kwargs"]["workspace"]
        if "authorization" in parts.headers:
            return await watching.program(workspace, parts)
        return await watching.member(workspace, _session(parts))


class TrialConsumer(LiveConsumer):
    """`/ws/prueba/`: a visitor by a one-time ticket, which is offered as the subprotocol `ticket.…`."""

    def check_origin(self, parts: RequestParts) -> None:
        """Refuse the Origin of another site. A program sends none and may pass: no browser adds a ticket by
        itself, as it adds cookies."""
        require_same_origin(parts.headers)

    async def admit(self, parts: RequestParts) -> Watcher:
        """The visitor. Raises Problem."""
        offered = [word for word in self.scope["subprotocols"] if word.startswith(TICKET)]
        return await watching.visitor(offered[0].removeprefix(TICKET) if offered else "")


def start() -> None:
    """Start the hub, on the event loop and before the first connection."""
    hub()


async def stop() -> None:
    """Publish what is not published yet and stop the hub, after the last connection."""
    await stop_hub()
    await asyncio.to_thread(watching.stop)


websocket_urlpatterns = [
    path("ws/espacios/<str:workspace>/", application(WorkspaceConsumer)),
    path("ws/prueba/", application(TrialConsumer)),
]
