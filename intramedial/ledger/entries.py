"""Reads the ledger for pages: a workspace's entries, the latest first, or one of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import Error

from intramedial.ledger.models import Entry
from intramedial.receipts.receipt import claims_of, header_of

WINDOW = 2_000
"""How many entries a filter reads for one page. It filters by claims of receipts, for which there is no
index."""
DAYS_WINDOW = 5_000
"""How many entries `instants` reads."""


class LedgerAway(Exception):
    """The ledger's database does not answer."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry with the claims of its receipt."""

    index: int
    receipt_id: str
    appended_at: datetime
    jws: str
    claims: dict[str, Any]

    @property
    def kid(self) -> str:
        """The thumbprint of the key that signed it."""
        return str(header_of(self.jws).get("kid", ""))


@dataclass(frozen=True, slots=True)
class Page:
    """A page of entries. `looked` is how many entries were read, `next` the index before which the next page
    begins, or None at the end."""

    found: list[Recorded]
    looked: int
    next: int | None


def page(
    workspace: str, before: int | None, limit: int, wanted: Callable[[dict[str, Any]], bool] | None = None
) -> Page:
    """Up to `limit` entries whose claims are `wanted`, the latest first, before the index `before`.

    Raises LedgerAway.
    """
    found: list[Recorded] = []
    looked, last = 0, None
    for entry in _entries(workspace, before, WINDOW if wanted else limit + 1):
        if len(found) == limit:
            return Page(found, looked, last)
        looked, last = looked + 1, entry.index
        if wanted is None or wanted(entry.claims):
            found.append(entry)
    return Page(found, looked, last if wanted and looked == WINDOW else None)


def one(workspace: str, receipt_id: str) -> Recorded | None:
    """The entry of a receipt, or None if that workspace has none. Raises LedgerAway."""
    try:
        found = list(Entry.objects.filter(receipt_id=receipt_id).order_by())  # one, or none
    except Error as fault:
        raise LedgerAway(str(fault)) from fault
    return next((_recorded(row) for row in found if row.workspace == workspace), None)


def instants(workspace: str) -> list[datetime]:
    """When the latest entries of a workspace were appended, at most `DAYS_WINDOW` of them. Raises
    LedgerAway."""
    try:
        latest = Entry.objects.filter(workspace=workspace).order_by("-workspace", "-index")
        return list(latest.values_list("appended_at", flat=True)[:DAYS_WINDOW])
    except Error as fault:
        raise LedgerAway(str(fault)) from fault


def _entries(workspace: str, before: int | None, many: int) -> Iterator[Recorded]:
    try:
        rows = Entry.objects.filter(workspace=workspace)
        if before is not None:
            rows = rows.filter(index__lt=before)
        for row in rows.order_by("-workspace", "-index")[:many].iterator(200):
            yield _recorded(row)
    except Error as fault:
        raise LedgerAway(str(fault)) from fault


def _recorded(row: Entry) -> Recorded:
    return Recorded(row.index, row.receipt_id, row.appended_at, row.leaf, claims_of(row.leaf))
