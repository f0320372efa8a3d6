"""Small worlds explored completely: the core keeps its promises, and planted faults are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from coordination.core import decide as rules_of
from coordination.core import settle as time_of
from coordination.core.messages import Step
from coordination.core.model import Lease, Mode, Resource
from coordination.core.world import World

from .explore import QUICK, Explorer, Violation


@pytest.mark.parametrize("world", QUICK)
def test_a_small_world_has_no_violation(world: str) -> None:
    seen = Explorer(world).run()
    print(seen)
    assert seen.complete
    assert bool(seen.refused) == (world != "5:e")  # one exclusive resource can close no cycle


def test_states_that_differ_in_names_alone_are_all_counted() -> None:
    by_names, nameless = Explorer("3:ee", nameless=False).run(), Explorer("3:ee").run()
    assert by_names.states == by_names.distinct == nameless.states
    assert by_names.depth == nameless.depth


def test_the_states_alone_show_no_cycle_either() -> None:
    """The answers are right because the states stay right, not because the explorer expects these answers."""
    assert Explorer("3:ee", judging=False).run().complete


# --- planted faults -------------------------------------------------------------------------------


def _holders_only(world: World, resource: Resource, agent: str, mode: Mode) -> tuple[Step, ...]:
    """A deadlock check that follows holders and ignores the waiters ahead."""

    def conflicting(held: Resource, by: str, wanted: Mode) -> list[str]:
        return [lease.agent for lease in held.leases if lease.agent != by and wanted.conflicts(lease.mode)]

    todo, seen = conflicting(resource, agent, mode), set()
    while todo:
        found = todo.pop()
        if found == agent:
            return (Step(agent, resource.name), Step(found, resource.name))
        if found not in seen:
            seen.add(found)
            for waited, wait in world.waits_of(found):
                todo += conflicting(waited, found, wait.mode)
    return ()


def _overtaking(resource: Resource, agent: str, mode: Mode) -> bool:
    """A grant that looks only at the holders and overtakes all waiters."""
    return all(lease.agent == agent or not mode.conflicts(lease.mode) for lease in resource.leases)


def _reclaim_unguarded(real: Callable[..., Resource]) -> Callable[..., Resource]:
    """A reclaim that takes any lease, not only an expired one."""

    def end(resource: Resource, instant: int, world: World, happened: list) -> Resource:
        return real(
            replace(resource, leases=tuple(replace(lease, expires_at=instant) for lease in resource.leases)),
            instant,
            world,
            happened,
        )

    return end


def _pay_twice(real: Callable[..., object]) -> Callable[..., object]:
    """Two reclaimers notice the same expiry, and each takes the penalty."""

    def settle(world: World, now: int) -> None:
        events = len(world.events)
        real(world, now)
        world.events += world.events[events:]

    return settle


def _reset_tokens(real: Callable[..., None]) -> Callable[..., None]:
    """A resource that is free again is forgotten, and its token counter too."""

    def end_lease(world: World, resource: Resource, lease: Lease, now: int, trust: object) -> None:
        real(world, resource, lease, now, trust)
        after = world.resources[resource.name]
        if not after.leases:
            world.put(replace(after, last_token=0))

    return end_lease


def _never_offer(resource: Resource, *_: object) -> Resource:
    """A free resource that is never offered."""
    return resource


def violation(world: str, judging: bool = False) -> str:
    with pytest.raises(Violation) as found:
        Explorer(world, judging).run()
    print(found.value)
    return str(found.value)


@pytest.mark.parametrize("world", ["3:ee", "3:s"])
def test_it_finds_edges_to_holders_alone(monkeypatch: pytest.MonkeyPatch, world: str) -> None:
    monkeypatch.setattr(rules_of, "find_cycle", _holders_only)
    assert "a cycle" in violation(world)


def test_it_finds_overtaking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_of, "is_free", _overtaking)
    assert "a cycle" in violation("3:ee")


def test_it_finds_an_offer_that_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_of, "is_free", _overtaking)
    assert "taken back" in violation("2:s", judging=True)


def test_it_finds_an_unguarded_reclaim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_of, "_end", _reclaim_unguarded(time_of._end))
    assert "were due" in violation("2:s")


def test_it_finds_a_penalty_paid_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_of, "settle", _pay_twice(time_of.settle))
    assert "trust was taken" in violation("2:s")


def test_it_finds_tokens_that_are_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_of, "_end_lease", _reset_tokens(rules_of._end_lease))
    assert "the token went back" in violation("2:s")


def test_it_finds_a_missing_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_of, "offer", _never_offer)
    monkeypatch.setattr(rules_of, "offer", _never_offer)
    assert "free but not offered" in violation("2:s")
