"""Reads of the past, for pages: known agents, the moves of their trust, receipts that the ledger has not yet.

They read the rows of the authority's tables as they are, over Django's own connection, page by page, and
count only up to a limit. `current.py` reads what holds now, settled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import orjson
from django.db import Error, connections, router
from django.db.models import QuerySet

from coordination.models import AgentRow, LeaseRow, OutboxRow, TenantRow, TrustMoveRow, WaitRow
from coordination.storage.store import StorageFault
from intramedial.http.formats import Json

LOOKED = 500
"""How many receipts that wait for the ledger are read, latest first. Their table has no index by workspace;
it is nearly empty unless the ledger does not answer."""
COUNTED = 10_000
"""Up to which number rows are counted."""

# Each step goes from a move to the one before it by the primary key, so a page costs as many rows as it
# shows.
CHAIN = """
WITH RECURSIVE chain (id, delta, score, at, before, place) AS (
  SELECT id, delta, score, at, before, 1 FROM lease_trust_move
   WHERE lease_id = {start}
  UNION ALL
  SELECT move.id, move.delta, move.score, move.at, move.before, chain.place + 1
    FROM chain JOIN lease_trust_move AS move ON move.lease_id = chain.before
   WHERE chain.place < %(limit)s
)
SELECT place, id, delta, score, at FROM chain
"""
LATEST = "(SELECT moved_by FROM lease_agent WHERE workspace = %(workspace)s AND did = %(agent)s)"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Move:
    """One move of an agent's trust. `id` is its place among the agent's moves."""

    id: int
    at: datetime
    delta: Decimal
    score: Decimal

    @property
    def released(self) -> bool:
        """Whether a release made the move; otherwise a lease expired. A move of zero was made at one end of
        the scale: by a release at the top, by an expiry at the bottom."""
        return self.delta > 0 or (self.delta == 0 and self.score > 0)


@dataclass(frozen=True, slots=True)
class Pending:
    """A receipt that the ledger does not have yet: the bytes that are `signed` with the key `kid`, and the
    claims in them."""

    receipt_id: str
    kid: str
    signed: bytes
    claims: Json


def _answering(read: Callable[P, T]) -> Callable[P, T]:
    """The same function, which raises StorageFault when the database does not answer."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except Error as fault:
            raise StorageFault(str(fault)) from fault

    return reading


@_answering
def agents(workspace: str, after: str, limit: int) -> list[str]:
    """The DIDs of known agents in order, at most `limit`, after the DID `after`. Raises StorageFault."""
    known = AgentRow.objects.filter(workspace=workspace, did__gt=after)
    return list(known.order_by("workspace", "did").values_list("did", flat=True)[:limit])


@_answering
def moves(workspace: str, agent: str, before: int | None, limit: int) -> list[Move]:
    """The moves of an agent's trust, latest first, before the move with id `before`. Raises StorageFault."""
    given: dict[str, Any] = {"workspace": workspace, "agent": agent, "limit": limit}
    query = CHAIN.format(start=LATEST)
    if before is not None:
        shown = TrustMoveRow.objects.filter(pk=before).first()
        if shown is None or (shown.workspace, shown.agent) != (workspace, agent):
            return []
        query, given["start"] = CHAIN.format(start="%(start)s"), shown.before
    with connections[router.db_for_read(TrustMoveRow)].cursor() as cursor:
        cursor.execute(query, given)
        return [
            Move(number, _instant(at), Decimal(delta).scaleb(-1), Decimal(score).scaleb(-1))
            for _, number, delta, score, at in sorted(cursor.fetchall())
        ]


@_answering
def pending(workspace: str) -> list[Pending]:
    """A workspace's receipts among the `LOOKED` latest that wait for the ledger. Raises StorageFault."""
    rows = OutboxRow.objects.order_by("-pk")[:LOOKED]
    return [_pending(row) for row in rows if row.workspace == workspace]


@_answering
def pending_one(workspace: str, receipt_id: str) -> Pending | None:
    """A workspace's receipt of that id if it waits for the ledger. Raises StorageFault."""
    found = list(OutboxRow.objects.filter(receipt_id=receipt_id))  # one, or none
    return next((_pending(row) for row in found if row.workspace == workspace), None)


@_answering
def counts(workspace: str) -> dict[str, int]:
    """How many resources in use, leases, waits and known agents; each at most `COUNTED`. Raises
    StorageFault."""
    tenant = TenantRow.objects.filter(workspace=workspace).first()
    return {
        "resources": 0 if tenant is None else tenant.active,
        "leases": _count(LeaseRow.objects.filter(workspace=workspace)),
        "waits": _count(WaitRow.objects.filter(workspace=workspace)),
        "agents": _count(AgentRow.objects.filter(workspace=workspace)),
    }


def _count(rows: QuerySet[Any]) -> int:
    return int(rows.order_by()[:COUNTED].count())


def _pending(row: OutboxRow) -> Pending:
    signed = bytes(row.claims)
    return Pending(row.receipt_id, row.kid, signed, orjson.loads(signed))


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
