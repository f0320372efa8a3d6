"""The shapes of requests and answers. They validate requests, and they describe answers in OpenAPI.

`coordination.wire.serialize` writes the answers. A test validates them with these shapes.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo

from coordination.api.examples import EXAMPLES
from coordination.core.model import Mode
from coordination.core.names import MAX_NAME, parse_resource
from intramedial.http.shapes import Absent, Instant, Receipt, Shape, example
from intramedial.identity.did import Did

MAX_PAGE = 500
MAX_LEASE_ID = 256
MAX_CURSOR = 2048


class Requested(NamedTuple):
    """A resource as a request names it: its base name, and the mode that follows from its suffix."""

    name: str
    mode: Mode


def _requested(given: object, info: ValidationInfo) -> Requested:
    """Parse a resource by the semantic classes of the workspace, which are the context of the validation."""
    if not isinstance(given, str):
        raise ValueError("must be a text")
    return Requested(*parse_resource(given, info.context))


def _digits(value: object) -> object:
    # Pydantic would take `1e2`, ` 5` and `1_0` in a query for numbers.
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) <= 9):
            raise ValueError("must be a whole number")
        return int(value)
    return value


RequestedResource = Annotated[
    Requested,
    PlainValidator(_requested, json_schema_input_type=str),
    Field(
        description="`class:name`, then optionally `#read`, `#write` (the default) or `#delete`. Reads share "
        "in the classes `doc`, `file`, `data` and `config`, unless the workspace says otherwise; all else is "
        "exclusive. 1 to 256 characters after NFC, no control, bidirectional-override or zero-width "
        "characters, no white space at either end; a `#` of the name itself is written `%23`.",
        examples=["lock:deploy/production"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_NAME},
    ),
]
Name = Annotated[str, Field(description="The base name, without `#…`.", examples=["lock:deploy/production"])]
LeaseId = Annotated[str, Field(examples=["lse_2Jm7vQx8sT"])]
Score = Annotated[float, Field(ge=0, le=100, description="0.0 … 100.0, exact to one decimal.")]


# --- requests ---------------------------------------------------------------------------------------------


class LeaseRequest(Shape):
    """Unknown members are ignored; above all, no caller chooses how long a lease lasts (`ttlMs`)."""

    model_config = example(EXAMPLES["LeaseRequest"])

    resource: RequestedResource
    actor_did: Did


class ReleaseRequest(Shape):
    """With a `leaseId`, only that very lease is released; without it, whatever the agent holds there."""

    model_config = example(EXAMPLES["ReleaseRequest"])

    resource: RequestedResource
    actor_did: Did
    lease_id: Annotated[str, Field(max_length=MAX_LEASE_ID)] = Absent(
        description="The lease's id as it was answered."
    )


class WaitQuery(Shape):
    """Of one resource, or of all; pages go by resource, whole queues at a time."""

    resource: RequestedResource = Absent(description="Only this resource; `#` is written `%23` in a query.")
    limit: Annotated[int, BeforeValidator(_digits)] = Field(
        default=MAX_PAGE, ge=1, le=MAX_PAGE, description="Resources a page."
    )
    cursor: Annotated[str, Field(max_length=MAX_CURSOR)] = Absent(
        description="`nextCursor` of the page before, as it was given. Any other value is refused."
    )


class WithdrawQuery(Shape):
    """Whose place in which queue."""

    resource: RequestedResource
    actor_did: Did


class AgentQuery(Shape):
    """Which agent. A query parameter, since a DID in a path would be decoded on the way."""

    did: Did


# --- answers: lease ----------------------------------------------------------------------------------------


class Lease(Shape):
    """A lease held. `fencingToken` rises with every grant of the resource and never goes back."""

    lease_id: LeaseId = Field(description="Shown to its holder only.")
    resource: Name
    holder: Did
    mode: Mode
    fencing_token: int = Field(ge=1, description="Hand it to the protected system, which refuses lower ones.")
    acquired_at: Instant
    expires_at: Instant
    ttl_ms: int
    renewed: bool = Field(description="True when the agent held it already: same id, same token, new end.")


class LeaseGranted(Shape):
    """The agent holds the resource until `expiresAt`."""

    model_config = example(EXAMPLES["LeaseGranted"])

    ok: Literal[True]
    lease: Lease
    receipt: Receipt | None = Field(description="null should signing ever fail: the lease stands.")


class Stampede(Shape):
    """How not to run over one another."""

    admitted: int = Field(ge=0, description="Waits in the queue now.")
    wait_ms: int = Field(ge=0, description="Ask again after this long: min(800, 25 · 2^n), n waits ahead.")


class LeaseHeld(Shape):
    """Refused: another agent holds the resource, waits ahead, or is being offered it."""

    model_config = example(EXAMPLES["LeaseHeld"])

    ok: Literal[False]
    reason: Literal["lease_held"]
    resource: Name
    holder: Did
    holders: list[Did]
    offered: bool = Field(description="True when nobody holds it and `holder` is the first it is offered to.")
    expires_at: Instant = Absent(description="When the last of the holders' leases ends; absent under offer.")
    queued: bool
    position: int = Absent(ge=1, description="The caller's place in the queue, if it has one.")
    kept_until: Instant = Absent(description="How long the place lasts without asking again.")
    stampede: Stampede
    receipt: Receipt | None


class Step(Shape):
    """An agent of a cycle, and the resource it waits for."""

    agent: Did
    waits_for: Name


class Deadlock(Shape):
    """Refused and not queued: waiting would have closed a cycle. Release something first."""

    model_config = example(EXAMPLES["Deadlock"])

    ok: Literal[False]
    reason: Literal["deadlock"]
    resource: Name
    holder: Did
    waiting_on: Name = Field(description="What `holder` itself waits for.")
    cycle: list[Step] = Field(description="The whole chain, the caller first.")
    receipt: Receipt | None


# --- answers: release, withdraw ----------------------------------------------------------------------------


class ReleasedLease(Shape):
    """The lease that ended."""

    lease_id: LeaseId
    resource: Name
    fencing_token: int


class TrustMove(Shape):
    """The agent's score, and how far it really moved."""

    score: Score
    delta: float


class LeaseReleased(Shape):
    """The lease has ended; the next waiter is offered the resource."""

    model_config = example(EXAMPLES["LeaseReleased"])

    ok: Literal[True]
    released: ReleasedLease
    trust: TrustMove
    receipt: Receipt | None


class NotReleased(Shape):
    """Refused, and nothing has changed."""

    model_config = example(EXAMPLES["NotReleased"])

    ok: Literal[False]
    reason: Literal["stale_lease", "not_held"]
    resource: Name
    holder: Did = Absent(description="Another agent that holds it, if one does.")
    receipt: Receipt | None


class Withdrawn(Shape):
    """Whether there was a place in the queue, or a remembered deadlock, to give up."""

    model_config = example(EXAMPLES["Withdrawn"])

    ok: Literal[True]
    withdrawn: bool


# --- answers: wait, agents ---------------------------------------------------------------------------------


class Holding(Shape):
    """Who holds what, and until when."""

    resource: Name
    holder: Did
    mode: Mode
    acquired_at: Instant
    expires_at: Instant
    fencing_token: int


class Waiting(Shape):
    """A place in a queue."""

    resource: Name
    actor_did: Did
    mode: Mode
    position: int = Field(ge=1)
    wait_ms: int = Field(ge=0)
    since: Instant
    offered_until: Instant = Absent(description="The resource is kept for this agent until then.")


class DeadlockPair(Shape):
    """A refused request that would still close a cycle."""

    agents: list[Did] = Field(min_length=2, max_length=2, description="The refused one, then whom it met.")
    resources: list[Name] = Field(min_length=2, max_length=2, description="What each of them waits for.")
    cycle: list[Step]
    at: Instant


class Picture(Shape):
    """Holders, queues in order and deadlocks, at `serverTime`."""

    model_config = example(EXAMPLES["Picture"])

    ok: Literal[True]
    server_time: Instant
    holders: list[Holding]
    queue: list[Waiting]
    deadlocks: list[DeadlockPair]
    next_cursor: str = Absent(description="Opaque. Ask with it for the next page; absent on the last.")


class Trust(Shape):
    """What an agent's conduct has made of it."""

    score: Score
    releases: int = Field(ge=0)
    expiries: int = Field(ge=0)


class Agent(Shape):
    """An agent that has acquired or waited in this workspace."""

    model_config = example(EXAMPLES["Agent"])

    did: Did
    trust: Trust
    holds: list[Holding]
    waits: list[Waiting]
