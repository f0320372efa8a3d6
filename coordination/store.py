"""The store remembers: rows ↔ core values, and the only writer of leases, waits and trust.

A `Transaction` loads one settled `World` a workspace, lets the core change it, and writes down the difference
between what was loaded and what is. The number of statements depends on the batch, not on its commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal

from .core.model import Agent, Outage, Resource, Rules, World
from .core.settle import settle
from .engines import Engine, Key, Row, StorageFault, Wanted
from .rows import Changes, add, change_leases, change_queue, change_refusals, change_trust, grouped

__all__ = ["Needs", "StorageFault", "Store", "Transaction"]

_TENTHS = Decimal("0.1")


@dataclass(slots=True)
class Needs:
    """What the commands of one workspace name: resources, agents, and who asks for which resource."""

    resources: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    asking: dict[str, set[str]] = field(default_factory=dict)
    active_limit: int | None = None


class Transaction:
    """One batch's view of its workspaces. `now` is read once, after the locks are held."""

    def __init__(self, engine: Engine, rules: Rules, now: int, outages: tuple[Outage, ...]) -> None:
        self._engine = engine
        self.rules = rules
        self.now = now
        self._outages = outages
        self.worlds: dict[str, World] = {}
        self._resources: dict[Key, Resource] = {}
        self._rows: dict[Key, Row] = {}
        self._agents: dict[Key, Agent] = {}
        self._tenants: dict[str, int] = {}
        self._outbox: list[Row] = []
        self._drained: list[Row] = []
        self.next_due: int | None = None  # the earliest instant written at which time changes something

    # --- reading ---------------------------------------------------------------------------------

    def load(self, needs: Mapping[str, Needs]) -> None:
        """Load and settle the worlds that these commands need."""
        loaded = self._engine.load(
            Wanted(
                list(needs),
                [(workspace, name) for workspace, need in needs.items() for name in need.resources],
                [(workspace, did) for workspace, need in needs.items() for did in need.agents],
            ),
            self.now,
        )
        for workspace, need in needs.items():
            self.worlds[workspace] = World(self.rules, outages=self._outages, active_limit=need.active_limit)
        for workspace, active, floor in loaded.tenants:
            self._tenants[workspace] = active
            self.worlds[workspace].active = active
            self.worlds[workspace].token_floor = floor
        self._take_agents(loaded.agents)
        self._take_resources(loaded.resources)
        self._take_reachable(needs)
        self._settle()

    def _take_agents(self, rows: Iterable[Row]) -> None:
        for workspace, did, score, releases, expiries in rows:
            agent = Agent(did, score * _TENTHS, releases, expiries)
            self._agents[workspace, did] = self.worlds[workspace].agents[did] = agent

    def _take_resources(self, rows: list[Row]) -> None:
        active = [(row[0], row[1]) for row in rows if row[3] is not None]
        contended = [(row[0], row[1]) for row in rows if row[4]]
        parts = grouped(self._engine.members(active, contended)) if active else {}
        for row in rows:
            key = row[0], row[1]
            leases, queue, refusals = parts.get(key, ((), (), ()))
            resource = Resource(row[1], row[2], tuple(leases), tuple(queue), tuple(refusals))
            self._rows[key] = row
            self._resources[key] = resource
            self.worlds[row[0]].load(resource)

    def _take_reachable(self, needs: Mapping[str, Needs]) -> None:
        """Load what a deadlock check may walk through: every chain of waits that leaves an agent of a
        contested resource. Resources that nobody contests cost nothing."""
        agents = [
            (workspace, agent)
            for workspace, need in needs.items()
            for agent in _contestants(self.worlds[workspace], need)
        ]
        if not agents:
            return
        keys = [key for key in self._engine.reach(agents) if key not in self._resources]
        if keys:
            self._take_resources(self._engine.load(Wanted((), keys, ()), self.now).resources)

    def _settle(self) -> None:
        """Everything due was loaded, so that what has run out is gone from all worlds before a decision."""
        unknown: dict[Key, None] = {}
        for workspace, world in self.worlds.items():
            for resource in world.resources.values():
                for lease in resource.leases:
                    if lease.expires_at <= self.now and lease.agent not in world.agents:
                        unknown[workspace, lease.agent] = None
        if unknown:
            self._take_agents(self._engine.agents(list(unknown)))
        for world in self.worlds.values():
            settle(world, self.now)

    # --- looking ---------------------------------------------------------------------------------

    def look(self, workspace: str, names: Iterable[str], dids: Iterable[str] = ()) -> World:
        """The settled world of these resources and agents, and of all that time has changed there."""
        self.load({workspace: Needs(set(names), set(dids))})
        return self.worlds[workspace]

    def known(self, workspace: str, dids: list[str]) -> list[Agent]:
        """Those of these agents that are known, as the settled world has them."""
        world = self.worlds[workspace]
        missing = [(workspace, did) for did in dids if did not in world.agents]
        self._take_agents(self._engine.agents(missing) if missing else ())
        return [world.agents[did] for did in dids if did in world.agents]

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        """See `Engine`; some may turn out to be idle once settled."""
        return self._engine.active_names(workspace, after, limit)

    def contended_names(self, workspace: str) -> list[str]:
        return self._engine.contended_names(workspace)

    def names_of(self, workspace: str, agent: str) -> list[str]:
        return self._engine.names_of(workspace, agent)

    # --- writing ---------------------------------------------------------------------------------

    def record(self, workspace: str, receipt_id: str, kid: str, claims: bytes) -> None:
        """Put the claims of a receipt into the outbox, in this transaction."""
        self._outbox.append((workspace, receipt_id, kid, claims))

    def drained(self, receipt_ids: Iterable[str]) -> None:
        """Take what the ledger has by now out of the outbox."""
        self._drained += [(receipt_id,) for receipt_id in receipt_ids]

    def changes(self) -> Changes:
        """The named writes that turn what was loaded into what the worlds are now."""
        changes: Changes = {"outbox_insert": self._outbox, "outbox_delete": self._drained}
        for workspace, world in self.worlds.items():
            for name, resource in world.resources.items():
                before = self._resources.get((workspace, name))
                if resource is not before or self._overdue(workspace, name):
                    self._change_resource(changes, workspace, before or Resource(name), resource)
            for did, agent in world.agents.items():
                known = self._agents.get((workspace, did))
                if agent is not known:
                    row = (int(agent.trust * 10), agent.releases, agent.expiries, workspace, did)
                    add(changes, "agent_update" if known else "agent_insert", row)
            if workspace not in self._tenants:
                if world.active:
                    add(changes, "tenant_insert", (world.active, workspace))
            elif self._tenants[workspace] != world.active:
                add(changes, "tenant_update", (world.active, workspace))
            change_trust(changes, workspace, world.events)
        return changes

    def _overdue(self, workspace: str, name: str) -> bool:
        """A stored due time from other settings would wake the alarm for nothing, again and again."""
        row = self._rows.get((workspace, name))
        return row is not None and row[3] is not None and row[3] <= self.now

    def _change_resource(self, changes: Changes, workspace: str, before: Resource, after: Resource) -> None:
        key = workspace, after.name
        row = self._rows.get(key)
        contended = bool(after.queue or after.refusals)
        values = (after.last_token, after.next_change(self.rules), contended)
        if row is None or row[2:5] != values:
            name = "resource_update" if row is not None else "resource_insert"
            add(changes, name, (*values, self.now, *key))
            if values[1] is not None and (self.next_due is None or values[1] < self.next_due):
                self.next_due = values[1]
        if after.leases is not before.leases:
            change_leases(changes, key, before.leases, after.leases)
        if after.queue is not before.queue:
            change_queue(changes, key, before.queue, after.queue)
        if after.refusals is not before.refusals:
            change_refusals(changes, key, before.refusals, after.refusals)


class Store:
    """One connection to the authority's tables, used by one thread at a time.

    `outage_after_ms`: how long nobody may have been there before it counts as our own outage; None: never.
    """

    def __init__(
        self, engine: Engine, rules: Rules, process: str = "alone", outage_after_ms: int | None = 5_000
    ) -> None:
        self.engine = engine
        self.rules = rules
        self._process = process
        self._outage_after_ms = outage_after_ms

    @contextmanager
    def transaction(
        self, needs: Mapping[str, Needs], clock: Callable[[], int] | None = None
    ) -> Iterator[Transaction]:
        """Decide within: durable at the end of the block, undone by any exception out of it.

        Raises StorageFault when the database fails; then it is not known whether the commit was made.
        """
        engine = self.engine
        try:
            begun = engine.begin(sorted(needs))
            now = clock() if clock is not None else begun.clock
            if now is None:
                raise StorageFault("this database has no clock of its own: give one")
            outages = tuple(Outage(since, until) for since, until in begun.outages)
            outages += self._outage(begun.last_pulse, now, outages)
            transaction = Transaction(engine, self.rules, now, outages)
            transaction.load(needs)
            yield transaction
            engine.write(transaction.changes())
            engine.commit(self._process, now)
        except BaseException:
            engine.rollback()
            raise

    @contextmanager
    def reading(self, clock: Callable[[], int] | None = None) -> Iterator[Transaction]:
        """Look without a lock: what the worlds become in the block is not written down."""
        with self.engine.reading() as begun:
            now = clock() if clock is not None else begun.clock
            if now is None:
                raise StorageFault("this database has no clock of its own: give one")
            outages = tuple(Outage(since, until) for since, until in begun.outages)
            yield Transaction(self.engine, self.rules, now, outages)

    def _outage(self, pulse: int | None, now: int, known: tuple[Outage, ...]) -> tuple[Outage, ...]:
        limit = self._outage_after_ms
        if limit is None or pulse is None or now - pulse <= limit:
            return ()
        if any(outage.since >= pulse for outage in known):
            return ()
        found = self.engine.outage(pulse, now, limit)
        return (Outage(*found),) if found is not None else ()


def _contestants(world: World, need: Needs) -> Iterator[str]:
    """The agents of every resource that somebody asks for while another holds it, waits or asks too."""
    for name, asking in need.asking.items():
        resource = world.resources.get(name)
        members = set(asking)
        if resource is not None:
            members.update(lease.agent for lease in resource.leases)
            members.update(wait.agent for wait in resource.queue)
        if len(members) > 1:
            yield from members
