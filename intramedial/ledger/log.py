"""Appending to the ledger."""

import json
from collections.abc import Sequence

from django.db import Error, connections, router, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from intramedial.ledger.models import Entry

Leaf = tuple[str, str, str]
"""``(receipt id, workspace id, the receipt's compact JWS)``."""

# Rows come by the thousand and in the server's own process, so they go past the ORM.
_LAST = 'SELECT max("index") FROM ledger_entry'
_KNOWN_SQLITE = "SELECT receipt_id FROM ledger_entry WHERE receipt_id IN (SELECT value FROM json_each(%s))"
_KNOWN_POSTGRESQL = "SELECT receipt_id FROM ledger_entry WHERE receipt_id = ANY(%s)"
_INSERT = (
    'INSERT INTO ledger_entry ("index", receipt_id, workspace, leaf, appended_at) VALUES (%s, %s, %s, %s, %s)'
)

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
        with transaction.atomic(using=alias, durable=True), connections[alias].cursor() as cursor:
            _lock(cursor)
            fresh = _fresh(cursor, leaves)
            cursor.execute(_LAST)
            (last,) = cursor.fetchone()
            first = 0 if last is None else last + 1
            now = connections[alias].ops.adapt_datetimefield_value(timezone.now())
            cursor.executemany(_INSERT, [(first + at, *leaf, now) for at, leaf in enumerate(fresh)])
    except Error:
        # The next attempt begins with a connection of its own, should this one be what failed.
        connections[alias].close()
        raise
    return len(fresh)


def close() -> None:
    """Give this thread's connection back: a thread that appended calls this before it ends."""
    connections[router.db_for_write(Entry)].close()


def _lock(cursor: CursorWrapper) -> None:
    """Keep every other appender out until the transaction ends.

    On PostgreSQL by an advisory lock, taken before the first read. On SQLite the transaction itself does it:
    the settings begin it as IMMEDIATE, which lets one writer in.
    """
    if cursor.db.vendor == "postgresql":
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _fresh(cursor: CursorWrapper, leaves: Sequence[Leaf]) -> list[Leaf]:
    """The leaves whose receipt is neither in the log nor twice in the batch."""
    by_id: dict[str, Leaf] = {}
    for leaf in leaves:
        by_id.setdefault(leaf[0], leaf)
    ids = list(by_id)
    if cursor.db.vendor == "postgresql":
        cursor.execute(_KNOWN_POSTGRESQL, [ids])
    else:
        cursor.execute(_KNOWN_SQLITE, [json.dumps(ids)])
    known = {receipt_id for (receipt_id,) in cursor.fetchall()}
    return [leaf for receipt_id, leaf in by_id.items() if receipt_id not in known]


def newest(limit: int) -> list[str]:
    """The JWS of the last entries, the newest first. Raises ``django.db.Error``."""
    entries = Entry.objects.order_by("-index").values_list("leaf", flat=True)
    return list(entries[:limit])
