"""A world with a clock that tests set, so that examples read like the rules."""

from __future__ import annotations

from typing import Any

from coordination.core.decide import decide
from coordination.core.messages import (
    Acquire,
    Command,
    Deadlock,
    Ended,
    Event,
    Granted,
    Held,
    Kind,
    NotReleased,
    Outcome,
    Release,
    Released,
    ReturnUndelivered,
    Revoke,
    Withdraw,
    Withdrawn,
)
from coordination.core.model import Mode, Rules
from coordination.core.settle import settle
from coordination.core.waitgraph import DeadlockPair, deadlocks
from coordination.core.world import World

TTL, OFFER, WAIT_TTL = 30_000, 2_000, 35_000


class Scene:
    """Resources and agents are named by short words; time starts at 0. `scene.at(ms)` lets time pass."""

    def __init__(self, rules: Rules | None = None, **world: Any) -> None:
        self.world = World.of(rules or Rules())
        for name, value in world.items():
            setattr(self.world, name, value)
        self.now = 0
        self.asked = 0

    def at(self, now: int) -> Scene:
        assert now >= self.now
        self.now = now
        settle(self.world, now)
        return self

    def do(self, command: Command) -> Outcome:
        settle(self.world, self.now)
        return decide(self.world, command, self.now)

    # --- commands ---------------------------------------------------------------------------------

    def ask(self, agent: str, resource: str, mode: Mode = Mode.EXCLUSIVE, queue: bool = True) -> Outcome:
        self.asked += 1
        return self.do(Acquire(resource, mode, agent, f"lse_{self.asked}", queue))

    def read(self, agent: str, resource: str, queue: bool = True) -> Outcome:
        return self.ask(agent, resource, Mode.SHARED, queue)

    def grant(self, agent: str, resource: str, mode: Mode = Mode.EXCLUSIVE) -> Granted:
        outcome = self.ask(agent, resource, mode)
        assert isinstance(outcome, Granted), outcome
        return outcome

    def grant_read(self, agent: str, resource: str) -> Granted:
        return self.grant(agent, resource, Mode.SHARED)

    def held(self, agent: str, resource: str, mode: Mode = Mode.EXCLUSIVE, queue: bool = True) -> Held:
        outcome = self.ask(agent, resource, mode, queue)
        assert isinstance(outcome, Held), outcome
        return outcome

    def held_read(self, agent: str, resource: str) -> Held:
        return self.held(agent, resource, Mode.SHARED)

    def deadlock(self, agent: str, resource: str, mode: Mode = Mode.EXCLUSIVE) -> Deadlock:
        outcome = self.ask(agent, resource, mode)
        assert isinstance(outcome, Deadlock), outcome
        return outcome

    def release(self, agent: str, resource: str, lease_id: str | None = None) -> Released:
        outcome = self.do(Release(resource, agent, lease_id))
        assert isinstance(outcome, Released), outcome
        return outcome

    def not_released(self, agent: str, resource: str, lease_id: str | None = None) -> NotReleased:
        outcome = self.do(Release(resource, agent, lease_id))
        assert isinstance(outcome, NotReleased), outcome
        return outcome

    def withdraw(self, agent: str, resource: str) -> bool:
        outcome = self.do(Withdraw(resource, agent))
        assert isinstance(outcome, Withdrawn)
        return outcome.withdrawn

    def revoke(self, resource: str, lease_id: str) -> bool:
        return self._ended(Revoke(resource, lease_id))

    def return_undelivered(self, resource: str, lease_id: str, expires_at: int) -> bool:
        return self._ended(ReturnUndelivered(resource, lease_id, expires_at))

    def _ended(self, command: Command) -> bool:
        outcome = self.do(command)
        assert isinstance(outcome, Ended)
        return outcome.ended

    # --- what is there ----------------------------------------------------------------------------

    def holders(self, resource: str) -> list[str]:
        return [lease.agent for lease in self.world.resource(resource).leases]

    def queue(self, resource: str) -> list[str]:
        return [wait.agent for wait in self.world.resource(resource).queue]

    def offered(self, resource: str) -> dict[str, int]:
        """The agents that have an offer, and when it began."""
        queue = self.world.resource(resource).queue
        return {wait.agent: wait.offered_at for wait in queue if wait.offered_at is not None}

    def trust(self, agent: str) -> str:
        return str(self.world.agents[agent].trust)

    def pairs(self) -> list[DeadlockPair]:
        return deadlocks(self.world)

    def events(self, kind: Kind | None = None) -> list[Event]:
        """What has happened since the last call."""
        events, self.world.events = self.world.events, []
        return [event for event in events if kind is None or event.kind is kind]
