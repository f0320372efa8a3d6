"""The stampede of fifty, which the server runs in a trial's workspace: one call, fifty agents, real
decisions.

A visitor cannot make fifty keys. So the server makes them for one run and gives the authority the commands of
each agent. The receipts have `scenario` as `auth`, since no agent signed a request. The authority's answers
go to the caller line by line, as they come.

A run needs no login, and one call makes a hundred grants and releases. So a run leaves nothing on the disk.
Its receipts are signed and go to the caller, who can verify them like any other, but not to the ledger. When
the run is over, the authority forgets its agents; their keys no longer exist.

Every agent behaves as a client should. It acquires; when it is refused it waits as long as the answer says,
and a random time longer, so that agents with the same answer do not come back together. When the resource is
granted it keeps it for a moment and releases it. A run ends by itself, whether or not its caller reads to the
end.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Literal

import orjson
from django.conf import settings
from nacl.signing import SigningKey
from ninja import Router

from coordination.api import schemas
from coordination.authority import process as authority
from coordination.authority.process import Ask, StorageFault
from coordination.core.messages import (
    Acquire,
    Command,
    Granted,
    Held,
    LimitReached,
    Outcome,
    Release,
    Withdraw,
)
from coordination.core.model import Mode
from coordination.wire.ids import new_lease_id
from intramedial.databases import disk
from intramedial.http.calls import LINES, Call, Reply
from intramedial.http.formats import Json
from intramedial.http.problems import Problem
from intramedial.http.shapes import Absent, Shape, errors
from intramedial.identity.did import Did, did_key_from_public
from intramedial.workspaces.authentication.callers import COUNTED

router = Router(tags=["scenarios"], by_alias=True)

CROWD = 50
WORK_S = 0.04
"""How long an agent keeps the resource."""
JITTER = 0.25
"""The longest additional wait, as a part of `waitMs`."""
LONGEST_S = 30.0
"""After this time no agent acquires any more, and the waiters leave the queue."""
FORGET_S = 5.0
"""How long a run waits for the authority to forget its agents."""
AT_ONCE = 16
"""Runs of one process at once."""

AUTH = "scenario"

_chance = random.SystemRandom()
_running: set[str] = set()


class StampedeRequest(Shape):
    """What fifty agents are to ask for."""

    resource: schemas.RequestedResource


class StampedeLine(Shape):
    """One line of a stampede (JSON Lines). The members that are there follow from `type`."""

    type: Literal["begins", "answer", "ends", "problem"]
    resource: schemas.Name = Absent(description="Of `begins`: what all ask for.")
    mode: Mode = Absent(description="Of `begins`.")
    agents: list[Did] = Absent(description="Of `begins`: the agents, whose keys nobody holds any more.")
    ms: int = Absent(ge=0, description="Milliseconds since the run began.")
    agent: int = Absent(ge=1, description="Of `answer`: which of the agents asked, counted from 1.")
    operation: Literal["lease", "release"] = Absent(description="Of `answer`: what it asked for.")
    answer: dict[str, object] = Absent(
        description="Of `answer`: that operation's answer, with its signed receipt, which no ledger keeps."
    )
    asks: int = Absent(ge=0, description="Of `ends`: how often a lease was asked for.")
    grants: int = Absent(ge=0, description="Of `ends`: how often it was granted.")
    reason: str = Absent(description="Of `problem`: why the run has ended before its time.")
    detail: str = Absent(description="Of `problem`: the same for people.")


@router.post(
    "coordination/scenarios/stampede",
    auth=COUNTED,
    operation_id="runStampede",
    summary="Fifty agents for one resource",
    response={200: StampedeLine, **errors(body=True)},
    openapi_extra={"x-lines": True},
)
async def run_stampede(request: Call, body: StampedeRequest) -> Reply:
    """Let fifty agents ask for the resource at once, wait as they are told, and each have it in the end.

    Only in the workspace of a trial, where it counts as one call; one run at a time. The agents' keys are
    made for the run and thrown away. The answer is JSON Lines: `begins` with the fifty DIDs, an `answer` for
    each thing that an agent asked, `ends` with the sums. It takes some seconds. Each answer has its signed
    receipt, which is in no ledger: keep those that you need.
    """
    caller = request.caller
    if caller.trial is None:
        raise Problem(
            "forbidden", "Scenarios run in the workspace of a trial, and these are not a trial's keys."
        )
    disk.require_room("no scenario runs")
    if caller.workspace in _running or len(_running) >= AT_ONCE:
        raise Problem(
            "rate_limited",
            "A stampede is running already: wait until it ends.",
            headers={"retry-after": "10"},
        )
    resource, mode = body.resource
    run = StampedeRun(caller.workspace, resource, mode, request.digest)
    return Reply(200, b"", ((b"x-accel-buffering", b"no"),), LINES, lines=_encoded(run.lines()))


async def _encoded(lines: AsyncIterator[Json]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield orjson.dumps(line) + b"\n"


class StampedeRun:
    """One run. `lines` starts it and is read once, to its end; `ms` counts from the start."""

    def __init__(self, workspace: str, resource: str, mode: Mode, digest: str) -> None:
        self.workspace, self.resource, self.mode, self.digest = workspace, resource, mode, digest
        self.agents = [did_key_from_public(bytes(SigningKey.generate().verify_key)) for _ in range(CROWD)]
        self._lines: asyncio.Queue[Json | None] = asyncio.Queue()
        self._asks = self._grants = 0
        self._released: set[str] = set()  # agents that have released the resource
        self._began = 0.0

    async def lines(self) -> AsyncIterator[Json]:
        """The lines of the answer, as the run goes on."""
        _running.add(self.workspace)
        self._began = self._time()
        running = asyncio.create_task(self._run())
        try:
            yield {
                "type": "begins",
                "resource": self.resource,
                "mode": self.mode.value,
                "agents": self.agents,
            }
            while (line := await self._lines.get()) is not None:
                yield line
            yield {"type": "ends", "ms": self._ms(), "asks": self._asks, "grants": self._grants}
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            _running.discard(self.workspace)

    async def _run(self) -> None:
        authority.current().passing.update(self.agents)
        try:
            async with asyncio.timeout(LONGEST_S), asyncio.TaskGroup() as group:
                for number, agent in enumerate(self.agents, 1):
                    group.create_task(self._take_part(number, agent))
        except TimeoutError:
            pass
        except ExceptionGroup as failed:
            self._lines.put_nowait(_problem(failed.exceptions[0]))
        finally:
            await asyncio.shield(self._leave())
            self._lines.put_nowait(None)

    async def _take_part(self, number: int, agent: str) -> None:
        """One agent, from its first acquire to its release."""
        outcome: Outcome | None = None
        while not isinstance(outcome, Granted):
            if isinstance(outcome, Held):
                await asyncio.sleep(outcome.wait_ms / 1000 * (1 + JITTER * _chance.random()))
            self._asks += 1
            command = Acquire(self.resource, self.mode, agent, new_lease_id())
            outcome = await self._ask(number, "lease", command)
        self._grants += 1
        await asyncio.sleep(WORK_S)
        await self._ask(number, "release", Release(self.resource, agent, outcome.lease.lease_id))
        self._released.add(agent)

    async def _ask(self, number: int, operation: str, command: Command) -> Outcome:
        answer = await authority.get().ask(self._asked(command))
        if isinstance(answer.outcome, LimitReached):
            raise Problem("rate_limited", "The trial holds or waits for as many resources as it may at once.")
        body = orjson.loads(answer.body) | {"receipt": answer.receipt}
        self._lines.put_nowait(
            {"type": "answer", "ms": self._ms(), "agent": number, "operation": operation, "answer": body}
        )
        return answer.outcome

    async def _leave(self) -> None:
        """Remove what the run leaves, however it ended: leases, waits, then the agents themselves."""
        commands: list[Command] = []
        for agent in self.agents:
            if agent not in self._released:
                commands += [Withdraw(self.resource, agent), Release(self.resource, agent)]
        try:
            asking = (authority.get().ask(self._asked(command)) for command in commands)
            await asyncio.gather(*asking, return_exceptions=True)
            forget = authority.get().run(lambda store: store.forget_agents(self.workspace, self.agents))
            # If this fails, the agents are deleted with the trial.
            await asyncio.wait([asyncio.wrap_future(forget)], timeout=FORGET_S)
        finally:
            authority.current().passing.difference_update(self.agents)

    def _asked(self, command: Command) -> Ask:
        return Ask(self.workspace, command, AUTH, self.digest, settings.TRIAL_RESOURCES)

    @staticmethod
    def _time() -> float:
        return asyncio.get_running_loop().time()

    def _ms(self) -> int:
        return round((self._time() - self._began) * 1000)


def _problem(error: Exception) -> Json:
    """The last line of a run that failed."""
    if isinstance(error, Problem):
        return {"type": "problem", "reason": error.reason, "detail": error.detail}
    if isinstance(error, (authority.Unavailable, StorageFault)):
        return {
            "type": "problem",
            "reason": "authority_unavailable",
            "detail": "The authority does not answer: the run has ended.",
        }
    raise error
