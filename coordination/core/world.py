"""The part of one workspace that a decision works on; the only mutable thing in the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from .messages import Event, TrustMove
from .model import Agent, Lease, Outage, Resource, Rules, Wait

Edge = tuple[str, str]  # the agent waited for, the resource waited for

_LEAST, _MOST = Decimal("0.0"), Decimal("100.0")  # of trust


@dataclass(slots=True)
class World:
    """Resources and agents as they are now, and what they were when the last `begin` was called.

    Changes go through `put` and `put_agent`, which keep the index of waits, the count of active resources and
    the record of changes in step. `token_floor` is where the counter of an unknown resource starts. `edges`
    is the cache of `waitgraph`: the edges that leave an agent, until one of its resources changes.
    """

    rules: Rules
    resources: dict[str, Resource] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()
    active: int = 0
    active_limit: int | None = None
    token_floor: int = 0
    events: list[Event] = field(default_factory=list)
    waiting: dict[str, set[str]] = field(default_factory=dict)
    edges: dict[str, tuple[Edge, ...]] = field(default_factory=dict)
    changed: dict[str, Resource | None] = field(default_factory=dict)
    changed_agents: dict[str, Agent | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Rules, resources: Iterable[Resource] = (), agents: Iterable[Agent] = ()) -> World:
        """A world of these parts, with its indexes."""
        world = cls(rules, agents={agent.did: agent for agent in agents})
        for resource in resources:
            world.put(resource)
        world.begin()
        return world

    def begin(self) -> None:
        """Start a new record: from here on `changed` and `changed_agents` hold what each was before (None:
        unknown), and `events` what happened."""
        self.events = []
        self.changed = {}
        self.changed_agents = {}

    def resource(self, name: str) -> Resource:
        found = self.resources.get(name)
        return found if found is not None else Resource(name, last_token=self.token_floor)

    def load(self, resource: Resource) -> None:
        """Add a resource as it is stored; `active` counts it already."""
        self.resources[resource.name] = resource
        if resource.queue:
            self._forget_edges(resource.queue)
            self._index(resource.name, (), resource.queue)

    def put(self, resource: Resource) -> None:
        """Replace a resource by what a decision made of it."""
        name = resource.name
        before = self.resources.get(name)
        if name not in self.changed:
            self.changed[name] = before
        self.resources[name] = resource
        self.active += resource.active - (before is not None and before.active)
        old_queue = before.queue if before is not None else ()
        if old_queue or resource.queue:
            self._forget_edges(old_queue)
            self._forget_edges(resource.queue)
            if old_queue is not resource.queue:
                self._index(name, old_queue, resource.queue)

    def _forget_edges(self, queue: tuple[Wait, ...]) -> None:
        for wait in queue:
            self.edges.pop(wait.agent, None)

    def _index(self, name: str, old: tuple[Wait, ...], new: tuple[Wait, ...]) -> None:
        for wait in old:
            names = self.waiting[wait.agent]
            names.discard(name)
            if not names:
                del self.waiting[wait.agent]
        for wait in new:
            self.waiting.setdefault(wait.agent, set()).add(name)

    def waits_of(self, agent: str) -> list[tuple[Resource, Wait]]:
        """All that `agent` waits for, the oldest wait first."""
        names = self.waiting.get(agent)
        if not names:
            return []
        pairs = list(self._waits(agent, names))
        if len(pairs) > 1:
            pairs.sort(key=lambda pair: (pair[1].since, pair[0].name))
        return pairs

    def _waits(self, agent: str, names: Iterable[str]) -> Iterator[tuple[Resource, Wait]]:
        for name in names:
            resource = self.resources[name]
            wait = resource.wait_of(agent)
            if wait is not None:
                yield resource, wait

    def know(self, did: str) -> Agent:
        """The agent; an unknown one becomes known, with the starting trust."""
        agent = self.agents.get(did)
        if agent is None:
            agent = Agent(did, self.rules.trust_start)
            self.put_agent(agent)
        return agent

    def put_agent(self, agent: Agent) -> None:
        """Replace an agent by what a move of its trust made of it."""
        did = agent.did
        if did not in self.changed_agents:
            self.changed_agents[did] = self.agents.get(did)
        self.agents[did] = agent

    def earn(self, lease: Lease) -> TrustMove:
        """Raise the trust of the holder: it released its lease."""
        agent = self.know(lease.agent)
        score = _within(agent.trust + self.rules.trust_release)
        self.put_agent(Agent(agent.did, score, agent.releases + 1, agent.expiries, lease.lease_id))
        return TrustMove(score, score - agent.trust, agent.moved_by)

    def pay(self, lease: Lease) -> TrustMove:
        """Lower the trust of the holder: it let its lease expire."""
        agent = self.know(lease.agent)
        score = _within(agent.trust + self.rules.trust_expiry)
        self.put_agent(Agent(agent.did, score, agent.releases, agent.expiries + 1, lease.lease_id))
        return TrustMove(score, score - agent.trust, agent.moved_by)


def _within(score: Decimal) -> Decimal:
    return min(_MOST, max(_LEAST, score))
