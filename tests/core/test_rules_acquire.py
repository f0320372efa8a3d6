"""Who is granted, who renews, who is refused: the one rule in examples."""

import inspect

from coordination.core.messages import Acquire, Granted, Held, Reason
from coordination.core.model import Lease, Mode

from .scene import TTL, Scene


def test_a_free_resource_is_granted_for_the_time_to_live_of_every_lease() -> None:
    scene = Scene().at(1_000)
    assert scene.ask("A", "x") == Granted(
        "x", Lease("lse_1", "A", Mode.EXCLUSIVE, token=1, acquired_at=1_000, expires_at=1_000 + TTL)
    )


def test_no_request_can_say_how_long_a_lease_lasts() -> None:
    assert set(inspect.signature(Acquire).parameters) == {"resource", "mode", "agent", "lease_id", "queue"}


def test_asking_again_renews_and_keeps_id_token_and_mode() -> None:
    scene = Scene()
    first = scene.grant("A", "x").lease
    again = scene.at(12_345).grant("A", "x")
    assert again.renewed
    assert again.lease == Lease(first.lease_id, "A", Mode.EXCLUSIVE, first.token, 0, 12_345 + TTL)
    assert scene.holders("x") == ["A"]


def test_a_renewal_overtakes_waiters() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    assert scene.at(20_000).grant("A", "x").renewed
    assert scene.at(40_000).holders("x") == ["A"]


def test_a_request_to_read_renews_a_lease_to_write() -> None:
    scene = Scene()
    scene.grant("A", "x")
    again = scene.at(5).grant_read("A", "x")
    assert again.renewed
    assert again.lease.mode is Mode.EXCLUSIVE


def test_readers_share_and_everything_else_conflicts() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    assert scene.holders("x") == ["A", "B"]
    assert scene.held("C", "x", queue=False).holders == ("A", "B")
    scene.release("A", "x")
    scene.release("B", "x")
    scene.grant("C", "x")
    assert scene.held_read("A", "x").holder == "C"


def test_a_reader_does_not_overtake_a_waiting_writer() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.held("B", "x")
    refused = scene.held_read("C", "x")
    assert (refused.position, refused.holder) == (2, "A")  # when no holder conflicts, any holder is named


def test_a_reader_with_no_waiter_ahead_joins_the_readers_on_offer() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held_read("B", "x")
    scene.release("A", "x")
    assert scene.offered("x") == {"B": 0}
    scene.grant_read("C", "x")
    assert scene.holders("x") == ["C"]


def test_the_time_of_a_lease_counts_from_the_grant() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.at(9_000).release("A", "x")
    lease = scene.at(10_000).grant("B", "x").lease
    assert (lease.acquired_at, lease.expires_at) == (10_000, 10_000 + TTL)
    assert scene.queue("x") == []


# --- asking for more ------------------------------------------------------------------------------


def test_a_sole_reader_that_asks_to_write_gets_a_new_lease_in_place_of_the_old() -> None:
    scene = Scene()
    old = scene.grant_read("A", "x").lease
    new = scene.at(7).grant("A", "x")
    assert not new.renewed
    assert (new.lease.lease_id, new.lease.token, new.lease.mode) == ("lse_2", 2, Mode.EXCLUSIVE)
    assert scene.holders("x") == ["A"]
    assert scene.trust("A") == "50.0"
    assert scene.not_released("A", "x", old.lease_id).reason is Reason.STALE_LEASE


def test_a_reader_among_readers_waits_to_write_and_keeps_reading() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    assert scene.held("A", "x").holders == ("B",)
    assert (scene.holders("x"), scene.queue("x")) == (["A", "B"], ["A"])
    scene.at(10).release("B", "x")
    assert scene.offered("x") == {"A": 10}
    assert scene.at(20).grant("A", "x").lease.token == 3


def test_renewing_a_read_lease_leaves_the_wait_to_write_where_it_is() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("A", "x")
    before = scene.world.resource("x").queue
    assert scene.at(100).grant_read("A", "x").renewed
    assert scene.world.resource("x").queue == before


def test_a_sole_reader_passes_a_writer_that_its_own_lease_holds_back() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.held("B", "x")
    scene.held_read("C", "x")
    assert scene.grant("A", "x").lease.mode is Mode.EXCLUSIVE
    assert scene.queue("x") == ["B", "C"]


def test_a_sole_reader_does_not_pass_a_reader_on_offer() -> None:
    """A read lease does not hold back the first other waiter, so that waiter is ahead."""
    scene = Scene()
    scene.grant_read("A", "x")
    scene.held("B", "x")
    scene.held_read("C", "x")
    scene.withdraw("B", "x")
    assert list(scene.offered("x")) == ["C"]
    refused = scene.held("A", "x")
    assert (refused.holder, refused.offered, refused.holders, refused.position) == ("C", True, (), 2)


def test_two_readers_that_both_ask_to_write_would_wait_for_each_other() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("A", "x")
    refused = scene.deadlock("B", "x")
    assert (refused.holder, refused.waiting_on) == ("A", "x")
    assert scene.holders("x") == ["A", "B"]


# --- asking in the other mode ---------------------------------------------------------------------


def test_a_waiter_that_asks_in_the_other_mode_loses_its_place() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.held("C", "x")
    assert scene.at(5).held_read("B", "x").position == 2
    assert scene.queue("x") == ["C", "B"]
    assert scene.world.resource("x").queue[1].since == 5


def test_a_waiter_that_asks_in_the_other_mode_is_judged_anew() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.held("B", "x")
    assert isinstance(scene.read("B", "x"), Granted)
    assert (scene.holders("x"), scene.queue("x")) == (["A", "B"], [])


def test_a_full_queue_admits_the_agent_that_has_just_lost_its_place() -> None:
    scene = Scene()
    scene.grant("A", "x")
    for number in range(8):
        scene.held(f"B{number}", "x")
    refused = scene.held_read("B0", "x")
    assert (refused.position, refused.admitted) == (8, 8)


def test_a_waiter_that_asks_in_the_other_mode_and_does_not_wait_is_out_of_the_queue() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    assert scene.held("B", "x", Mode.SHARED, queue=False).position is None
    assert scene.queue("x") == []


def test_a_waiter_that_asks_in_the_other_mode_passes_its_offer_to_the_next() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.held("C", "x")
    scene.at(10).release("A", "x")
    refused = scene.at(20).held_read("B", "x")
    assert (refused.holder, refused.offered, refused.position) == ("C", True, 2)
    assert scene.offered("x") == {"C": 20}


def test_a_lease_keeps_the_mode_it_was_granted_in() -> None:
    """The table of classes may change later; the lease keeps its mode."""
    scene = Scene()
    scene.grant_read("A", "doc:x")
    outcome = scene.ask("B", "doc:x")
    assert isinstance(outcome, Held)
    assert scene.at(100).grant_read("A", "doc:x").lease.mode is Mode.SHARED
