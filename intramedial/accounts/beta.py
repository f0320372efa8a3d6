"""Beta passwords: made here, shown once, kept as a hash; and whether one lets somebody in.

Sign-up and log-in each ask for one. A session remembers which it was (`SESSION`), so that revoking a beta
password ends what it let in: see `gate.py`, and `accounts/watching.py` for live sockets.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.decorators import sync_only_middleware
from django.utils.translation import gettext

from intramedial.accounts.models import BetaPassword, BetaUse
from intramedial.http.extensions import KNOWN

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is read as something else
GROUPS, GROUP_LENGTH = 4, 5  # 20 characters of 31: 99 bits
SESSION = "beta"
"""Under what a session keeps the number of the beta password that let it in."""


class Refused(Exception):
    """A beta password that does not let in; `reason` is unknown, revoked, expired or used_up."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def digest(secret: str) -> str:
    """What is kept of a beta password. It is random and long, so a plain SHA-256 is enough."""
    return hashlib.sha256(secret.strip().lower().encode()).hexdigest()


def end_of(day: date) -> datetime:
    """The last instant of a day, UTC: a beta password that expires on that day is good until then."""
    return datetime.combine(day, datetime.max.time(), UTC)


def assign_secret(password: BetaPassword) -> str:
    """Give `password`, not saved yet, a fresh secret; the answer is the only time it is seen."""
    groups = ["".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS)]
    secret = "-".join(groups)
    password.prefix, password.hash = groups[0], digest(secret)
    return secret


def create(label: str = "", max_uses: int | None = None, expires_at: datetime | None = None) -> str:
    """A new beta password, saved; the answer is the only time it is seen."""
    password = BetaPassword(label=label, max_uses=max_uses, expires_at=expires_at)
    secret = assign_secret(password)
    password.save()
    return secret


def check(secret: str, *, sign_up: bool) -> BetaPassword:
    """The beta password that `secret` is. Raises Refused; one that is used up is refused at sign-up alone.

    One look-up by a hash, whatever was typed: how long it takes says nothing of the passwords there are, and
    only who knows a password hears what has become of it.
    """
    wanted = digest(secret)
    password = BetaPassword.objects.filter(hash=wanted).first()
    if not constant_time_compare(password.hash if password else "", wanted) or password is None:
        raise Refused("unknown")
    if password.revoked_at is not None:
        raise Refused("revoked")
    if password.expires_at is not None and password.expires_at <= timezone.now():
        raise Refused("expired")
    if sign_up and password.max_uses is not None and password.uses >= password.max_uses:
        raise Refused("used_up")
    return password


def claim(password: BetaPassword) -> None:
    """Count one sign-up, in one guarded update: of many at once, as many pass as uses are left.

    Call it in the transaction that makes the account. Raises Refused.
    """
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    left = Q(max_uses=None) | Q(uses__lt=F("max_uses"))
    good = BetaPassword.objects.filter(unexpired, left, pk=password.pk, revoked_at=None)
    if not good.update(uses=F("uses") + 1):
        raise Refused("used_up")


def note(password_id: int, user: Any, kind: str) -> None:
    """Record that `user` came in with it."""
    BetaUse.objects.create(password_id=password_id, user=user, kind=kind)


def unrevoked(numbers: Iterable[Any]) -> set[int]:
    """Of these beta passwords, those with which sessions go on: all but the revoked and the deleted.

    One that expires does not end what it let in.
    """
    asked = {number for number in numbers if isinstance(number, int)}
    return set(BetaPassword.objects.filter(pk__in=asked, revoked_at=None).values_list("pk", flat=True))


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
    if not unrevoked([session.get(SESSION)]):
        logout(request)
        messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
        return
    if now - SEEN_EVERY_S < session.get(SEEN, 0) <= now:
        return
    session[SEEN] = now
    UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=timezone.now())
