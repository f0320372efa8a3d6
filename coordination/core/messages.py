"""Commands in, outcomes and events out. A refusal is an outcome like any other, never an exception."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from .value import value

if TYPE_CHECKING:
    from .model import Lease, Mode


class Reason(StrEnum):
    """Why a lease or a release is refused."""

    LEASE_HELD = "lease_held"
    DEADLOCK = "deadlock"
    STALE_LEASE = "stale_lease"
    NOT_HELD = "not_held"


# --- commands -------------------------------------------------------------------------------------


@value
class Acquire:
    """Ask for `resource` (a base name) in `mode`. `lease_id` is the id to give to a new lease; the caller
    draws it, since the core has no randomness. `queue=False`: refuse rather than admit to the queue."""

    resource: str
    mode: Mode
    agent: str
    lease_id: str
    queue: bool = True


@value
class Release:
    resource: str
    agent: str
    lease_id: str | None = None


@value
class Withdraw:
    """Leave the queue of `resource`, and its list of deadlocks."""

    resource: str
    agent: str


@value
class Revoke:
    """End a lease before its time, without a trust move: somebody with the right to do so asks."""

    resource: str
    lease_id: str


@value
class ReturnUndelivered:
    """End a lease without a trust move: no caller received its grant.

    It stays if it no longer ends at `expires_at`: the renewal, through whatever process, was received.
    """

    resource: str
    lease_id: str
    expires_at: int


Command = Acquire | Release | Withdraw | Revoke | ReturnUndelivered


# --- outcomes -------------------------------------------------------------------------------------


@value
class Granted:
    resource: str
    lease: Lease
    renewed: bool = False


@value
class Held:
    """Refused, `lease_held`. `holders` is empty under offer, when `holder` is the first agent offered to.
    `position` (from 1) and `kept_until` are None for a caller that is not queued."""

    holder: str
    holders: tuple[str, ...]
    offered: bool
    expires_at: int | None
    position: int | None
    kept_until: int | None
    admitted: int
    wait_ms: int
    reason: Reason = Reason.LEASE_HELD


class Step(NamedTuple):
    """One agent of a cycle and the resource it waits for. A cycle may have ten thousand."""

    agent: str
    waits_for: str


@value
class Deadlock:
    """Refused, `deadlock`: `cycle` starts with the caller; `holder` is its second agent."""

    holder: str
    waiting_on: str
    cycle: tuple[Step, ...]
    reason: Reason = Reason.DEADLOCK


@value
class LimitReached:
    """Refused: the workspace holds or waits for as many resources as it may at once."""

    limit: int


@value
class Released:
    lease_id: str
    resource: str
    token: int
    trust: Decimal
    delta: Decimal


@value
class NotReleased:
    """Refused, `stale_lease` or `not_held`; `holder` is another agent that holds it, if one does."""

    reason: Reason
    holder: str | None = None


@value
class Withdrawn:
    withdrawn: bool


@value
class Ended:
    """Of `Revoke` and `ReturnUndelivered`: whether the lease was there and has ended."""

    ended: bool


Outcome = Granted | Held | Deadlock | LimitReached | Released | NotReleased | Withdrawn | Ended


# --- events ---------------------------------------------------------------------------------------


class Kind(StrEnum):
    """What happened, in the past tense."""

    GRANTED = "granted"
    RENEWED = "renewed"
    RELEASED = "released"
    EXPIRED = "expired"
    QUEUED = "queued"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"
    OFFERED = "offered"
    DEADLOCK = "deadlock"


@value
class TrustMove:
    """How far an agent's score really moved, and where it stands now. `before`: the lease whose end moved it
    the time before."""

    score: Decimal
    delta: Decimal
    before: str | None = None


@value
class Event:
    """`lease` for granted, renewed, released, expired; `mode` for queued, `until` for queued and offered;
    `deadlock` for deadlock; `trust` where a score moved; `outage` on an expiry that cost nothing because the
    authority itself was away."""

    kind: Kind
    at: int
    resource: str
    agent: str
    lease: Lease | None = None
    mode: Mode | None = None
    until: int | None = None
    deadlock: Deadlock | None = None
    trust: TrustMove | None = None
    outage: bool = False
