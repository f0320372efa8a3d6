"""What the tools do: validated arguments in, the body of the answer out, the same that REST answers."""

from datetime import datetime

import orjson

from coordination.api import service
from coordination.core.messages import Acquire, Release, Withdraw
from coordination.mcp.schemas import AcquireArguments, OwnArguments, StandingArguments, WaitArguments
from coordination.read import current
from coordination.wire.ids import new_lease_id
from intramedial.http.calls import Call
from intramedial.http.formats import Json

PAGE = 100
"""Resources in one picture. REST has more on a page and further pages; a model has to read all that it
gets."""


async def acquire(call: Call, asked: AcquireArguments) -> Json:
    """Grant, renew or refuse. Raises Problem."""
    resource, mode = asked.resource
    return await _decide(call, Acquire(resource, mode, asked.actor_did, new_lease_id()))


async def release(call: Call, asked: OwnArguments) -> Json:
    """End the lease that the agent holds on the resource. Raises Problem."""
    resource, _ = asked.resource
    return await _decide(call, Release(resource, asked.actor_did))


async def withdraw(call: Call, asked: StandingArguments) -> Json:
    """Give up the agent's place in the queue. Raises Problem."""
    resource, _ = asked.resource
    return await _decide(call, Withdraw(resource, asked.actor_did))


async def wait(call: Call, asked: WaitArguments) -> Json:
    """The live picture of one resource or of the workspace. Raises Problem."""
    return await _picture(call, asked.resource[0] if asked.resource is not None else None)


async def status(call: Call, asked: StandingArguments) -> Json:
    """Where the agent stands with one resource. Raises Problem."""
    call.caller.require_actor(asked.actor_did)
    resource, _ = asked.resource
    return standing(await _picture(call, resource), resource, asked.actor_did)


def standing(picture: Json, resource: str, agent: str) -> Json:
    """The part of a picture of `resource` that concerns `agent`: a body of the shape `Status`."""
    own = next((lease for lease in picture["holders"] if lease["holder"] == agent), None)
    waits = picture["queue"]
    place = next((at for at, wait in enumerate(waits) if wait["actorDid"] == agent), None)
    status: Json = {
        "ok": True,
        "serverTime": picture["serverTime"],
        "resource": resource,
        "actorDid": agent,
        "holds": own is not None,
    }
    if own is not None:
        status |= {name: own[name] for name in ("mode", "fencingToken", "expiresAt")}
        status["remainingMs"] = _ms_between(picture["serverTime"], own["expiresAt"])
    elif place is not None:
        status["mode"] = waits[place]["mode"]
    status["queued"] = place is not None
    if place is not None:
        wait = waits[place]
        status |= {name: wait[name] for name in ("position", "waitMs", "offeredUntil") if name in wait}
    settled = own is not None and place is None
    status["ahead"] = [] if settled else _ahead(picture["holders"], waits[:place], agent)
    return status


def _ahead(holders: list[Json], waits: list[Json], agent: str) -> list[Json]:
    held = [
        {"actorDid": lease["holder"], "holds": True, "mode": lease["mode"], "expiresAt": lease["expiresAt"]}
        for lease in holders
        if lease["holder"] != agent
    ]
    waiting = [{"actorDid": wait["actorDid"], "holds": False, "mode": wait["mode"]} for wait in waits]
    return held + waiting


def _ms_between(earlier: str, later: str) -> int:
    passed = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return round(passed.total_seconds() * 1000)


async def _decide(call: Call, command: service.AgentCommand) -> Json:
    call.caller.require_write()
    decided = await service.decide(call.caller, command, call.digest)
    body: Json = orjson.loads(decided.body)
    return body


async def _picture(call: Call, resource: str | None) -> Json:
    found = await service.read(current.picture(call.caller.workspace, resource, PAGE))
    assert found is not None  # a picture of nothing is empty, not missing
    return found
