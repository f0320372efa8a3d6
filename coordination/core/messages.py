"""What goes into the core (commands) and what comes out (outcomes, events). A refusal is an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from .model import value

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
    """Ask for `resource` (a base name) in `mode`. `lease_id` is the id of a new lease; the caller
    draws it, since the core has no randomness. With `queue=False` the agent is refused and not queued."""

    resource: str
    mode: Mode
    agent: str
    lease_id: str
    queue: bool = True


@value
class Release:
    """End the lease of `agent` on `resource`; with `lease_id` only if it is that lease."""

    resource: str
    agent: str
    lease_id: str | None = None


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Leave the queue of `resource`, and its list of deadlocks."""

    resource: str
    agent: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """End a lease before it expires, without a trust move. The caller has checked the right to do so."""

    resource: str
    lease_id: str


@dataclass(frozen=True, slots=True)
class ReturnUndelivered:
    """End a lease without a trust move, because no caller received its grant.

    The lease stays if it no longer ends at `expires_at`: then it was renewed, through this process or
    another, and that answer was received.
    """

    resource: str
    lease_id: str
    expires_at: int


Command = Acquire | Release | Withdraw | Revoke | ReturnUndelivered


# --- outcomes -------------------------------------------------------------------------------------


@value
class Granted:
    """The agent has the lease; `renewed`: it had it before."""

    resource: str
    lease: Lease
    renewed: bool = False


@value
class Held:
    """Refused, `lease_held`. Under offer `holders` is empty, and `holder` is the first agent with an offer.
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
    """One agent of a cycle and the resource it waits for. A cycle may have thousands."""

    agent: str
    waits_for: str


@dataclass(frozen=True, slots=True)
class Deadlock:
    """Refused, `deadlock`: `cycle` starts with the caller; `holder` is its second agent."""

    holder: str
    waiting_on: str
    cycle: tuple[Step, ...]
    reason: Reason = Reason.DEADLOCK


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Refused: the workspace holds or waits for as many resources as it may at once."""

    limit: int


@value
class Released:
    """The lease has ended. `trust` is the agent's score after that, and `delta` by how much it moved."""

    lease_id: str
    resource: str
    token: int
    trust: Decimal
    delta: Decimal


@dataclass(frozen=True, slots=True)
class NotReleased:
    """Refused, `stale_lease` or `not_held`; `holder` is another agent that holds it, if one does."""

    reason: Reason
    holder: str | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Whether the agent was in the queue or in the list of deadlocks; it is in neither now."""

    withdrawn: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of `Revoke` and `ReturnUndelivered`: whether there was such a lease, which has ended
    now."""

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
    """A move of an agent's score: the score after it, and by how much it moved, which the bounds may have
    cut. `before` is the lease whose end moved it the time before."""

    score: Decimal
    delta: Decimal
    before: str | None = None


@value
class Event:
    """`lease` is set for granted, renewed, released and expired, `mode` and `until` for queued and offered,
    `deadlock` for deadlock, `trust` where a score moved. `outage`: an expiry that costs no trust, because the
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
