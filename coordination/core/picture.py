"""The live picture of a settled world: holders, queues in order, deadlocks that still are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .messages import Step
from .model import Refusal, Resource
from .waitgraph import blockers, cycle_through, find_cycle
from .world import World


@dataclass(frozen=True, slots=True)
class DeadlockPair:
    """A remembered refusal that would still close a cycle: `agents` = the refused one and the holder it was
    refused for; `resources` = what it asked for and what that holder waits for."""

    agents: tuple[str, str]
    resources: tuple[str, str]
    cycle: tuple[Step, ...]
    at: int


def deadlocks(world: World) -> list[DeadlockPair]:
    """All deadlock pairs of a world that is settled and complete in what can be reached, oldest first."""
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
