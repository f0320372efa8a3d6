"""Deadlock: refused before it exists, with the cycle that the wait would have closed."""

from coordination.core.messages import Deadlock, Granted, Kind, Step
from coordination.core.model import Mode

from .scene import Scene


def crossed() -> Scene:
    """A holds a and waits for b, which B holds."""
    scene = Scene()
    scene.grant("A", "a")
    scene.grant("B", "b")
    scene.held("A", "b")
    return scene


def test_the_second_half_of_a_cycle_is_refused_and_named() -> None:
    scene = crossed()
    assert scene.at(5).ask("B", "a") == Deadlock(
        holder="A", waiting_on="b", cycle=(Step("B", "a"), Step("A", "b"))
    )


def test_the_refused_agent_is_not_queued() -> None:
    scene = crossed()
    scene.deadlock("B", "a")
    assert scene.queue("a") == []
    assert scene.world.waits_of("B") == []


def test_a_refusal_adds_no_edge_to_the_graph() -> None:
    """If the refusal made B wait for A, A could not wait for B again."""
    scene = crossed()
    scene.grant("B", "d")
    scene.deadlock("B", "a")
    assert scene.held("A", "d").position == 1


def test_a_cycle_of_five_names_every_agent_once_from_the_caller_on() -> None:
    scene = Scene()
    for number in range(5):
        scene.grant(f"A{number}", f"r{number}")
    for number in range(4):
        scene.held(f"A{number}", f"r{number + 1}")
    refused = scene.deadlock("A4", "r0")
    assert refused.cycle == (
        Step("A4", "r0"),
        Step("A0", "r1"),
        Step("A1", "r2"),
        Step("A2", "r3"),
        Step("A3", "r4"),
    )
    assert (refused.holder, refused.waiting_on) == ("A0", "r1")


def test_waiters_ahead_are_waited_for_too() -> None:
    """With edges only to holders no request would be refused, and once h is free both would wait for ever."""
    scene = Scene()
    scene.grant("H", "h")
    scene.grant("A", "a")
    scene.held("B", "h")
    scene.held("A", "h")  # behind B
    refused = scene.deadlock("B", "a")
    assert refused.cycle == (Step("B", "a"), Step("A", "h"))


def test_among_blockers_on_a_cycle_holders_come_before_waiters_even_by_a_longer_path() -> None:
    scene = Scene()
    scene.grant("A", "a")
    scene.grant("C", "c")
    scene.grant("H", "x")
    scene.held("H", "c")  # H waits for C …
    scene.held("C", "a")  # … and C waits for A: three agents by way of the holder of x
    scene.held("W", "x")
    scene.held("W", "a")  # the waiter for x waits for A (and for C ahead of it)
    refused = scene.deadlock("A", "x")
    assert refused.cycle == (Step("A", "x"), Step("H", "c"), Step("C", "a"))


def test_among_holders_the_one_on_the_shortest_cycle_is_named() -> None:
    scene = Scene()
    scene.grant("A", "a")
    scene.grant("M", "m")
    scene.grant_read("far", "x")
    scene.grant_read("near", "x")
    scene.held("far", "m")
    scene.held("M", "a")
    scene.held_read(
        "near",
        "a",
    )
    refused = scene.deadlock("A", "x")
    assert refused.holder == "near"
    assert refused.cycle == (Step("A", "x"), Step("near", "a"))


def test_among_equals_the_earlier_one_is_named() -> None:
    scene = Scene()
    scene.grant("A", "a")
    scene.grant_read("second asked", "x")
    scene.grant_read("first asked", "x")
    scene.held_read("first asked", "a")
    scene.held_read("second asked", "a")
    assert scene.deadlock("A", "x").holder == "second asked"  # the first holder of x in grant order


def test_among_waiters_the_first_in_the_queue_is_named() -> None:
    scene = Scene()
    scene.grant("A", "a")
    scene.grant("H", "x")
    scene.held_read("V", "x")
    scene.held_read("W", "x")
    scene.held_read("W", "a")
    scene.held_read("V", "a")
    assert scene.deadlock("A", "x").holder == "V"


def test_a_blocker_on_no_cycle_is_not_named() -> None:
    scene = Scene()
    scene.grant("A", "a")
    scene.grant_read("innocent", "x")
    scene.grant_read("waiting", "x")
    scene.held("waiting", "a")
    assert scene.deadlock("A", "x").holder == "waiting"


def test_a_wait_that_the_agent_had_on_this_resource_leaves_the_queue() -> None:
    """A waits to read, in conflict with H alone; a request to write would also wait for R."""
    scene = Scene()
    scene.grant("H", "x")
    scene.held_read("R", "x")
    scene.held_read("A", "x")
    scene.grant("A", "a")
    scene.held("R", "a")
    scene.events()
    refused = scene.at(5).deadlock("A", "x")
    assert (refused.holder, refused.waiting_on) == ("R", "a")
    assert scene.queue("x") == ["R"]
    assert [event.kind for event in scene.events()] == [Kind.WITHDRAWN, Kind.DEADLOCK]


def test_a_full_queue_does_not_hide_a_deadlock() -> None:
    scene = crossed()
    for number in range(8):
        scene.held(f"W{number}", "a")
    assert scene.deadlock("B", "a").holder == "A"


def test_a_request_without_queue_is_refused_as_a_deadlock_too() -> None:
    scene = crossed()
    assert isinstance(scene.ask("B", "a", queue=False), Deadlock)


def test_an_agent_that_no_chain_leads_back_to_may_wait() -> None:
    scene = crossed()
    scene.grant("C", "c")
    assert scene.held("C", "b").position == 2


def test_after_the_release_the_same_request_is_granted() -> None:
    scene = crossed()
    scene.deadlock("B", "a")
    scene.release("B", "b")
    scene.grant("A", "b")
    scene.release("A", "a")
    assert isinstance(scene.ask("B", "a"), Granted)


def test_readers_do_not_wait_for_readers() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant("B", "b")
    scene.held("A", "b")
    scene.grant_read("B", "x")
    assert scene.deadlock("B", "x", Mode.EXCLUSIVE).cycle == (Step("B", "x"), Step("A", "b"))


def test_a_reader_that_does_not_block_a_reader_is_not_named() -> None:
    """A waits only for the writer ahead. That writer waits for B, which only reads."""
    scene = Scene()
    scene.grant("A", "a")
    scene.grant_read("B", "x")
    scene.held("W", "x")
    scene.held("B", "a")
    refused = scene.deadlock("A", "x", Mode.SHARED)
    assert refused.cycle == (Step("A", "x"), Step("W", "x"), Step("B", "a"))


def test_a_graph_never_leaves_its_workspace() -> None:
    """Two worlds with the same names: a wait that closes a cycle in one is allowed in the other."""
    one, other = crossed(), Scene()
    one.deadlock("B", "a")
    assert isinstance(other.ask("B", "a"), Granted)


def test_the_event_of_a_deadlock() -> None:
    scene = crossed()
    scene.events()
    refused = scene.at(7).deadlock("B", "a")
    (event,) = scene.events()
    assert (event.kind, event.at, event.resource, event.agent) == (Kind.DEADLOCK, 7, "a", "B")
    assert event.deadlock == refused
