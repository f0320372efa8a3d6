"""Beta passwords, and the gate that ends sessions whose beta password was revoked.

A beta password is made here and shown once; only its hash is stored. Sign-up and log-in each ask for one, and
`adapter.py` begins no session without one. A session keeps the number of its beta password (`SESSION`). The
first request after that beta password is revoked ends the session (`middleware`). Live sockets are checked
every few seconds instead (`watching.py`).
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

from intramedial.accounts.models import BetaPassword, BetaUse, User
from intramedial.http.serving import KNOWN

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that look like one another
GROUPS, GROUP_LENGTH = 4, 5  # 20 characters of 31: 99 bits
SESSION = "beta"
"""The key under which a session keeps the number of its beta password."""
SEEN = "seen"
"""The key under which a session keeps when its last use was recorded, in seconds since 1970."""
SEEN_EVERY_S = 60


class Refused(Exception):
    """A beta password is not accepted; `reason` is unknown, revoked, expired or used_up."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def digest(secret: str) -> str:
    """The hash under which a beta password is stored. It is random and long, so a plain SHA-256 is enough."""
    return hashlib.sha256(secret.strip().lower().encode()).hexdigest()


def end_of(day: date) -> datetime:
    """The last instant of a day in UTC: a beta password that expires on that day is valid until then."""
    return datetime.combine(day, datetime.max.time(), UTC)


def assign_secret(password: BetaPassword) -> str:
    """Give `password`, which is not saved yet, a new secret, and return the secret."""
    groups = ["".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS)]
    secret = "-".join(groups)
    password.prefix, password.hash = groups[0], digest(secret)
    return secret


def create(label: str = "", max_uses: int | None = None, expires_at: datetime | None = None) -> str:
    """Save a new beta password and return its secret."""
    password = BetaPassword(label=label, max_uses=max_uses, expires_at=expires_at)
    secret = assign_secret(password)
    password.save()
    return secret


def check(secret: str, *, sign_up: bool) -> BetaPassword:
    """The beta password that `secret` is. Raises Refused; a used-up one is refused at sign-up only.

    There is one look-up by a hash, whatever was typed, so the time it takes shows nothing about existing beta
    passwords. Only a caller who knows a beta password learns that it was revoked or has expired.
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
    """Count one sign-up. One guarded update does it, so concurrent sign-ups never exceed the allowed uses.

    Call it in the transaction that makes the account. Raises Refused.
    """
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    left = Q(max_uses=None) | Q(uses__lt=F("max_uses"))
    good = BetaPassword.objects.filter(unexpired, left, pk=password.pk, revoked_at=None)
    if not good.update(uses=F("uses") + 1):
        raise Refused("used_up")


def record_use(password_id: int, user: User, kind: str) -> None:
    """Record that `user` signed up or logged in with the beta password; `kind` is a `BetaUse.Kind`."""
    BetaUse.objects.create(password_id=password_id, user=user, kind=kind)


def unrevoked(numbers: Iterable[Any]) -> set[int]:
    """The beta passwords among `numbers` that are neither revoked nor deleted.

    Sessions of an expired beta password go on, so expired ones are included.
    """
    wanted = {number for number in numbers if isinstance(number, int)}
    return set(BetaPassword.objects.filter(pk__in=wanted, revoked_at=None).values_list("pk", flat=True))


@sync_only_middleware
def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """End a session whose beta password was revoked. Each request looks it up by primary key."""

    def check_session(request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            _end_or_record(request)
            getattr(request, "scope", {})[KNOWN] = True
        return get_response(request)

    return check_session


def _end_or_record(request: HttpRequest) -> None:
    session, now = request.session, time.time()
    if not unrevoked([session.get(SESSION)]):
        logout(request)
        messages.error(request, gettext("Tu contraseña de la beta ya no vale. Entra con otra."))
        return
    if now - SEEN_EVERY_S < session.get(SEEN, 0) <= now:
        return
    session[SEEN] = now
    UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=timezone.now())
