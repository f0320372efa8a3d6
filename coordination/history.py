"""What is read of the past, for pages: who has been here, what moved their trust, what is not in the ledger
yet.

Rows as they lie in the authority's tables, over Django's own connection, page by page from a known place and
never counted beyond a bound. What holds at this very instant is asked of `queries.py`, which settles it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import orjson
from django.db import Error
from django.db.models import QuerySet

from .models import AgentRow, LeaseRow, OutboxRow, TenantRow, TrustMoveRow, WaitRow
from .store import StorageFault

LOOKED = 500
"""Receipts waiting for the ledger that are looked at, the latest first: their table has no workspaces' index,
and is as good as empty unless the ledger is away."""
COUNTED = 10_000

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
    found = TrustMoveRow.objects.filter(workspace=workspace, agent=agent)
    if before is not None:
        found = found.filter(id__lt=before)
    return [
        Move(row.pk, _instant(row.at), Decimal(row.delta).scaleb(-1), Decimal(row.score).scaleb(-1))
        for row in found.order_by("-workspace", "-agent", "-id")[:limit]
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
