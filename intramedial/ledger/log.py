"""Appending to the ledger."""

from collections.abc import Iterator, Sequence

from django.db import Error, connections, router, transaction
from django.db.models import Max
from django.utils import timezone

from intramedial.ledger.models import Entry

Leaf = tuple[str, str, str]
"""``(receipt id, workspace id, the receipt's compact JWS)``."""

# Values in one statement stay below SQLite's oldest limit of 999 variables.
_CHUNK = 150

# Any constant of the service's own: the key of the one PostgreSQL advisory lock that appends hold.
_LOCK = 0x1EDC_E4A0_0001


def append(leaves: Sequence[Leaf]) -> int:
    """Append what is not there yet, in the order given; returns how many that were.

    A receipt already in the log is left out, so that repeating a batch whose outcome is unknown does no harm.
    All or nothing, durable when it returns; indexes are given out under one lock, so they have no gaps.
    Raises ``django.db.Error`` when the database refuses or is away: try again later.
    """
    alias = router.db_for_write(Entry)
    try:
        with transaction.atomic(using=alias, durable=True):
            _lock(alias)
            fresh = list(_fresh(leaves))
            last = Entry.objects.using(alias).aggregate(last=Max("index"))["last"]
            first = 0 if last is None else last + 1
            now = timezone.now()
            Entry.objects.using(alias).bulk_create(
                (
                    Entry(
                        index=first + at,
                        receipt_id=receipt_id,
                        workspace=workspace,
                        leaf=leaf,
                        appended_at=now,
                    )
                    for at, (receipt_id, workspace, leaf) in enumerate(fresh)
                ),
                batch_size=_CHUNK,
            )
    except Error:
        # The next attempt begins with a connection of its own, should this one be what failed.
        connections[alias].close()
        raise
    return len(fresh)


def close() -> None:
    """Give this thread's connection back: a thread that appended calls this before it ends."""
    connections[router.db_for_write(Entry)].close()


def _lock(alias: str) -> None:
    """Keep every other appender out until the transaction ends.

    On PostgreSQL by an advisory lock, taken before the first read. On SQLite the transaction itself does it:
    the settings begin it as IMMEDIATE, which lets one writer in.
    """
    connection = connections[alias]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _fresh(leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """The leaves whose receipt is neither in the log nor twice in the batch."""
    seen: set[str] = set()
    for start in range(0, len(leaves), _CHUNK):
        ids = [receipt_id for receipt_id, _, _ in leaves[start : start + _CHUNK]]
        seen.update(Entry.objects.filter(receipt_id__in=ids).values_list("receipt_id", flat=True))
    for leaf in leaves:
        if leaf[0] not in seen:
            seen.add(leaf[0])
            yield leaf
