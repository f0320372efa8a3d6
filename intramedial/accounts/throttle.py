"""Limits on tries: a number of tries per hour under each name. A try is a row, so all processes count
together, and a refusal can say when the next try is allowed.

A log-in is counted under three names:

- the client's address, for all accounts together (`LOGIN_TRIES`);
- the pair of client's address and account (`LOGIN_TRIES`);
- the account, from all addresses together (`ACCOUNT_TRIES`): this bounds guesses of one password.

So a stranger at one address cannot use up the tries of an account's owner at another address. A stranger with
many addresses can reach the third limit. The owner gets past it with a mailed link: a browser that has set a
new password by that link gets its own tries for the account (`pass_lock`). Without mail, an operator runs
`manage.py account unlock`. Tries for an e-mail address without an account are counted in the same way.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime

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
from intramedial.databases.hourly import HOUR, seconds_until_room
from intramedial.http.addresses import address_hash

SWEPT = 5


@dataclass(frozen=True)
class Wait:
    """No try is left; the next one is allowed in `seconds`."""

    seconds: int

    @property
    def words(self) -> str:
        """A sentence that says when to try again, in the language of the page."""
        minutes = -(-self.seconds // 60)
        return ngettext(
            "Demasiados intentos. Vuelve a probar dentro de %(minutes)s minuto.",
            "Demasiados intentos. Vuelve a probar dentro de %(minutes)s minutos.",
            minutes,
        ) % {"minutes": minutes}


PASSED = "passed_lock"
"""The key under which a session keeps the account whose mailed link was opened in its browser."""
PART = 32
"""Hexadecimal digits of each hash in a name that holds two hashes."""


def of_address(what: str, request: HttpRequest) -> str:
    """The name under which tries of the client's address are counted."""
    return f"{what}:{address_hash(address_of(request))}"


def of_account(what: str, email: str) -> str:
    """The name under which tries for an account are counted, whether or not the account exists."""
    return f"{what}:{_account_hash(email)}"


def of_pair(request: HttpRequest, email: str) -> str:
    """The name under which tries of the client's address for an account are counted."""
    return f"{_pairs_of(email)}{address_hash(address_of(request))[:PART]}"


def _pairs_of(email: str) -> str:
    return f"pair:{_account_hash(email)[:PART]}:"


def _account_hash(email: str) -> str:
    return salted_hmac("intramedial.account", email.strip().lower(), algorithm="sha256").hexdigest()


def pass_lock(request: HttpRequest, email: str) -> None:
    """Give the session of `request` its own tries for the account of `email`.

    Call it for a browser in which a link mailed to that address was opened.
    """
    request.session[PASSED] = {"account": _account_hash(email), "number": secrets.token_hex(8)}
    _reset_link_limit(request, email)


def _reset_link_limit(request: HttpRequest, email: str) -> None:
    """Forget how many links were mailed to an address, after a new password or a log-in made them invalid.

    Strangers can use up the mails of an hour. Until then the account's owner has links that work and needs no
    other mail.
    """
    ratelimit.clear(
        request,
        app="allauth.account",
        action="reset_password",
        config={"reset_password": LINKS_TO_ADDRESS},
        key=email.strip().lower(),
    )


def of_passed(request: HttpRequest, email: str) -> str | None:
    """The name under which a session's own tries for an account are counted; None if it has none."""
    passed = request.session.get(PASSED)
    if passed is None or not constant_time_compare(passed["account"], _account_hash(email)):
        return None
    return f"passed:{passed['number']}"


def spend_on_account(request: HttpRequest, email: str) -> Wait | None:
    """Count a try to log in to an account, whether or not it exists. None if the try is allowed."""
    if of_passed(request, email) is not None:
        return None  # the view has counted it
    wait = spend(of_pair(request, email), settings.LOGIN_TRIES)
    return wait or spend(of_account("account", email), settings.ACCOUNT_TRIES)


def succeed(request: HttpRequest, email: str) -> None:
    """Undo the count of a try that succeeded: forget the address's tries for the account, and the last try
    that was counted for the account itself."""
    forget(of_pair(request, email))
    last = Try.objects.filter(of=of_account("account", email)).order_by("-at").first()
    if last is not None and of_passed(request, email) is None:
        last.delete()
    request.session.pop(PASSED, None)
    _reset_link_limit(request, email)


def unlock(email: str) -> int:
    """Forget all tries for an account, from all addresses. Returns how many there were."""
    names = Q(of=of_account("account", email)) | Q(of__startswith=_pairs_of(email))
    return Try.objects.filter(names, at__gt=timezone.now() - HOUR).delete()[0]


def spend(of: str, limit: int) -> Wait | None:
    """Count a try under a name. None if it is allowed, else how long to wait; refused tries do not count."""
    now = timezone.now()
    with transaction.atomic():
        take_turns(f"try {of}")
        seconds = seconds_until_room(Try.objects.filter(of=of), "at", limit, now)
        if seconds is not None:
            return Wait(seconds)
        Try.objects.create(of=of, at=now)
        _sweep(now)
        return None


def _sweep(now: datetime) -> None:
    """Delete some old tries, more than are added, so that the table holds little more than the last hour."""
    old = Try.objects.filter(at__lte=now - HOUR).order_by("at")
    Try.objects.filter(pk__in=old.values("pk")[:SWEPT]).delete()


def forget(of: str) -> None:
    """Forget the tries counted under a name."""
    Try.objects.filter(of=of).delete()


def purge() -> int:
    """Delete the tries that are older than an hour. Returns how many."""
    count, _ = Try.objects.filter(at__lte=timezone.now() - HOUR).delete()
    return count
