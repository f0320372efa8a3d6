"""Reading a workspace's part of the audit log, the latest first, and letting go of what is old."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.audit.words import FORMER

AT_ONCE = 1_000
ACCOUNT = "account "
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# An entry's instant, in microseconds, and its number.
CURSOR = re.compile(r"([0-9]{1,18})_([0-9]{1,18})")


@dataclass(frozen=True)
class Asked:
    """What is asked of the log of one workspace; None and empty: whatever."""

    workspace: str
    action: str = ""
    actor: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def page(asked: Asked, after: str, size: int) -> tuple[list[Entry], str]:
    """So many entries after a cursor (empty: from the latest), and the cursor of the next page (empty: none).

    ValueError for a cursor that is not one.
    """
    found = list(_after(_entries(asked), after)[: size + 1])
    more = len(found) > size
    return found[:size], _cursor(found[size - 1]) if more else ""


def batches(asked: Asked, most: int) -> Iterator[list[Entry]]:
    """The entries in lists, at most so many in all."""
    after, left = "", most
    while left > 0:
        found, after = page(asked, after, min(AT_ONCE, left))
        if found:
            yield found
        left -= len(found)
        if not after:
            return


def accounts(entries: Iterable[Entry]) -> dict[int, Any]:
    """The accounts there still are that the entries name, by their numbers."""
    named = {entry.actor for entry in entries if entry.actor is not None}
    named |= {number for entry in entries if (number := account_in(entry.target)) is not None}
    return {user.pk: user for user in get_user_model().objects.filter(pk__in=named)}


def account_in(target: str) -> int | None:
    """The account that an entry is about, as `account 7` names it."""
    number = target.removeprefix(ACCOUNT)
    return int(number) if number != target and number.isdecimal() else None


def purge(days: int) -> int:
    """Delete what is older than it is kept; returns how many entries."""
    deleted, _by_model = Entry.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()
    return deleted


def _entries(asked: Asked) -> QuerySet[Entry]:
    found = Entry.objects.filter(workspace=asked.workspace)
    if asked.action:
        found = found.filter(action__in=[asked.action, FORMER.get(asked.action, asked.action)])
    if asked.actor is not None:
        found = found.filter(actor=asked.actor)
    if asked.since:
        found = found.filter(at__gte=asked.since)
    if asked.until:
        found = found.filter(at__lte=asked.until)
    return found.order_by("-at", "-pk")


def _cursor(entry: Entry) -> str:
    return f"{(entry.at - EPOCH) // MICROSECOND}_{entry.pk}"


def _after(found: QuerySet[Entry], cursor: str) -> QuerySet[Entry]:
    if not cursor:
        return found
    parts = CURSOR.fullmatch(cursor)
    if parts is None:
        raise ValueError("no cursor")
    at, pk = EPOCH + int(parts[1]) * MICROSECOND, int(parts[2])
    # The last condition is the one that the index answers.
    return found.filter(Q(at__lt=at) | Q(pk__lt=pk), at__lte=at)
