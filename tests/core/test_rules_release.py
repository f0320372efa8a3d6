"""Release, withdrawal, revocation and return: who may end what, and what it costs."""

from decimal import Decimal

from coordination.core.messages import Kind, NotReleased, Reason, Released
from coordination.core.model import Mode

from .scene import TTL, Scene


def test_a_holder_releases_with_or_without_the_id() -> None:
    scene = Scene()
    scene.grant("A", "x")
    assert scene.release("A", "x") == Released("lse_1", "x", 1, Decimal("50.5"), Decimal("0.5"))
    scene.grant("A", "x")
    assert scene.release("A", "x", "lse_2") == Released("lse_2", "x", 2, Decimal("51.0"), Decimal("0.5"))
    assert scene.holders("x") == []


def test_a_stale_id_is_refused_and_nothing_changes() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.release("A", "x")
    scene.at(5).grant("A", "x")
    scene.events()
    before = (scene.world.resource("x"), scene.world.agents["A"])
    assert scene.not_released("A", "x", "lse_1").reason is Reason.STALE_LEASE
    assert (scene.world.resource("x"), scene.world.agents["A"]) == before
    assert scene.events() == []


def test_an_id_of_no_lease_of_this_agent_is_always_stale() -> None:
    scene = Scene()
    scene.grant("A", "x")
    assert scene.not_released("B", "x", "lse_1").reason is Reason.STALE_LEASE  # another agent's lease
    assert scene.not_released("B", "y", "lse_1").reason is Reason.STALE_LEASE  # a lease on another resource
    assert scene.not_released("C", "z", "lse_9").reason is Reason.STALE_LEASE  # no lease has this id
    scene.held("B", "x")
    assert scene.not_released("B", "x", "lse_1").reason is Reason.STALE_LEASE  # B only waits
    assert scene.holders("x") == ["A"]


def test_a_release_without_a_lease_names_the_holder() -> None:
    scene = Scene()
    scene.grant("A", "x")
    assert scene.not_released("B", "x") == NotReleased(Reason.NOT_HELD, "A")
    assert scene.not_released("B", "y") == NotReleased(Reason.NOT_HELD, None)


def test_an_expired_lease_is_not_held_even_on_a_free_resource() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(TTL)
    assert scene.not_released("A", "x") == NotReleased(Reason.NOT_HELD, None)
    assert scene.not_released("A", "x", "lse_1").reason is Reason.STALE_LEASE
    assert scene.trust("A") == "45.0"


def test_a_lease_is_released_up_to_its_last_millisecond() -> None:
    scene = Scene()
    scene.grant("A", "x")
    assert scene.at(TTL - 1).release("A", "x").trust == Decimal("50.5")


def test_the_id_of_a_lease_before_the_upgrade_is_stale() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant("A", "x")
    assert scene.not_released("A", "x", "lse_1").reason is Reason.STALE_LEASE
    assert scene.release("A", "x", "lse_2").token == 2


def test_a_renewed_lease_is_released_with_the_id_it_always_had() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(100).grant("A", "x")
    assert scene.release("A", "x", "lse_1").lease_id == "lse_1"


def test_a_reader_releases_its_own_lease_alone() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.release("A", "x")
    assert scene.holders("x") == ["B"]
    assert scene.not_released("A", "x") == NotReleased(Reason.NOT_HELD, "B")


def test_a_reader_that_waits_to_write_keeps_its_wait_when_it_releases() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("A", "x")
    scene.release("A", "x")
    assert (scene.holders("x"), scene.queue("x")) == (["B"], ["A"])


def test_a_withdrawal_leaves_the_queue_and_moves_no_trust() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.held("C", "x")
    scene.events()
    assert scene.at(9).withdraw("B", "x")
    assert scene.queue("x") == ["C"]
    assert scene.trust("B") == "50.0"
    (event,) = scene.events()
    assert (event.kind, event.agent, event.at) == (Kind.WITHDRAWN, "B", 9)


def test_a_withdrawal_without_a_wait_changes_nothing() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.events()
    before = dict(scene.world.resources)
    assert not scene.withdraw("A", "x")  # A holds it, and goes on holding it
    assert not scene.withdraw("B", "x")
    assert not scene.withdraw("B", "nothing")
    assert (scene.world.resources, scene.events()) == (before, [])


def test_a_withdrawal_lets_the_waiters_behind_move_up() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.held("B", "x")
    scene.held_read("C", "x")
    scene.at(4).withdraw("B", "x")
    assert scene.offered("x") == {"C": 4}


def test_a_withdrawal_keeps_the_lease_to_read() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.grant_read("B", "x")
    scene.held("A", "x")
    assert scene.withdraw("A", "x")
    assert (scene.holders("x"), scene.queue("x")) == (["A", "B"], [])


def test_a_revocation_moves_no_trust() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    assert scene.at(3).revoke("x", "lse_1")
    assert (scene.holders("x"), scene.offered("x")) == ([], {"B": 3})
    assert scene.trust("A") == "50.0"
    assert scene.world.agents["A"].releases == 0
    assert scene.grant("B", "x").lease.token == 2


def test_a_lease_that_has_ended_is_not_ended_again() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.release("A", "x")
    scene.grant("B", "x")
    assert not scene.revoke("x", "lse_1")
    assert not scene.revoke("y", "lse_1")
    assert scene.holders("x") == ["B"]


def test_a_lease_that_was_renewed_meanwhile_is_not_returned() -> None:
    """The agent did not receive the grant, asked again, and received the renewal."""
    scene = Scene()
    untold = scene.grant("A", "x").lease
    scene.at(200).grant("A", "x")
    assert not scene.at(210).return_undelivered("x", untold.lease_id, untold.expires_at)
    assert scene.holders("x") == ["A"]
    assert scene.return_undelivered("x", untold.lease_id, 200 + TTL)
    assert scene.holders("x") == []


def test_the_events_of_a_release() -> None:
    scene = Scene()
    scene.grant("A", "x", Mode.EXCLUSIVE)
    scene.events()
    scene.at(8).release("A", "x")
    (event,) = scene.events()
    assert (event.kind, event.at, event.agent) == (Kind.RELEASED, 8, "A")
    assert event.lease is not None
    assert event.lease.lease_id == "lse_1"
    assert event.trust is not None
    assert (str(event.trust.score), str(event.trust.delta)) == ("50.5", "0.5")
