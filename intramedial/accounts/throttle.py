"""Limits on tries: so many in an hour under one name. Tries are rows, so that all processes count together,
and so that a refusal can say when the next try comes.

Log-in counts under three names:

- the address that asks, with all accounts it names (`LOGIN_TRIES`);
- the pair of address and account (`LOGIN_TRIES`);
- the account, from all addresses together (`ACCOUNT_TRIES`): the bound on guessing one password.

So a stranger at one address cannot use up the tries of an account's owner at another. A stranger with many
addresses can reach the third limit. Past it leads a link by mail: a browser that set a new password by it has
tries of its own for that account (`pass_lock`). Where no mail is sent, `manage.py account unlock` forgets the
tries of an account. An address without an account is counted like one that has one.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.core.internal import ratelimit
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import ngettext

from intramedial.accounts.configuration import LINKS_TO_ADDRESS
from intramedial.accounts.models import Try
from intramedial.audit.record import address_of
from intramedial.databases import take_turns
from intramedial.http.addresses import address_hash

HOUR = timedelta(hours=1)
SWEPT = 5


@dataclass(frozen=True)
class Wait:
    """No try is left; the next one comes in so many seconds."""

    seconds: int

    @property
    def words(self) -> str:
        """When to try again, for people."""
        minutes = -(-self.seconds // 60)
        return ngettext(
            "Demasiados intentos. Vuelve a probar dentro de %(minutes)s minuto.",
            "Demasiados intentos. Vuelve a probar dentro de %(minutes)s minutos.",
            minutes,
        ) % {"minutes": minutes}


PASSED = "passed_lock"
"""The key under which a session keeps the account that its browser came to by a link of a mail."""
PART = 32
"""Hexadecimal digits of a hash where a name holds two."""


def of_address(what: str, request: HttpRequest) -> str:
    """The name under which the tries of the address that sends `request` are counted."""
    return f"{what}:{address_hash(address_of(request))}"


def of_account(what: str, email: str) -> str:
    """The same of an account, whether or not there is one of that address."""
    return f"{what}:{_account_hash(email)}"


def of_pair(request: HttpRequest, email: str) -> str:
    """The same of an account as the address that sends `request` tries it."""
    return f"{_pairs_of(email)}{address_hash(address_of(request))[:PART]}"


def _pairs_of(email: str) -> str:
    return f"pair:{_account_hash(email)[:PART]}:"


def _account_hash(email: str) -> str:
    return salted_hmac("intramedial.account", email.strip().lower(), algorithm="sha256").hexdigest()


def pass_lock(request: HttpRequest, email: str) -> None:
    """Give the session of `request` tries of its own for the account of `email`.

    For a browser that came by a link that was mailed to that address.
    """
    request.session[PASSED] = {"account": _account_hash(email), "number": secrets.token_hex(8)}
    _mail_links_again(request, email)


def _mail_links_again(request: HttpRequest, email: str) -> None:
    """Forget how many links were mailed to an address. A new password or a log-in has ended all of them.

    Strangers can use up the mails of an hour. Then the account's owner has links that work, until one of them
    is used: only after that is there need of another.
    """
    ratelimit.clear(
        request,
        app="allauth.account",
        action="reset_password",
        config={"reset_password": LINKS_TO_ADDRESS},
        key=email.strip().lower(),
    )


def of_passed(request: HttpRequest, email: str) -> str | None:
    """The name of a session's own tries for an account; None for a session without any for that account."""
    passed = request.session.get(PASSED)
    if passed is None or not constant_time_compare(passed["account"], _account_hash(email)):
        return None
    return f"passed:{passed['number']}"


def spend_on_account(request: HttpRequest, email: str) -> Wait | None:
    """Count a try to log in to an account, whether or not it exists; None if it may be made."""
    if of_passed(request, email) is not None:
        return None  # counted by the view
    wait = spend(of_pair(request, email), settings.LOGIN_TRIES)
    return wait or spend(of_account("account", email), settings.ACCOUNT_TRIES)


def succeed(request: HttpRequest, email: str) -> None:
    """The try that was counted last was no wrong one: the address has all its tries of the account again, and
    the account its one."""
    forget(of_pair(request, email))
    last = Try.objects.filter(of=of_account("account", email)).order_by("-at").first()
    if last is not None and of_passed(request, email) is None:
        last.delete()
    request.session.pop(PASSED, None)
    _mail_links_again(request, email)


def unlock(email: str) -> int:
    """Forget all tries of an account, from wherever; returns how many there were."""
    names = Q(of=of_account("account", email)) | Q(of__startswith=_pairs_of(email))
    return Try.objects.filter(names, at__gt=timezone.now() - HOUR).delete()[0]


def spend(of: str, limit: int) -> Wait | None:
    """Count a try; None if it may be made, else how long to wait. One that is refused does not count."""
    now = timezone.now()
    with transaction.atomic():
        take_turns(f"try {of}")
        recent = Try.objects.filter(of=of, at__gt=now - HOUR)
        if recent.count() < limit:
            Try.objects.create(of=of, at=now)
            _sweep(now)
            return None
        oldest = recent.order_by("-at")[limit - 1].at
    return Wait(max(1, int((oldest + HOUR - now).total_seconds())))


def _sweep(now: datetime) -> None:
    """Delete some that no longer count, more than come: the table has those of the last hour and few more."""
    old = Try.objects.filter(at__lte=now - HOUR).order_by("at")
    Try.objects.filter(pk__in=old.values("pk")[:SWEPT]).delete()


def forget(of: str) -> None:
    """The tries that were counted do not matter any more."""
    Try.objects.filter(of=of).delete()


def purge() -> int:
    """Delete the tries that no longer count; returns how many."""
    count, _ = Try.objects.filter(at__lte=timezone.now() - HOUR).delete()
    return count
