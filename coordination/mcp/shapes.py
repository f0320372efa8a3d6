"""What the tools are asked and, where REST has no such answer, what they say."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from coordination.api.schemas import LeaseRequest, Name, RequestedResource
from coordination.core.model import Mode
from intramedial.http.shapes import Absent, Instant, Shape
from intramedial.identity.did import Did

OwnDid = Annotated[
    Did,
    Field(
        description="Your own DID, the one you always go by, never another agent's. If nobody gave you one, "
        "ask whoever runs you; with a key of the whole workspace any well-formed DID will do, such as "
        "did:web:<domain>:agents:<name>."
    ),
]


CLOSED = ConfigDict(extra="forbid")
"""Of a tool that refuses unknown arguments, as REST does in a query. In a body REST ignores them."""


class AcquireArguments(LeaseRequest):
    """The resource that you want, and who you are."""

    actor_did: OwnDid
    ttl_ms: Any = Absent(
        description="Accepted and dropped: nobody chooses how long a lease lasts. To keep it, acquire again.",
        json_schema_extra={"type": "integer"},
    )


class OwnArguments(Shape):
    """The resource that you have or wait for, and who you are."""

    resource: RequestedResource
    actor_did: OwnDid


class StandingArguments(OwnArguments):
    """The resource that you have or wait for, and who you are."""

    # REST takes these by a query, where an unknown parameter is refused.
    model_config = CLOSED


class WaitArguments(Shape):
    """What to look at."""

    # With a misspelt `resource` ignored, the answer would be the whole workspace.
    model_config = CLOSED

    resource: RequestedResource = Absent(description="Only this resource. Without it, the whole workspace.")


class Ahead(Shape):
    """An agent that comes before the caller: a holder whose lease is in the way, or an earlier waiter."""

    actor_did: Did
    holds: bool = Field(description="True: it holds the resource. False: it waits, in front of you.")
    mode: Mode
    expires_at: Instant = Absent(description="When its lease ends at the latest, if it holds one.")


class Status(Shape):
    """Where the caller stands with one resource."""

    ok: Literal[True]
    server_time: Instant
    resource: Name
    actor_did: Did
    holds: bool
    mode: Mode = Absent(description="Of the lease you hold; else the one you wait for.")
    fencing_token: int = Absent(description="Of the lease you hold.")
    expires_at: Instant = Absent(description="When your lease ends unless you acquire again.")
    remaining_ms: int = Absent(description="From `serverTime` to `expiresAt`.")
    queued: bool
    position: int = Absent(ge=1, description="Your place in the queue; 1 is next.")
    wait_ms: int = Absent(ge=0, description="Acquire again after this long, not sooner.")
    offered_until: Instant = Absent(description="The resource is kept for you until then: acquire it now.")
    ahead: list[Ahead] = Field(description="Who comes before you, in order; nobody if you hold it.")
