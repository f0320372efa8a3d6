"""What is read of the past, for pages: who has been here, what moved their trust, what is not in the ledger
yet.

Rows as they lie in the authority's tables, over Django's own connection, page by page from a known place and
never counted beyond a bound. What holds at this very instant is asked of `current.py`, which settles it.
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

LOOKED = 500
"""Receipts waiting for the ledger that are looked at, the latest first: their table has no workspaces' index,
and is as good as empty unless the ledger is away."""
COUNTED = 10_000

# From one move to the one before it; a row at a time, however many there are.
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

Json = dict[str, Any]
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
        """Whether a release moved it, and not a lease that ran out. One that found the score at its end moved
        it by nothing: at the top only a release does."""
        return self.delta > 0 or (self.delta == 0 and self.score > 0)


@dataclass(frozen=True, slots=True)
class Pending:
    """A receipt that the ledger does not have yet: the bytes that are `signed` under `kid`, and what they
    say."""

    receipt_id: str
    kid: str
    signed: bytes
    claims: Json


def _answering(read: Callable[P, T]) -> Callable[P, T]:
    """Raises StorageFault when the database does not answer."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except Error as fault:
            raise StorageFault(str(fault)) from fault

    return reading


@_answering
def agents(workspace: str, after: str, limit: int) -> list[str]:
    """The DIDs of those that have acquired or waited here, in their order, after that one."""
    known = AgentRow.objects.filter(workspace=workspace, did__gt=after)
    return list(known.order_by("workspace", "did").values_list("did", flat=True)[:limit])


@_answering
def moves(workspace: str, agent: str, before: int | None, limit: int) -> list[Move]:
    """What moved an agent's trust, the latest first, before that one."""
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
    """The receipts of a workspace that wait for the ledger, the latest first, among the latest of all."""
    rows = OutboxRow.objects.order_by("-pk")[:LOOKED]
    return [_pending(row) for row in rows if row.workspace == workspace]


@_answering
def pending_one(workspace: str, receipt_id: str) -> Pending | None:
    """A receipt of a workspace that waits for the ledger."""
    found = list(OutboxRow.objects.filter(receipt_id=receipt_id))  # one, or none
    return next((_pending(row) for row in found if row.workspace == workspace), None)


@_answering
def counts(workspace: str) -> dict[str, int]:
    """How many resources are held or waited for, leases, waits, known agents; no more than `COUNTED`."""
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
