"""One transaction: it loads worlds, settles them, and writes what the decisions changed.

It loads one `World` for each workspace, the core changes it, and the difference between what was loaded and
what the world became is written. The number of statements does not depend on the number of commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from coordination.core.model import Agent, Outage, Resource, Rules
from coordination.core.settle import settle
from coordination.core.world import World
from coordination.wire.ids import new_stamp

from .engines.base import GRANTED, UNKNOWN, Engine, Key, Row, Wanted
from .rows import Changes, add, change_leases, change_queue, change_refusals, change_trust, grouped

_TENTHS = Decimal("0.1")


@dataclass(slots=True)
class Needs:
    """What the commands of one workspace name: resources, agents, and which agents ask for which resource.

    `until` is set when there is no command: the resources have expired and are settled up to this instant.
    """

    resources: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    asking: dict[str, set[str]] = field(default_factory=dict)
    active_limit: int | None = None
    until: int | None = None


@dataclass(slots=True)
class Memory:
    """Worlds kept from one transaction to the next.

    `alone`: no other process writes this database. Where others do, a world equals what is stored as long as
    the stamp of its workspace is the one in `stamps`. `complete`: workspaces whose waits are all in memory,
    so that a search for cycles needs no database. `due_from`: before this instant nothing that is stored
    expires. `sizes`: the size of each world when it was last counted, so that only worlds that were used are
    counted again. `token_floor`: every new fencing token is above it, whatever is stored of a resource.
    """

    keeps: bool = False
    alone: bool = False
    worlds: dict[str, World] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    due_from: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    size: int = 0
    token_floor: int = 0

    def compare(self, workspaces: Iterable[str], stamps: Mapping[str, int]) -> None:
        """Drop those of these workspaces that other processes have changed. A workspace without a stamp is
        dropped too: it was never changed, or it was forgotten."""
        for workspace in workspaces:
            stamp = stamps.get(workspace)
            if stamp is None or self.stamps.get(workspace) != stamp:
                self.drop(workspace)
            if stamp is not None:
                self.stamps[workspace] = stamp

    def drop(self, workspace: str) -> None:
        """Drop one workspace."""
        self.stamps.pop(workspace, None)
        if self.worlds.pop(workspace, None) is not None:
            self.size -= self.sizes.pop(workspace, 0)
        self.complete.discard(workspace)

    def count(self, worlds: Mapping[str, World]) -> None:
        """Count these worlds anew."""
        for workspace, world in worlds.items():
            size = 1 + len(world.resources) + len(world.agents)
            self.size += size - self.sizes.get(workspace, 0)
            self.sizes[workspace] = size


class Transaction:
    """The workspaces of one batch. `now` is read once, after the locks are held."""

    def __init__(
        self, engine: Engine, rules: Rules, now: int, outages: tuple[Outage, ...], memory: Memory
    ) -> None:
        self._engine = engine
        self.rules = rules
        self.now = now
        self._outages = outages
        self._memory = memory
        self.worlds: dict[str, World] = {}
        self._active: dict[str, int] = {}  # the stored count of each workspace
        self._due: list[Key] = []
        self._outbox: list[Row] = []
        self._drained: list[Row] = []
        self._stamp = new_stamp()
        self.stamps: dict[str, int] = {}  # the new stamps of workspaces that are written
        self.next_due: int | None = None  # the earliest instant written at which time changes something

    # --- reading ---------------------------------------------------------------------------------

    def load(self, needs: Mapping[str, Needs]) -> None:
        """Load what these commands need and the memory does not have, and settle the worlds."""
        missing = [workspace for workspace in needs if workspace not in self._memory.worlds]
        for workspace, need in needs.items():
            world = self._memory.worlds.setdefault(
                workspace, World(self.rules, token_floor=self._memory.token_floor)
            )
            world.begin()
            world.outages = self._outages
            world.active_limit = need.active_limit
            self.worlds[workspace] = world
        self._load(needs, missing)
        self._load_reachable(needs)
        self._settle(needs)

    def _load(self, needs: Mapping[str, Needs], missing: list[str]) -> None:
        resources = _missing(needs, self.worlds, lambda need, world: need.resources - world.resources.keys())
        agents = _missing(needs, self.worlds, lambda need, world: need.agents - world.agents.keys())
        # A resource in memory is not loaded again, so it is taken as due here.
        self._due = [
            (workspace, name)
            for workspace, need in needs.items()
            if need.until is not None
            for name in need.resources & self.worlds[workspace].resources.keys()
        ]
        timely = self.now >= self._memory.due_from
        due_in = [workspace for workspace, need in needs.items() if timely and need.until is None]
        if resources or agents or missing or due_in:
            tenants = [*missing, UNKNOWN] if missing else []
            loaded = self._engine.load(Wanted(resources, agents, tenants, due_in), self.now)
            known = {workspace: (active, floor) for workspace, active, floor in loaded.tenants}
            unknown = known.get(UNKNOWN, (0, 0))
            for workspace in missing:
                active, floor = known.get(workspace, (0, unknown[1]))
                self.worlds[workspace].active = active
                self.worlds[workspace].token_floor = max(floor, self._memory.token_floor)
            self._take_agents(loaded.agents)
            self._take_resources(loaded.resources)
            self._due += [
                (workspace, name)
                for workspace, name, _, due_at, _ in loaded.resources
                if due_at is not None and due_at <= self._until(needs[workspace])
            ]
        self._active = {workspace: world.active for workspace, world in self.worlds.items()}

    def _until(self, need: Needs) -> int:
        """The clock by which resources were found due may be fast: only this transaction's decides."""
        return self.now if need.until is None else min(need.until, self.now)

    def _take_agents(self, rows: Iterable[Row]) -> None:
        for workspace, did, score, releases, expiries, moved_by in rows:
            self.worlds[workspace].agents[did] = Agent(did, score * _TENTHS, releases, expiries, moved_by)

    def _take_resources(self, rows: Iterable[Row]) -> None:
        fresh = [row for row in rows if row[1] not in self.worlds[row[0]].resources]
        active = [(row[0], row[1]) for row in fresh if row[3] is not None]
        contended = [(row[0], row[1]) for row in fresh if row[4]]
        parts = grouped(self._engine.members(active, contended)) if active else {}
        for workspace, name, last_token, _, _ in fresh:
            leases, queue, refusals = parts.get((workspace, name), ((), (), ()))
            last_token = max(last_token, self._memory.token_floor)
            resource = Resource(name, last_token, tuple(leases), tuple(queue), tuple(refusals))
            self.worlds[workspace].load(resource)

    def _load_reachable(self, needs: Mapping[str, Needs]) -> None:
        """Load what a search for cycles may reach: every chain of waits that leaves an agent of a contested
        resource. Nothing is loaded for resources that one agent alone asks for."""
        complete = self._memory.complete
        agents = [
            (workspace, agent)
            for workspace, need in needs.items()
            if workspace not in complete
            for agent in _contestants(self.worlds[workspace], need)
        ]
        if not agents:
            return
        if self._memory.alone:
            contested = {workspace for workspace, _ in agents}
            keys = [(name, key) for name in contested for key in self._engine.contended_names(name)]
            complete |= contested
        else:
            keys = self._engine.reach(agents)
        keys = [key for key in keys if key[1] not in self.worlds[key[0]].resources]
        if keys:
            self._take_resources(self._engine.load(Wanted(keys), self.now).resources)

    def _settle(self, needs: Mapping[str, Needs]) -> None:
        """End what has expired in all worlds, before any decision. All that is due was loaded."""
        due: dict[str, list[str]] = {}
        for workspace, name in self._due:
            due.setdefault(workspace, []).append(name)
        if not due:
            return
        unknown: dict[Key, None] = {}
        for workspace, names in due.items():
            world, until = self.worlds[workspace], self._until(needs[workspace])
            for lease in (lease for name in names for lease in world.resources[name].leases):
                if lease.expires_at <= until and lease.agent not in world.agents:
                    unknown[workspace, lease.agent] = None
        self._take_agents(self._engine.agents(list(unknown)) if unknown else ())
        for workspace, names in due.items():
            settle(self.worlds[workspace], self._until(needs[workspace]), names)

    # --- reading without deciding ----------------------------------------------------------------

    def look(self, workspace: str, names: Iterable[str], dids: Iterable[str] = ()) -> World:
        """The settled world with these resources and agents, and with all that has expired in the
        workspace."""
        self.load({workspace: Needs(set(names), set(dids))})
        return self.worlds[workspace]

    def look_with_refusals(self, workspace: str, names: Iterable[str] = ()) -> World:
        """As `look`, with all remembered deadlock refusals of the workspace, and all that their cycles
        reach."""
        refused: dict[str, set[str]] = {}
        for resource, agent in self._engine.refused(workspace):
            refused.setdefault(resource, set()).add(agent)
        self.load({workspace: Needs({*names, *refused}, asking=refused)})
        return self.worlds[workspace]

    def known(self, workspace: str, dids: list[str]) -> list[Agent]:
        """Those of these agents that are known, from the settled world."""
        world = self.worlds[workspace]
        missing = [(workspace, did) for did in dids if did not in world.agents]
        self._take_agents(self._engine.agents(missing) if missing else ())
        return [world.agents[did] for did in dids if did in world.agents]

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        """See `Engine`; after settling, some may not be active any more."""
        return self._engine.active_names(workspace, after, limit)

    def names_of(self, workspace: str, agent: str) -> list[str]:
        return self._engine.names_of(workspace, agent)

    # --- writing ---------------------------------------------------------------------------------

    def record(self, workspace: str, receipt_id: str, kid: str, claims: bytes) -> None:
        """Put the claims of a receipt into the outbox, in this transaction."""
        self._outbox.append((workspace, receipt_id, kid, claims))

    def drained(self, receipt_ids: Iterable[str]) -> None:
        """Take these receipts out of the outbox: the ledger has them."""
        self._drained += [(receipt_id,) for receipt_id in receipt_ids]

    def changes(self) -> Changes:
        """The named writes that store the difference between what was loaded and what the worlds are now."""
        changes: Changes = {"outbox_insert": self._outbox, "outbox_delete": self._drained}
        for workspace, name in self._due:
            # A due time that was computed with other settings would be found due again and again.
            world = self.worlds[workspace]
            world.changed.setdefault(name, world.resources[name])
        for workspace, world in self.worlds.items():
            for name, before in world.changed.items():
                self._change_resource(changes, workspace, before, world.resources[name])
            for did, known in world.changed_agents.items():
                agent = world.agents[did]
                row = (int(agent.trust * 10), agent.releases, agent.expiries, agent.moved_by)
                add(changes, "agent_update" if known else "agent_insert", (*row, workspace, did))
            stamped = self._engine.shared and (world.changed or world.changed_agents)
            if stamped or world.active != self._active[workspace]:
                add(changes, "tenant_put", (world.active, self._stamp, workspace))
                self.stamps[workspace] = self._stamp
            change_trust(changes, workspace, world.events)
        return changes

    def _change_resource(
        self, changes: Changes, workspace: str, before: Resource | None, after: Resource
    ) -> None:
        key = workspace, after.name
        due_at = after.next_change(self.rules)
        row = (after.last_token, due_at, bool(after.queue or after.refusals), self.now, *key)
        add(changes, "resource_update" if before is not None else "resource_insert", row)
        if due_at is not None and (self.next_due is None or due_at < self.next_due):
            self.next_due = due_at
        before = before or Resource(after.name)
        if after.last_token > before.last_token:
            add(changes, GRANTED, (workspace, after.name, after.last_token))
        if after.leases is not before.leases:
            change_leases(changes, key, before.leases, after.leases)
        if after.queue is not before.queue:
            change_queue(changes, key, before.queue, after.queue)
        if after.refusals is not before.refusals:
            change_refusals(changes, key, before.refusals, after.refusals)


def _missing(
    needs: Mapping[str, Needs], worlds: Mapping[str, World], of: Callable[[Needs, World], set[str]]
) -> list[Key]:
    return [(workspace, name) for workspace, need in needs.items() for name in of(need, worlds[workspace])]


def _contestants(world: World, need: Needs) -> Iterator[str]:
    """The agents of every resource that one agent asks for while another holds it, waits or asks too."""
    for name, asking in need.asking.items():
        resource = world.resources.get(name)
        members = set(asking)
        if resource is not None:
            members.update(lease.agent for lease in resource.leases)
            members.update(wait.agent for wait in resource.queue)
        if len(members) > 1:
            yield from members
