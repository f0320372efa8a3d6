"""Places in the queue: who is admitted, what the caller is answered, how long a place lasts."""

import pytest

from coordination.core.messages import Granted, Held, Kind
from coordination.core.model import Mode, Rules

from .scene import TTL, WAIT_TTL, Scene


def test_fifty_agents_ask_for_one_resource() -> None:
    scene = Scene()
    answers = [scene.ask(f"agent {number}", "x") for number in range(50)]
    assert isinstance(answers[0], Granted)
    refused = [answer for answer in answers[1:] if isinstance(answer, Held)]
    assert len(refused) == 49
    assert [answer.wait_ms for answer in refused] == [25, 50, 100, 200, 400] + [800] * 44
    assert [answer.admitted for answer in refused] == [1, 2, 3, 4, 5, 6, 7] + [8] * 42
    assert [answer.position for answer in refused] == [1, 2, 3, 4, 5, 6, 7, 8] + [None] * 41
    assert [answer.kept_until for answer in refused] == [WAIT_TTL] * 8 + [None] * 41
    assert {answer.holder for answer in refused} == {"agent 0"}
    assert {answer.expires_at for answer in refused} == {TTL}


@pytest.mark.parametrize(
    ("ahead", "wait_ms"), [(0, 25), (1, 50), (4, 400), (5, 800), (6, 800), (10_000, 800)]
)
def test_the_wait_doubles_with_each_wait_ahead_up_to_the_cap(ahead: int, wait_ms: int) -> None:
    assert Rules().wait_ms(ahead) == wait_ms == min(800, 25 * 2**ahead)


def test_asking_again_keeps_the_place_and_refreshes_the_wait() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.held("C", "x")
    again = scene.at(800).held("B", "x")
    assert (again.position, again.wait_ms, again.admitted, again.kept_until) == (1, 25, 2, 800 + WAIT_TTL)
    wait = scene.world.resource("x").queue[0]
    assert (wait.agent, wait.since, wait.asked_at) == ("B", 0, 800)
    assert len(scene.events(Kind.QUEUED)) == 2


def test_a_place_ends_exactly_when_its_agent_has_not_asked_for_its_time() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(100).held("B", "x")
    scene.at(TTL - 1).grant("A", "x")
    assert scene.at(100 + WAIT_TTL - 1).queue("x") == ["B"]
    scene.events()
    assert scene.at(100 + WAIT_TTL).queue("x") == []
    (lapsed,) = scene.events()
    assert (lapsed.kind, lapsed.agent, lapsed.at) == (Kind.LAPSED, "B", 100 + WAIT_TTL)


def test_when_a_place_ends_the_one_behind_it_moves_up() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(100).held("B", "x")
    scene.at(200).held("C", "x")
    scene.at(TTL - 1).grant("A", "x")
    assert scene.at(100 + WAIT_TTL).queue("x") == ["C"]
    assert scene.held("C", "x").position == 1


def test_a_place_outlives_the_lease_before_it() -> None:
    """An agent can sleep until `expiresAt` and still be in the queue."""
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    assert isinstance(scene.at(TTL).ask("B", "x"), Granted)


def test_a_request_without_queue_gets_the_same_answer_and_no_place() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    refused = scene.held("C", "x", queue=False)
    assert (refused.position, refused.kept_until, refused.admitted, refused.wait_ms) == (None, None, 1, 50)
    assert scene.queue("x") == ["B"]
    assert "C" not in scene.world.agents
    scene.grant("D", "y")
    assert isinstance(scene.ask("C", "z", queue=False), Granted)


def test_a_waiter_keeps_its_place_when_it_asks_without_queue() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    again = scene.at(10).held("B", "x", queue=False)
    assert (again.position, again.kept_until) == (1, 10 + WAIT_TTL)


def test_a_free_place_goes_to_the_next_agent_that_asks() -> None:
    scene = Scene()
    scene.grant("A", "x")
    for number in range(8):
        scene.held(f"B{number}", "x")
    assert scene.held("C", "x").position is None
    scene.withdraw("B3", "x")
    assert scene.held("D", "x").position == 8
    assert scene.queue("x") == ["B0", "B1", "B2", "B4", "B5", "B6", "B7", "D"]


def test_a_refused_agent_without_a_place_waits_for_no_other() -> None:
    """Without a place there is no edge, so no cycle of waiters can close."""
    scene = Scene(Rules(queue_limit=0))
    scene.grant("A", "x")
    scene.grant("B", "y")
    assert scene.held("A", "y").position is None
    assert scene.held("B", "x").position is None


def test_an_agent_may_wait_for_several_resources_at_once() -> None:
    scene = Scene()
    for name in ("x", "y", "z"):
        scene.grant(name.upper(), name)
        assert scene.held("B", name).position == 1
    assert [resource.name for resource, _ in scene.world.waits_of("B")] == ["x", "y", "z"]


def test_the_number_of_waits_ahead_counts_readers_too() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held_read("B", "x")
    scene.held_read("C", "x")
    assert scene.held_read("D", "x").wait_ms == 100


def test_holders_are_named_with_the_last_end_of_their_leases() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.at(500).grant_read("B", "x")
    refused = scene.at(600).held("C", "x")
    assert (refused.holder, refused.holders, refused.expires_at) == ("A", ("A", "B"), 500 + TTL)


def test_under_offer_the_first_agent_it_is_offered_to_is_named() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held_read("B", "x")
    scene.held_read("C", "x")
    scene.release("A", "x")
    refused = scene.held("D", "x")
    assert (refused.holder, refused.holders, refused.offered, refused.expires_at) == ("B", (), True, None)
    assert refused.position == 3


def test_queued_and_granted_agents_are_recorded() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    assert {did: str(agent.trust) for did, agent in scene.world.agents.items()} == {"A": "50.0", "B": "50.0"}


def test_the_event_of_an_admission() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.events()
    scene.at(3).held_read("B", "x")
    (queued,) = scene.events()
    assert (queued.kind, queued.agent, queued.resource, queued.mode) == (Kind.QUEUED, "B", "x", Mode.SHARED)
    assert (queued.at, queued.until) == (3, 3 + WAIT_TTL)
