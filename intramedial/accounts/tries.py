"""So many tries an hour: of one address, of one account. They are rows, so that all processes count together,
and so that whoever has none left hears when to come back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import ngettext

from intramedial.accounts.models import Try
from intramedial.addresses import address_hash
from intramedial.audit.record import address_of
from intramedial.turns import take_turns

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


def of_address(what: str, request: HttpRequest) -> str:
    """The name under which the tries of whoever sends `request` are counted."""
    return f"{what}:{address_hash(address_of(request))}"


def of_account(what: str, email: str) -> str:
    """The same of an account, whether or not there is one of that address."""
    return f"{what}:{salted_hmac('intramedial.account', email.lower(), algorithm='sha256').hexdigest()}"


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
