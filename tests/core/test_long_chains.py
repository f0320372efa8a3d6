"""Long chains of waits: no recursion, and no more steps than there are edges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordination.core import waitgraph
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Deadlock, Held
from coordination.core.model import Lease, Mode, Resource, Rules, Wait
from coordination.core.waitgraph import deadlocks
from coordination.core.world import World

LENGTH = 10_000
FAR = 10**12
W, R = Mode.EXCLUSIVE, Mode.SHARED


def chain(length: int) -> World:
    """Agent n holds resource n and waits for resource n + 1; the last agent waits for nothing."""
    world = World.of(Rules())
    for number in range(length):
        waiting = (Wait(f"A{number - 1}", W, 0, FAR),) if number else ()
        world.put(Resource(f"r{number}", 1, (Lease(f"l{number}", f"A{number}", W, 1, 0, FAR),), waiting))
    return world


class Counted:
    """How many edges the graph's walks have looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.edges = 0
        real = waitgraph.edges

        def edges(world: World, agent: str) -> Iterator[tuple[str, str]]:
            for edge in real(world, agent):
                self.edges += 1
                yield edge

        monkeypatch.setattr(waitgraph, "edges", edges)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def ask(world: World, agent: str, resource: str, mode: Mode = W) -> object:
    return decide(world, Acquire(resource, mode, agent, "new"), 1)


def test_a_cycle_of_ten_thousand_is_found_and_named(counted: Counted) -> None:
    world = chain(LENGTH)
    refused = ask(world, f"A{LENGTH - 1}", "r0")
    assert isinstance(refused, Deadlock)
    assert len(refused.cycle) == LENGTH
    assert [step.waits_for for step in refused.cycle] == [f"r{number}" for number in range(LENGTH)]
    assert counted.edges <= LENGTH


def test_a_chain_of_ten_thousand_that_closes_nothing_is_walked_once(counted: Counted) -> None:
    world = chain(LENGTH)
    assert isinstance(ask(world, "newcomer", "r0"), Held)
    assert counted.edges <= LENGTH
    assert not waitgraph.has_cycle(world)


def test_the_list_of_deadlocks_walks_a_long_chain_once_for_each_refusal(counted: Counted) -> None:
    world = chain(LENGTH)
    ask(world, f"A{LENGTH - 1}", "r0")
    counted.edges = 0
    (pair,) = deadlocks(world)
    assert len(pair.cycle) == LENGTH
    assert counted.edges <= 2 * LENGTH


def test_many_paths_to_the_same_agents_are_walked_once(counted: Counted) -> None:
    """Forty layers of eight waiters, each behind all of the next layer: 8 ** 40 paths, few edges."""
    world = World.of(Rules())
    for layer in range(40):
        leases = tuple(Lease(f"l{layer}.{n}", f"A{layer + 1}.{n}", R, n + 1, 0, FAR) for n in range(8))
        queue = tuple(Wait(f"A{layer}.{n}", W, 0, FAR) for n in range(8))
        world.put(Resource(f"r{layer}", 8, leases, queue))
    world.put(Resource("mine", 1, (Lease("lm", "A0.0", W, 1, 0, FAR),)))
    everyone = sum(len(list(waitgraph.edges(world, agent))) for agent in list(world.waiting))
    counted.edges = 0
    assert isinstance(ask(world, "newcomer", "mine"), Held)
    assert counted.edges <= everyone


def test_holders_and_waiters_together_cost_two_walks_at_most(counted: Counted) -> None:
    world = chain(LENGTH)
    crowd = tuple(Wait(f"A{number}", W, 0, FAR) for number in range(7))
    world.put(Resource("busy", 1, (Lease("lb", "A0", W, 1, 0, FAR),), crowd[1:]))
    total = sum(len(list(waitgraph.edges(world, agent))) for agent in list(world.waiting))
    counted.edges = 0
    assert isinstance(ask(world, "newcomer", "busy"), Held)
    assert counted.edges <= 2 * total


def test_a_thousand_readers_before_a_writer(counted: Counted) -> None:
    world = World.of(Rules())
    readers = tuple(Lease(f"l{n}", f"R{n}", R, n + 1, 0, FAR) for n in range(1_000))
    world.put(Resource("x", 1_000, readers))
    assert isinstance(ask(world, "W1", "x"), Held)
    assert isinstance(ask(world, "W2", "x"), Held)
    world.put(Resource("y", 1, (Lease("ly", "W2", W, 1, 0, FAR),)))
    counted.edges = 0
    refused = ask(world, "R999", "y")
    assert isinstance(refused, Deadlock)
    assert [step.agent for step in refused.cycle] == ["R999", "W2"]
    assert counted.edges <= 1_000


def test_a_cycle_left_by_a_fault_is_found_without_recursion() -> None:
    world = chain(LENGTH)
    assert not waitgraph.has_cycle(world)
    first = world.resource("r0")
    last = Wait(f"A{LENGTH - 1}", W, 0, FAR)
    world.put(Resource("r0", 1, first.leases, (last,)))
    assert waitgraph.has_cycle(world)
