"""Appends receipts to the ledger, and drops what the entries of a deleted workspace hold."""

import hashlib
import json
import threading
from collections.abc import Sequence

from django.db import Error, OperationalError, connections, router, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from intramedial import databases
from intramedial.databases import disk
from intramedial.ledger.models import Entry

Leaf = tuple[str, str, str]
"""``(receipt id, workspace id, the receipt's compact JWS)``."""

# Thousands of rows come at once, in the server's own process, so they are written without the ORM.
_LAST = 'SELECT max("index") FROM ledger_entry'
_KNOWN_SQLITE = "SELECT receipt_id FROM ledger_entry WHERE receipt_id IN (SELECT value FROM json_each(%s))"
_KNOWN_POSTGRESQL = "SELECT receipt_id FROM ledger_entry WHERE receipt_id = ANY(%s)"
_INSERT = (
    'INSERT INTO ledger_entry ("index", receipt_id, workspace, leaf, appended_at) VALUES (%s, %s, %s, %s, %s)'
)

# The key of the PostgreSQL advisory lock that appends hold. Any constant does that nothing else uses.
_LOCK = 0x1EDC_E4A0_0001

AT_ONCE = 200
"""How many entries one step of dropping contents changes, so that an append waits only for one step."""

_opened = threading.local()
"""`file` is the file that this thread's connection has open."""
_known: dict[tuple[str, ...], int] = {}
"""How many entries this process has seen in each database. The number never falls."""


def append(leaves: Sequence[Leaf]) -> int:
    """Append the leaves that are not in the log yet, in this order, and return how many these were.

    A receipt that is already in the log is left out, so a batch whose outcome is unknown can be repeated. It
    appends all or none, and they are durable when it returns. Indexes are taken under one lock, so they have
    no gaps. Raises ``django.db.Error`` if the database refuses or does not answer, if its file was deleted or
    replaced, or if it has fewer entries than this process has seen. The caller tries again later.
    """
    alias = router.db_for_write(Entry)
    try:
        _check_room(alias)
        _check_file(alias)
        with transaction.atomic(using=alias, durable=True), connections[alias].cursor() as cursor:
            _lock(cursor)
            fresh = _fresh(cursor, leaves)
            first = _size(cursor)
            now = connections[alias].ops.adapt_datetimefield_value(timezone.now())
            cursor.executemany(_INSERT, [(first + at, *leaf, now) for at, leaf in enumerate(fresh)])
        # Checked again, since entries in a file that was deleted meanwhile are lost.
        _check_file(alias)
        _known[databases.identity(connections[alias].settings_dict)] = first + len(fresh)
    except Error:
        # The next attempt opens a new connection, in case this one failed.
        connections[alias].close()
        raise
    return len(fresh)


def check() -> None:
    """Raise ``django.db.Error`` unless the ledger can be read and has all entries that this process has seen.

    It opens a new connection, so that it reads the file that is there now.
    """
    alias = router.db_for_write(Entry)
    try:
        databases.file_now(alias)
        with connections[alias].cursor() as cursor:
            _size(cursor)
    finally:
        connections[alias].close()


def drop_contents(workspace: str) -> int:
    """Drop the receipts of a workspace's entries, and return how many. Each entry keeps its index, its
    receipt's id and its leaf's hash, a seventh of its size. Raises ``django.db.Error``: what it has dropped
    by then stays dropped.
    """
    dropped = 0
    entries = Entry.objects.filter(workspace=workspace).exclude(leaf="").order_by("workspace", "index")
    while rows := list(entries[:AT_ONCE]):
        for entry in rows:
            entry.leaf_hash, entry.leaf = leaf_hash(entry.leaf), ""
        Entry.objects.bulk_update(rows, ["leaf_hash", "leaf"])
        dropped += len(rows)
    return dropped


def leaf_hash(leaf: str) -> bytes:
    """The hash of a leaf in a Merkle tree (RFC 6962, section 2.1)."""
    return hashlib.sha256(b"\0" + leaf.encode()).digest()


def close() -> None:
    """Close this thread's connection. A thread that has appended calls this before it ends."""
    connections[router.db_for_write(Entry)].close()


def forget() -> None:
    """Forget how many entries this process has seen."""
    _known.clear()


def _check_room(alias: str) -> None:
    """Raise OperationalError if the ledger is a file on a disk whose last room is kept for leases."""
    if databases.is_file(alias) and disk.low():
        raise OperationalError("the disk is nearly full, and what is left of it is kept for leases")


def _check_file(alias: str) -> None:
    """Raise OperationalError unless this thread's connection has open, or will open, the file that is there
    now."""
    there = databases.file_now(alias)
    if connections[alias].connection is None:
        _opened.file = there
    elif there != getattr(_opened, "file", there):
        raise OperationalError("the ledger's file was replaced by another")


def _size(cursor: CursorWrapper) -> int:
    """The number of entries. OperationalError if there were more before: no index may be used twice."""
    cursor.execute(_LAST)
    (last,) = cursor.fetchone()
    size = 0 if last is None else int(last) + 1
    known = _known.get(databases.identity(cursor.db.settings_dict), 0)
    if size < known:
        raise OperationalError(
            f"the ledger has {size} entries and had {known}: an older copy took its place. Put the newer one "
            "back; or restart the servers to go on from the older one, without the entries between"
        )
    return size


def _lock(cursor: CursorWrapper) -> None:
    """Let no other thread or process append until the transaction ends.

    On PostgreSQL an advisory lock does that, taken before the first read. On SQLite the transaction itself
    does it: by the settings it is IMMEDIATE, which allows one writer.
    """
    if cursor.db.vendor == "postgresql":
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _fresh(cursor: CursorWrapper, leaves: Sequence[Leaf]) -> list[Leaf]:
    """The leaves whose receipts are not in the log yet, each once."""
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
