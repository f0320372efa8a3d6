"""Every session was let in by a beta password that has not been revoked, however the session began.

Logging in is refused without a beta password (`adapter.py`). Here a session ends with the first request after
its beta password was revoked, and a session that names no beta password never begins. Live sockets are looked
at every few seconds instead (`accounts/watching.py`).
"""

import time
from collections.abc import Callable

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext

from intramedial.accounts import beta
from intramedial.http.serving import KNOWN

SEEN = "seen"
"""The key under which a session keeps when its last use was recorded, in seconds since 1970."""
SEEN_EVERY_S = 60


@sync_only_middleware
def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Django's middleware: looks up a session's beta password at each request, by its primary key."""

    def hold(request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            _look(request)
            getattr(request, "scope", {})[KNOWN] = True
        return get_response(request)

    return hold


def _look(request: HttpRequest) -> None:
    session, now = request.session, time.time()
    if not beta.unrevoked([session.get(beta.SESSION)]):
        logout(request)
        messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
        return
    if now - SEEN_EVERY_S < session.get(SEEN, 0) <= now:
        return
    session[SEEN] = now
    UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=timezone.now())
