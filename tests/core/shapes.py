"""Resources without their numbers, so that small worlds have finitely many states.

Whether a lease, a wait or an offer ends next is left open: any of them may, at any moment. Of time, a shape
keeps what the rules can still tell apart: which offers began before others, and which waiters have asked
since each offer began. That covers at least everything that real clocks can cause.

Nothing here uses `waitgraph`: the edges are computed a second time, from the text of the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain, combinations
from typing import NamedTuple

from coordination.core.model import Lease, Mode, Resource, Rules, Wait

NOW = 10_000_000
RULES = Rules(lease_ttl_ms=1_000_000, offer_ms=1_000, wait_ttl_ms=100_000)
_LATER = NOW + 500_000


class Place(NamedTuple):
    """A place in a queue. `offer`: the rank of its offer among the current ones, from 1 for the oldest; 0 for
    none. `heard`: how many of these offers had begun when the agent last asked."""

    agent: int
    shared: bool
    offer: int
    heard: int


class Shape(NamedTuple):
    """Holders in grant order as (agent, shared), and the queue in order."""

    holders: tuple[tuple[int, bool], ...] = ()
    queue: tuple[Place, ...] = ()

    def holds(self, agent: int) -> bool | None:
        """Whether the agent shares the resource; None if it does not hold it."""
        return next((shared for holder, shared in self.holders if holder == agent), None)

    def waits(self, agent: int) -> Place | None:
        return next((place for place in self.queue if place.agent == agent), None)


class Ending(NamedTuple):
    """What ends at one instant: leases and waits by agent, and whether the oldest offers lapse."""

    leases: tuple[int, ...]
    waits: tuple[int, ...]
    offers: bool


NOTHING = Ending((), (), False)


# --- there and back -------------------------------------------------------------------------------


def lease_id(agent: int) -> str:
    return f"lease of {agent}"


def mode_of(shared: bool) -> Mode:
    return Mode.SHARED if shared else Mode.EXCLUSIVE


@cache
def make(name: str, shape: Shape, ending: Ending = NOTHING) -> Resource:
    """A resource of this shape at `NOW`, of which exactly `ending` expires at `NOW`."""
    first = NOW - RULES.offer_ms + (not ending.offers)

    def begun(offer: int) -> int:
        return first + 100 * (offer - 1)

    def asked(place: Place) -> int:
        if place.agent in ending.waits:
            return NOW - RULES.wait_ttl_ms
        return begun(place.heard) + 10 if place.heard else first - 10

    leases = tuple(
        Lease(
            lease_id(agent), str(agent), mode_of(shared), token, 0, NOW if agent in ending.leases else _LATER
        )
        for token, (agent, shared) in enumerate(shape.holders, start=1)
    )
    queue = tuple(
        Wait(str(p.agent), mode_of(p.shared), 0, asked(p), begun(p.offer) if p.offer else None)
        for p in shape.queue
    )
    return Resource(name, len(leases), leases, queue)


def shape_of(resource: Resource) -> Shape:
    begun = sorted({wait.offered_at for wait in resource.queue if wait.offered_at is not None})
    return Shape(
        tuple((int(lease.agent), lease.mode is Mode.SHARED) for lease in resource.leases),
        tuple(
            Place(
                int(wait.agent),
                wait.mode is Mode.SHARED,
                0 if wait.offered_at is None else begun.index(wait.offered_at) + 1,
                sum(instant <= wait.asked_at for instant in begun),
            )
            for wait in resource.queue
        ),
    )


@cache
def renamed(shape: Shape, names: tuple[int, ...]) -> Shape:
    """The same shape with agent n called names[n]."""
    return Shape(
        tuple((names[agent], shared) for agent, shared in shape.holders),
        tuple(place._replace(agent=names[place.agent]) for place in shape.queue),
    )


def endings(shape: Shape) -> Iterator[Ending]:
    """Everything that can end at one instant. Offers that began together lapse together, the oldest first. A
    wait that was refreshed after a current offer began cannot have expired."""
    holders = [agent for agent, _ in shape.holders]
    waits = [place.agent for place in shape.queue if not place.offer and not place.heard]
    offered = any(place.offer for place in shape.queue)
    for leases in _subsets(holders):
        for ended in _subsets(waits):
            for offers in (False, True)[: 1 + offered]:
                if leases or ended or offers:
                    yield Ending(leases, ended, offers)


def _subsets(agents: list[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(agents, size) for size in range(len(agents) + 1))


# --- the rule -------------------------------------------------------------------------------------


def blockers(shape: Shape, agent: int, shared: bool) -> list[int]:
    """The agents that keep `agent` from this resource: conflicting other holders and conflicting waiters
    ahead."""
    found = [holder for holder, shares in shape.holders if holder != agent and not (shares and shared)]
    others = [place for place in shape.queue if place.agent != agent]
    if others and len(shape.holders) == 1:
        holder, shares = shape.holders[0]
        if holder == agent and not (shares and others[0].shared):
            return found
    for place in shape.queue:
        if place.agent == agent:
            break
        if not (place.shared and shared):
            found.append(place.agent)
    return found


def edges(shapes: tuple[Shape, ...]) -> dict[int, set[int]]:
    graph: dict[int, set[int]] = {}
    for shape in shapes:
        for place in shape.queue:
            graph.setdefault(place.agent, set()).update(blockers(shape, place.agent, place.shared))
    return graph


def reaches(graph: dict[int, set[int]], sources: list[int], target: int) -> bool:
    """Whether a walk along the edges from one of `sources` reaches `target`."""
    seen: set[int] = set()
    todo = list(sources)
    while todo:
        agent = todo.pop()
        if agent == target:
            return True
        if agent not in seen:
            seen.add(agent)
            todo += graph.get(agent, ())
    return False
