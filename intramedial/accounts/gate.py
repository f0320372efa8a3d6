"""Whoever is logged in was let in by a beta password that has not been revoked, however they came in.

Logging in is refused without one (`adapter.py`). Here sessions end once theirs is revoked, and one that names
none, whoever made it, never begins: so there is no way round.
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
from intramedial.whole import KNOWN

CHECKED = "beta_checked"
"""Under what a session keeps when its beta password was looked at last, in seconds since 1970."""
RECHECK_S = 60


@sync_only_middleware
def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Django's middleware: looks at a session's beta password at most once a minute."""

    def hold(request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            _look(request)
            getattr(request, "scope", {})[KNOWN] = True
        return get_response(request)

    return hold


def _look(request: HttpRequest) -> None:
    session, now = request.session, time.time()
    password, checked = session.get(beta.SESSION), session.get(CHECKED, 0)
    if password is not None and now - RECHECK_S < checked <= now:
        return
    if not beta.unrevoked([password]):
        logout(request)
        messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
        return
    session[CHECKED] = now
    UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=timezone.now())
