"""Time: what ends, when exactly, in which order, and whether it costs trust."""

from decimal import Decimal

import pytest

from coordination.core.messages import Granted, Kind
from coordination.core.model import Agent, Outage, Rules
from coordination.core.world import World

from .scene import OFFER, TTL, WAIT_TTL, Scene


def test_a_lease_ends_exactly_at_its_expiry() -> None:
    scene = Scene()
    scene.grant("A", "x")
    assert scene.at(TTL - 1).holders("x") == ["A"]
    assert scene.held("B", "x", queue=False).holder == "A"
    assert isinstance(scene.at(TTL).ask("B", "x"), Granted)


def test_an_expiry_does_not_depend_on_when_it_is_noticed() -> None:
    """Nothing settled the world before: the request at 100 000 finds the lease expired at its own instant."""
    scene = Scene()
    scene.grant("A", "x")
    scene.events()
    assert scene.at(100_000).grant("B", "x").lease.token == 2
    expired, granted = scene.events()
    assert (expired.kind, expired.agent, expired.at) == (Kind.EXPIRED, "A", TTL)
    assert (granted.kind, granted.at) == (Kind.GRANTED, 100_000)


def test_one_lease_is_reclaimed_once_and_costs_once() -> None:
    scene = Scene()
    scene.grant("A", "x")
    for now in (TTL, TTL, TTL + 1, 2 * TTL):
        scene.at(now)
    assert len(scene.events(Kind.EXPIRED)) == 1
    assert scene.world.agents["A"] == Agent("A", Decimal("45.0"), releases=0, expiries=1, moved_by="lse_1")


def test_a_renewed_lease_does_not_end_at_its_old_end() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(TTL - 1).grant("A", "x")
    assert scene.at(2 * TTL - 2).holders("x") == ["A"]
    assert scene.at(2 * TTL - 1).holders("x") == []


def test_at_its_end_a_lease_can_neither_be_renewed_nor_released() -> None:
    scene = Scene()
    scene.grant("A", "x")
    again = scene.at(TTL).grant("A", "x")
    assert not again.renewed
    assert again.lease.token == 2
    assert scene.trust("A") == "45.0"


def test_an_expired_lease_leaves_the_wait_to_write_in_the_queue() -> None:
    scene = Scene()
    scene.grant_read("A", "x")
    scene.at(10).grant_read("B", "x")
    scene.held("A", "x")
    scene.at(TTL)
    assert (scene.holders("x"), scene.queue("x")) == (["B"], ["A"])


def test_a_world_knows_when_its_next_end_is_due() -> None:
    scene = Scene()
    rules = scene.world.rules
    assert scene.world.resource("x").next_change(rules) is None
    scene.grant("A", "x")
    assert scene.world.resource("x").next_change(rules) == TTL
    scene.at(20_000).grant("A", "x")
    scene.held("B", "x")
    assert scene.world.resource("x").next_change(rules) == 20_000 + TTL
    scene.at(21_000).release("A", "x")
    assert scene.world.resource("x").next_change(rules) == 21_000 + OFFER
    scene.withdraw("B", "x")
    assert scene.world.resource("x").next_change(rules) is None


# --- trust ----------------------------------------------------------------------------------------


def test_trust_moves_in_exact_decimals() -> None:
    scene = Scene()
    for _ in range(3):
        scene.grant("A", "x")
        scene.release("A", "x")
    assert scene.trust("A") == "51.5"
    assert scene.world.agents["A"].releases == 3


@pytest.mark.parametrize(
    ("score", "after", "delta"),
    [("99.4", "99.9", "0.5"), ("99.8", "100.0", "0.2"), ("100.0", "100.0", "0.0")],
)
def test_trust_stops_at_a_hundred_and_the_event_has_the_real_change(
    score: str, after: str, delta: str
) -> None:
    scene = Scene()
    scene.world.agents["A"] = Agent("A", Decimal(score))
    scene.grant("A", "x")
    released = scene.release("A", "x")
    assert (str(released.trust), str(released.delta)) == (after, delta)


@pytest.mark.parametrize(
    ("score", "after", "delta"), [("5.5", "0.5", "-5.0"), ("3.0", "0.0", "-3.0"), ("0.0", "0.0", "0.0")]
)
def test_trust_stops_at_zero_and_the_event_has_the_real_change(score: str, after: str, delta: str) -> None:
    scene = Scene()
    scene.world.agents["A"] = Agent("A", Decimal(score))
    scene.grant("A", "x")
    (expired,) = scene.at(TTL).events(Kind.EXPIRED)
    assert expired.trust is not None
    assert (str(expired.trust.score), str(expired.trust.delta)) == (after, delta)


def test_trust_moves_in_the_order_of_time_across_resources() -> None:
    """3.0: the expiry at 30 000 takes it to 0.0, and later releases count from there. The same moves in any
    other order would end at another score."""
    scene = Scene()
    scene.world.agents["A"] = Agent("A", Decimal("3.0"))
    scene.grant("A", "x")
    scene.at(20_000).grant("A", "y")
    scene.at(40_000).release("A", "y")
    assert scene.trust("A") == "0.5"


def test_events_of_several_resources_are_in_the_order_of_time() -> None:
    scene = Scene()
    for number, name in enumerate(("c", "a", "b")):
        scene.at(number).grant("A", name)
    scene.events()
    scene.at(100_000)
    moves = [(event.at, event.resource, str(event.trust.score)) for event in scene.events() if event.trust]
    assert moves == [(TTL, "c", "45.0"), (TTL + 1, "a", "40.0"), (TTL + 2, "b", "35.0")]


# --- our own outage -------------------------------------------------------------------------------


def away(scene: Scene, since: int, until: int) -> Scene:
    scene.world.outages = (*scene.world.outages, Outage(since, until))
    return scene.at(until)


def test_an_outage_costs_no_agent_trust_and_the_event_says_so() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.events()
    away(scene, 10_000, 90_000)
    (expired,) = scene.events()
    assert (expired.kind, expired.at, expired.outage, expired.trust) == (Kind.EXPIRED, TTL, True, None)
    assert scene.holders("x") == []
    assert scene.world.agents["A"] == Agent("A", Decimal("50.0"))


@pytest.mark.parametrize(
    ("since", "until", "trust"), [(TTL - 1, TTL, "50.0"), (TTL, TTL + 9_000, "45.0"), (0, TTL - 1, "45.0")]
)
def test_only_expiries_within_the_outage_are_free_of_charge(since: int, until: int, trust: str) -> None:
    scene = Scene()
    scene.grant("A", "x")
    away(scene, since, until)
    scene.at(200_000)
    assert scene.trust("A") == trust


def test_a_wait_that_expired_in_an_outage_begins_anew_at_its_end() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.at(20_000).grant("A", "x")
    scene.at(20_001).grant_read("R", "y")
    scene.held("B", "y")
    scene.at(40_000).grant_read("R", "y")
    scene.at(60_000).grant_read("R", "y")  # it keeps its lease; B's wait would expire at 55 001
    assert scene.queue("y") == []
    scene.held("B", "y")
    scene.at(70_000).grant_read("R", "y")
    away(scene, 94_000, 96_000)  # B's wait expires at 95 000, R's lease at 100 000
    assert [wait.asked_at for wait in scene.world.resource("y").queue] == [96_000]
    scene.grant_read("R", "y")
    scene.at(120_000).grant_read("R", "y")
    assert scene.at(96_000 + WAIT_TTL - 1).queue("y") == ["B"]
    assert scene.at(96_000 + WAIT_TTL).queue("y") == []


def test_an_offer_that_lapsed_in_an_outage_begins_anew_at_its_end() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.held("C", "x")
    scene.at(1_000).release("A", "x")
    away(scene, 1_500, 60_000)
    assert scene.offered("x") == {"B": 60_000}
    assert scene.queue("x") == ["B", "C"]
    assert scene.at(60_000 + OFFER - 1).queue("x") == ["B", "C"]


def test_a_resource_that_became_free_in_an_outage_is_on_offer_after_it() -> None:
    scene = Scene()
    scene.grant("A", "x")
    scene.held("B", "x")
    away(scene, 10_000, 500_000)
    assert list(scene.offered("x")) == ["B"]
    assert isinstance(scene.ask("B", "x"), Granted)


# --- tokens and limits ----------------------------------------------------------------------------


def test_tokens_rise_through_release_expiry_upgrade_and_return() -> None:
    scene = Scene()
    tokens = [scene.grant_read("A", "x").lease.token, scene.grant("A", "x").lease.token]
    scene.release("A", "x")
    tokens.append(scene.at(10).grant("B", "x").lease.token)
    tokens.append(scene.at(10 + TTL).grant("C", "x").lease.token)
    scene.revoke("x", "lse_4")
    tokens.append(scene.grant("A", "x").lease.token)
    assert tokens == [1, 2, 3, 4, 5]
    assert scene.grant("A", "other").lease.token == 1  # each resource has its own counter


def test_a_resource_that_was_forgotten_counts_on_from_the_floor() -> None:
    scene = Scene(token_floor=41)
    assert scene.grant("A", "x").lease.token == 42
    assert not scene.withdraw("A", "y")
    scene.not_released("A", "y")
    assert scene.grant("A", "y").lease.token == 42


def test_a_workspace_has_a_limit_of_resources_in_use() -> None:
    scene = Scene(active_limit=2)
    scene.grant("A", "x")
    scene.grant("A", "y")
    refused = scene.ask("B", "z")
    assert refused.limit == 2
    assert (scene.holders("z"), "B" in scene.world.agents) == ([], False)
    assert scene.held("B", "x").position == 1  # x is in use already
    assert scene.grant("A", "y").renewed
    scene.release("A", "y")
    scene.grant("B", "z")


def test_a_resource_that_is_only_waited_for_counts_too() -> None:
    scene = Scene(active_limit=1)
    scene.grant("A", "x")
    scene.held("B", "x")
    scene.release("A", "x")
    assert scene.world.active == 1
    assert scene.ask("C", "y").limit == 1
    scene.at(OFFER)
    assert scene.world.active == 0
    scene.grant("C", "y")


def test_the_constants_have_the_values_that_the_design_gives_them() -> None:
    assert Rules() == Rules(
        30_000, 25, 800, 8, 2_000, 35_000, Decimal("50.0"), Decimal("0.5"), Decimal("-5.0")
    )
    assert World(Rules()).active_limit is None
