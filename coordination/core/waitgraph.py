"""The wait-for graph: which agent waits for which, the cycles that a wait would close, the list of deadlocks.

Nodes are agents. A waiter has an edge to every other holder it conflicts with on that resource and to every
conflicting waiter ahead of it. All walks are iterative: a chain may be as long as a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .messages import Step
from .model import Mode, Refusal, Resource, Wait
from .world import Edge, World


def ahead(resource: Resource, agent: str, mode: Mode) -> tuple[Wait, ...]:
    """The waiters ahead of `agent` if it asks for `mode` now; all waiters if it is not queued."""
    queue = resource.queue
    if not queue:
        return ()
    if len(resource.leases) == 1 and resource.leases[0].agent == agent:
        held = resource.leases[0].mode
        first = next((wait for wait in queue if wait.agent != agent), None)
        if not held.covers(mode) and first is not None and held.conflicts(first.mode):
            return ()  # its own lease blocks them: behind them it would wait for itself
    for place, wait in enumerate(queue):
        if wait.agent == agent:
            return queue[:place]
    return queue


def blockers(resource: Resource, agent: str, mode: Mode) -> Iterator[str]:
    """The agents that keep `agent` from `mode`: conflicting holders in grant order, then conflicting waiters
    ahead in queue order. An agent without blockers is granted, or gets an offer."""
    for lease in resource.leases:
        if lease.agent != agent and mode.conflicts(lease.mode):
            yield lease.agent
    for wait in ahead(resource, agent, mode):
        if mode.conflicts(wait.mode):
            yield wait.agent


def is_free(resource: Resource, agent: str, mode: Mode) -> bool:
    """The one rule: whether `agent` may have `mode`, because it has no blocker."""
    return next(blockers(resource, agent, mode), None) is None


def edges(world: World, agent: str) -> Sequence[Edge]:
    """`(the agent waited for, the resource waited for)`, one for each edge that leaves `agent`. They are
    remembered until a resource that it waits for changes."""
    known = world.edges.get(agent)
    if known is None:
        known = world.edges[agent] = tuple(
            (blocker, resource.name)
            for resource, wait in world.waits_of(agent)
            for blocker in blockers(resource, agent, wait.mode)
        )
    return known


def find_cycle(world: World, resource: Resource, agent: str, mode: Mode) -> tuple[Step, ...]:
    """The cycle that `agent` would close by waiting for `resource` in `mode`; empty when there is none.

    Holders come before waiters, then the shortest cycle, then queue order: each group is searched breadth
    first from all its members at once, in their order, so the first way found is the shortest, and among
    equals the one of the earliest member.
    """
    holders = [
        lease.agent for lease in resource.leases if lease.agent != agent and mode.conflicts(lease.mode)
    ]
    waiters = [wait.agent for wait in ahead(resource, agent, mode) if mode.conflicts(wait.mode)]
    for sources in (holders, waiters):
        found = _walk(world, sources, agent)
        if found:
            return (Step(agent, resource.name), *found)
    return ()


def cycle_through(world: World, resource: Resource, agent: str, blocker: str) -> tuple[Step, ...]:
    """The shortest cycle that `agent`, waiting for `resource`, would close by way of `blocker`."""
    found = _walk(world, [blocker], agent)
    return (Step(agent, resource.name), *found) if found else ()


def _walk(world: World, sources: list[str], target: str) -> tuple[Step, ...]:
    """The shortest chain of waits from one of `sources` to `target`, one step an agent; empty if none."""
    came = dict.fromkeys(sources, "")  # agent -> the agent from which it was reached
    through: dict[str, str] = {}  # agent -> the resource that led to it
    frontier = list(came)
    remembered = world.edges.get
    for agent in frontier:  # grows as it is walked: breadth first
        for neighbour, resource in remembered(agent) or edges(world, agent):
            if neighbour not in came:
                came[neighbour] = agent
                through[neighbour] = resource
                if neighbour == target:
                    return _chain(came, through, target)
                frontier.append(neighbour)
    return ()


def _chain(came: dict[str, str], through: dict[str, str], target: str) -> tuple[Step, ...]:
    chain = []
    new = tuple.__new__  # calling Step takes twice as long, and a chain may have thousands
    agent = target
    while before := came[agent]:
        chain.append(new(Step, (before, through[agent])))
        agent = before
    chain.reverse()
    return tuple(chain)


def has_cycle(world: World) -> bool:
    """Whether the whole graph has a cycle. Never true after a decision; tests and simulations assert it."""
    done: set[str] = set()
    for root in world.waiting:
        path: dict[str, Iterator[Edge]] = {root: iter(edges(world, root))}
        while path:
            agent, rest = next(reversed(path.items()))
            step = next(rest, None)
            if step is None:
                del path[agent]
                done.add(agent)
            elif step[0] in path:
                return True
            elif step[0] not in done:
                path[step[0]] = iter(edges(world, step[0]))
    return False


# --- the list of deadlocks ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeadlockPair:
    """A remembered refusal that would still close a cycle. `agents`: the refused agent, and the holder for
    which it was refused. `resources`: what it asked for, and what that holder waits for."""

    agents: tuple[str, str]
    resources: tuple[str, str]
    cycle: tuple[Step, ...]
    at: int


def deadlocks(world: World) -> list[DeadlockPair]:
    """All deadlock pairs of a settled world, the oldest first. All that its waits can reach must be
    loaded."""
    pairs = [
        pair
        for resource in world.resources.values()
        for refusal in resource.refusals
        for pair in _still_closed(world, resource, refusal)
    ]
    return sorted(pairs, key=lambda pair: (pair.at, pair.resources, pair.agents))


def _still_closed(world: World, resource: Resource, refusal: Refusal) -> Iterator[DeadlockPair]:
    lease = resource.lease_of(refusal.agent)
    if resource.wait_of(refusal.agent) is not None or (lease is not None and lease.mode.covers(refusal.mode)):
        return
    cycle: tuple[Step, ...] = ()
    if refusal.holder in blockers(resource, refusal.agent, refusal.mode):
        cycle = cycle_through(world, resource, refusal.agent, refusal.holder)
    cycle = cycle or find_cycle(world, resource, refusal.agent, refusal.mode)
    if cycle:
        second = cycle[1]
        yield DeadlockPair(
            (refusal.agent, second.agent), (resource.name, second.waits_for), cycle, refusal.at
        )
