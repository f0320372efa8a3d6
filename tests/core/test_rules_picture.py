"""The list of deadlocks: refusals that would still close a cycle, and no others."""

from coordination.core.messages import Step
from coordination.core.waitgraph import DeadlockPair

from .scene import TTL, WAIT_TTL, Scene
from .test_rules_deadlock import crossed


def refused() -> Scene:
    """At 100, B was refused a: A holds it and waits for b, which B holds."""
    scene = crossed()
    scene.at(100).deadlock("B", "a")
    return scene


def kept_alive(scene: Scene, until: int) -> Scene:
    """Both agents keep their leases, and A keeps waiting."""
    for now in range(scene.now, until, TTL - 1):
        scene.at(now)
        scene.grant("A", "a")
        scene.grant("B", "b")
        scene.held("A", "b")
    return scene.at(until)


def test_a_pair_names_both_agents_and_what_each_wants_from_the_other() -> None:
    assert refused().pairs() == [
        DeadlockPair(("B", "A"), ("a", "b"), (Step("B", "a"), Step("A", "b")), at=100)
    ]


def test_a_longer_chain_stands_in_the_cycle() -> None:
    scene = Scene()
    for agent, resource in (("A", "a"), ("B", "b"), ("C", "c")):
        scene.grant(agent, resource)
    scene.held("A", "b")
    scene.held("B", "c")
    scene.deadlock("C", "a")
    (pair,) = scene.pairs()
    assert (pair.agents, pair.resources) == (("C", "A"), ("a", "b"))
    assert pair.cycle == (Step("C", "a"), Step("A", "b"), Step("B", "c"))


def test_a_pair_is_listed_while_it_is_younger_than_a_wait() -> None:
    scene = kept_alive(refused(), 100 + WAIT_TTL - 1)
    assert len(scene.pairs()) == 1
    assert kept_alive(scene, 100 + WAIT_TTL).pairs() == []


def test_a_pair_stays_when_another_wait_for_its_resource_ends() -> None:
    scene = crossed()
    scene.held("W", "a")  # expires at 35 000
    kept_alive(scene, 20_000).deadlock("B", "a")
    scene = kept_alive(scene, WAIT_TTL)
    assert scene.queue("a") == []
    assert len(scene.pairs()) == 1


def test_a_new_refusal_makes_the_pair_young_again() -> None:
    scene = kept_alive(refused(), 20_000)
    scene.deadlock("B", "a")
    (pair,) = kept_alive(scene, 100 + WAIT_TTL).pairs()
    assert pair.at == 20_000


def test_a_pair_goes_when_the_other_stops_waiting() -> None:
    scene = refused()
    scene.withdraw("A", "b")
    assert scene.pairs() == []


def test_a_pair_goes_when_the_lease_that_closes_the_cycle_ends() -> None:
    for resource, agent in (("a", "A"), ("b", "B")):
        scene = refused()
        scene.release(agent, resource)
        assert scene.pairs() == []
    assert refused().at(TTL).pairs() == []


def test_a_pair_comes_back_when_the_cycle_would_close_again() -> None:
    scene = refused()
    scene.withdraw("A", "b")
    scene.held("A", "b")
    assert len(scene.pairs()) == 1


def test_a_withdrawal_removes_the_pair() -> None:
    scene = refused()
    assert scene.withdraw("B", "a")
    assert scene.pairs() == []
    assert not scene.withdraw("B", "a")


def test_a_withdrawal_from_another_resource_keeps_the_pair() -> None:
    scene = refused()
    assert not scene.withdraw("B", "c")
    assert not scene.withdraw("A", "a")
    assert len(scene.pairs()) == 1


def test_a_refusal_is_forgotten_when_the_request_is_granted() -> None:
    scene = refused()
    scene.release("A", "a")
    scene.grant("B", "a")
    scene.release("B", "a")
    scene.grant("A", "a")
    assert scene.pairs() == []


def test_a_refusal_that_became_a_wait_is_not_listed() -> None:
    scene = refused()
    scene.withdraw("A", "b")
    assert scene.held("B", "a").position == 1
    scene.deadlock("A", "b")
    (pair,) = scene.pairs()
    assert pair.agents == ("A", "B")


def test_a_refusal_to_write_is_listed_beside_a_lease_to_read() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("A", "x")
    scene.deadlock("B", "x")
    scene.grant_read("B", "x")  # renews, and says nothing about writing
    (pair,) = scene.pairs()
    assert (pair.agents, pair.resources) == (("B", "A"), ("x", "x"))


def test_pairs_are_listed_oldest_first() -> None:
    scene = crossed()
    scene.grant("C", "c")
    scene.held("A", "c")
    scene.at(1).deadlock("C", "a")
    scene.at(2).deadlock("B", "a")
    assert [pair.agents[0] for pair in scene.pairs()] == ["C", "B"]


def test_a_remembered_refusal_changes_no_decision() -> None:
    scene, other = refused(), crossed().at(100)
    for each in (scene, other):
        each.at(200)
        each.grant("C", "c")
    assert scene.held("C", "a") == other.held("C", "a")
    assert scene.release("A", "a") == other.release("A", "a")
