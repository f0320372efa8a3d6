"""Offers: how a resource passes to the next in the queue, and what happens to agents that do not answer."""

from coordination.core.messages import Granted, Held, Kind

from .scene import OFFER, TTL, WAIT_TTL, Scene


def handed_over(*waiting: str) -> Scene:
    """A holds x, `waiting` wait for it in this order, and A releases it at 1 000."""
    scene = Scene()
    scene.grant("A", "x")
    for agent in waiting:
        scene.held(agent, "x")
    scene.at(1_000).release("A", "x")
    return scene


def test_a_release_offers_to_the_head_of_the_queue() -> None:
    scene = handed_over("B", "C")
    assert scene.offered("x") == {"B": 1_000}
    assert (scene.holders("x"), scene.queue("x")) == ([], ["B", "C"])


def test_the_offer_is_claimed_by_asking_again() -> None:
    scene = handed_over("B", "C")
    assert isinstance(scene.at(1_000 + OFFER - 1).ask("B", "x"), Granted)
    assert (scene.holders("x"), scene.queue("x"), scene.offered("x")) == (["B"], ["C"], {})


def test_a_resource_under_offer_is_not_free() -> None:
    scene = handed_over("B")
    refused = scene.at(1_500).held("D", "x")
    assert (refused.holder, refused.offered, refused.position) == ("B", True, 2)
    assert scene.queue("x") == ["B", "D"]


def test_an_offer_ends_exactly_when_its_time_is_over() -> None:
    scene = handed_over("B")
    assert scene.at(1_000 + OFFER - 1).queue("x") == ["B"]
    assert scene.at(1_000 + OFFER).queue("x") == []
    assert scene.grant("D", "x").lease.token == 2


def test_a_lapsed_offer_ends_its_wait_and_every_silent_wait() -> None:
    scene = handed_over("B", "C", "D", "E")
    scene.at(1_800).held("D", "x")
    scene.events()
    scene.at(1_000 + OFFER)
    assert (scene.queue("x"), scene.offered("x")) == (["D"], {"D": 1_000 + OFFER})
    events = [(event.kind, event.agent, event.at) for event in scene.events()]
    assert events == [
        (Kind.LAPSED, "B", 3_000),
        (Kind.LAPSED, "C", 3_000),
        (Kind.LAPSED, "E", 3_000),
        (Kind.OFFERED, "D", 3_000),
    ]


def test_a_queue_of_dead_agents_delays_a_free_resource_by_one_offer() -> None:
    scene = handed_over(*(f"W{number}" for number in range(8)))
    assert isinstance(scene.at(1_000 + OFFER).ask("D", "x"), Granted)


def test_an_agent_that_asked_at_the_instant_the_offer_began_is_not_silent() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.at(1_000).held("C", "x")
    scene.release("A", "x")
    assert scene.at(1_000 + OFFER).queue("x") == ["C"]


def test_a_wait_does_not_expire_under_offer() -> None:
    """The wait was last refreshed at 0 and would expire at 35 000; the offer begins at 34 000."""
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.at(29_000).grant("A", "x")
    scene.at(34_000).release("A", "x")
    assert scene.at(WAIT_TTL + 500).queue("x") == ["B"]
    assert isinstance(scene.ask("B", "x"), Granted)


def test_the_run_of_readers_at_the_head_is_offered_together() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held_read("B", "x")
    scene.held_read("C", "x")
    scene.held("D", "x")
    scene.held_read("E", "x")
    scene.at(10).release("A", "x")
    assert scene.offered("x") == {"B": 10, "C": 10}
    scene.grant_read("C", "x")
    assert (scene.holders("x"), scene.offered("x")) == (["C"], {"B": 10})


def test_a_writer_is_offered_when_the_last_reader_has_left() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("C", "x")
    scene.at(1).release("A", "x")
    assert scene.offered("x") == {}
    scene.at(2).release("B", "x")
    assert scene.offered("x") == {"C": 2}


def test_an_offer_after_an_expiry_begins_at_the_instant_of_the_expiry() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(20_000).held("B", "x")
    assert scene.at(TTL + 1_500).offered("x") == {"B": TTL}
    assert scene.at(TTL + OFFER).queue("x") == []


def test_offers_follow_one_another_even_without_a_request() -> None:
    """A's lease expires at 30 000, B's offer lapses at 32 000, and C (which asked since) has an offer until
    34 000."""
    scene = Scene()
    scene.grant("A", "x")
    scene.at(10_000).held("B", "x")
    scene.held("C", "x")
    scene.at(TTL).held("C", "x")
    scene.at(TTL + 2 * OFFER - 1)
    assert scene.offered("x") == {"C": TTL + OFFER}
    assert isinstance(scene.ask("C", "x"), Granted)


def test_a_wait_that_ends_at_the_instant_of_the_expiry_is_not_offered() -> None:
    """Ends at one instant are one step, and offers come after them."""
    scene = Scene()
    scene.at(5_000).grant("A", "x")
    scene.held("B", "x")
    scene.at(5_000 + WAIT_TTL - TTL).grant("A", "x")
    scene.events()
    scene.at(5_000 + WAIT_TTL)
    assert (scene.holders("x"), scene.queue("x")) == ([], [])
    assert [event.kind for event in scene.events()] == [Kind.EXPIRED, Kind.LAPSED]


def test_when_the_agent_on_offer_withdraws_the_next_is_offered_the_resource() -> None:
    scene = handed_over("B", "C")
    scene.at(1_500).withdraw("B", "x")
    assert scene.offered("x") == {"C": 1_500}


def test_the_next_in_line_has_a_whole_offer_of_its_own() -> None:
    scene = handed_over("B", "C")
    scene.at(1_200).held("C", "x")
    assert scene.at(1_000 + OFFER).offered("x") == {"C": 1_000 + OFFER}
    assert isinstance(scene.at(1_000 + 2 * OFFER - 1).ask("C", "x"), Granted)


def test_a_waiter_behind_the_offer_that_asks_keeps_its_place() -> None:
    scene = handed_over("B", "C")
    again = scene.at(1_200).ask("C", "x")
    assert isinstance(again, Held)
    assert (again.position, again.holder, again.offered) == (2, "B", True)


def test_the_events_of_an_offer() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.events()
    scene.at(1_000).release("A", "x")
    released, offered = scene.events()
    assert (released.kind, offered.kind, offered.agent) == (Kind.RELEASED, Kind.OFFERED, "B")
    assert (offered.at, offered.until) == (1_000, 1_000 + OFFER)
