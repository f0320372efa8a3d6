"""Storage fails: every caller hears so, and no agent pays for a lease that it was not told of."""

from typing import Any

import pytest

import coordination.storage.transaction
from coordination.authority.replies import Unavailable
from coordination.core.messages import Acquire, Granted, Held, Released
from coordination.core.model import Mode
from coordination.core.world import World
from coordination.storage.engines.base import StorageFault
from coordination.storage.store import Store
from tests.store.doors import Database, Door, Faulty, SqliteDatabase, Time, until

STAGES = ["begin", "load", "write", "commit", "answer"]


@pytest.mark.parametrize("stage", STAGES)
async def test_every_caller_of_a_failed_batch_hears_that_there_is_no_lease(
    door: Door, faulty: Faulty, stage: str
) -> None:
    faulty.failing = stage
    heard = await door.together(*(door.acquire(f"did:{n}", f"lock:{n}") for n in range(20)))
    assert [type(one) for one in heard] == [Unavailable] * 20
    assert door.events == []


@pytest.mark.parametrize("stage", STAGES)
async def test_a_lease_nobody_was_told_of_is_given_back_before_anything_else(
    door: Door, faulty: Faulty, stage: str
) -> None:
    faulty.failing = stage
    [heard] = await door.together(door.acquire("did:a"))
    assert isinstance(heard, Unavailable)
    faulty.failing = ""
    other = await door.acquire("did:b")
    assert isinstance(other, Granted)
    await door.tick()  # what happened is told after the answer
    # The token of the lease that was made is used up; one that was not made used none.
    assert other.lease.token == (2 if stage == "answer" else 1)
    assert [event["actorDid"] for event in door.kinds("released")] == ["did:a"] * (stage == "answer")
    assert all("trust" not in event for event in door.kinds("released"))


@pytest.mark.parametrize("stage", STAGES)
async def test_whoever_asks_again_has_the_lease_that_was_made(
    door: Door, faulty: Faulty, database: Database, stage: str
) -> None:
    faulty.failing = stage
    await door.together(door.acquire("did:a"))
    made = database.rows("SELECT lease_id FROM lease_lease")
    faulty.failing = ""
    again = await door.acquire("did:a")
    assert isinstance(again, Granted)
    assert again.renewed == (stage == "answer")
    assert not made or made == [(again.lease.lease_id,)]
    assert await door.acquire("did:b") == await door.acquire("did:b")  # lease_held, and in its place
    assert isinstance(await door.release("did:a", lease_id=again.lease.lease_id), Released)


async def test_a_renewal_nobody_was_told_of_either_is_given_back(door: Door, faulty: Faulty) -> None:
    faulty.failing = "answer"
    await door.together(door.acquire("did:a"))
    await door.together(door.acquire("did:a"))
    faulty.failing = ""
    assert isinstance(await door.acquire("did:b"), Granted)
    await door.tick()
    assert [event["actorDid"] for event in door.kinds("released")] == ["did:a"]


async def test_a_renewal_whose_caller_went_away_is_given_back(door: Door, faulty: Faulty) -> None:
    faulty.failing = "answer"
    await door.together(door.acquire("did:a"))
    faulty.failing = ""
    await door.deserted(door.acquire("did:a"))
    await until(lambda: door.kinds("released"))
    assert isinstance(await door.acquire("did:b"), Granted)


async def test_a_renewal_told_keeps_the_lease(door: Door, faulty: Faulty) -> None:
    """Its caller goes away, but the agent has heard of the lease before."""
    await door.acquire("did:a")
    await door.deserted(door.acquire("did:a"))
    await door.tick()
    assert isinstance(await door.acquire("did:b"), Held)


async def test_asking_for_more_than_the_undelivered_lease_is_asking_again(door: Door, faulty: Faulty) -> None:
    """Its shared lease would stay behind, unknown to the agent that waits to write."""
    reader = await door.acquire("did:r", mode=Mode.SHARED)
    faulty.failing = "answer"
    await door.together(door.acquire("did:a", mode=Mode.SHARED))
    faulty.failing = ""
    refused = await door.acquire("did:a", mode=Mode.EXCLUSIVE)
    assert isinstance(refused, Held)
    assert (refused.holders, refused.position) == (("did:r",), 1)
    assert isinstance(reader, Granted)
    await door.release("did:r")
    assert isinstance(await door.acquire("did:a"), Granted)
    await door.tick()
    assert [event["actorDid"] for event in door.kinds("released")] == ["did:a", "did:r"]


@pytest.mark.parametrize("stage", STAGES)
async def test_nobody_pays_for_a_failure(
    door: Door, faulty: Faulty, database: Database, time_: Time, stage: str
) -> None:
    faulty.failing = stage
    await door.together(door.acquire("did:a"), door.acquire("did:b", "lock:b"))
    faulty.failing = ""
    await door.tick()
    await door.acquire("did:c")
    time_.passes(60_000)
    await door.tick()
    assert database.rows("SELECT agent, delta FROM lease_trust_move") == [("did:c", -50)]


async def test_failures_that_repeat_leave_nothing_behind(
    door: Door, faulty: Faulty, database: Database
) -> None:
    """A full disk: each batch fails at its commit, and none is there afterwards."""
    for stage in ("commit", "write", "answer"):
        faulty.failing = stage
        for number in range(3):
            await door.together(*(door.acquire(f"did:{n}", f"lock:{stage}{number}{n}") for n in range(300)))
    faulty.failing = ""
    await door.acquire("did:z", "lock:z")
    await until(lambda: not door.authority._owed)
    await door.tick()
    assert database.rows("SELECT agent FROM lease_lease") == [("did:z",)]
    assert database.rows("SELECT workspace, active FROM lease_tenant") == [("ws_1", 1)]


async def test_one_slow_failure_is_all_that_a_caller_waits_for(
    door: Door, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.authority.thread.SLOW_FAULT_MS", 0)
    monkeypatch.setattr("coordination.authority.thread.BATCH", 2)
    faulty.failing = "begin"
    heard = await door.together(*(door.acquire(f"did:{n}", f"lock:{n}") for n in range(20)))
    assert [type(one) for one in heard] == [Unavailable] * 20
    assert faulty.seen.count("begin") <= 3  # the first at the start


async def test_a_failure_after_the_commit_is_not_told_to_its_callers(
    sqlite_database: Database, time_: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door(sqlite_database.engine())

    def fail() -> int:
        raise StorageFault("planted")

    time_.passes(1)
    monkeypatch.setattr(door.store.engine, "next_due", fail)
    assert isinstance(await door.acquire("did:a"), Granted)
    monkeypatch.undo()
    assert isinstance(await door.release("did:a"), Released)
    door.stop()


async def test_a_full_disk(sqlite_database: SqliteDatabase, time_: Time) -> None:
    """Real this time: SQLite may take no more pages, until it may again."""
    engine = sqlite_database.engine()
    door = Door(engine)

    def limit(store: Store, pages: int = 0) -> None:
        [[now]] = store.engine._rows("PRAGMA page_count", [()])
        store.engine._rows(f"PRAGMA max_page_count = {pages or now}", [()])

    first = await door.acquire("did:a")
    await door.run_with(limit)
    heard = await door.together(*(door.acquire(f"did:{n}", f"lock:{n}") for n in range(300)))
    assert {type(one) for one in heard} == {Unavailable}
    assert isinstance(await door.release("did:a", lease_id=first.lease.lease_id), Released)
    await door.run_with(lambda store: limit(store, 1_000_000))
    assert (await door.acquire("did:b")).lease.token == 2
    assert (await door.acquire("did:c", "lock:3")).lease.token == 1
    door.stop()
    assert sqlite_database.rows("PRAGMA integrity_check") == [("ok",)]
    assert sqlite_database.rows("SELECT count(*) FROM lease_lease") == [(2,)]


# --- what is at fault fails alone -----------------------------------------------------------------

SURROGATE = "did:\ud800"  # the edge refuses it; no database takes it


async def test_a_command_that_cannot_be_decided_fails_alone(door: Door) -> None:
    agents = ["did:a", "did:b", SURROGATE, "did:c", "did:d", SURROGATE, "did:e"]
    heard = await door.together(*(door.acquire(agent) for agent in agents))
    assert [type(one) for one in heard] == [Granted, Held, Unavailable, Held, Held, Unavailable, Held]
    assert [one.position for one in heard if isinstance(one, Held)] == [1, 2, 3, 4]


async def test_a_command_whose_rows_are_refused_fails_alone(door: Door) -> None:
    def ask(number: int) -> Any:
        lease_id = "lse_same" if number in (3, 9) else f"lse_of_{number}"
        return door.ask(Acquire(f"lock:{number}", Mode.EXCLUSIVE, "did:a", lease_id), f"ws_{number % 4}")

    heard = await door.together(*(ask(number) for number in range(12)))
    assert [n for n, one in enumerate(heard) if isinstance(one, Unavailable)] == [9]


async def test_a_workspace_that_cannot_be_settled_holds_up_no_other(
    door: Door, time_: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(world: World, now: int, names: Any = None) -> None:
        if "lock:poison" in world.resources:
            raise RuntimeError("planted")
        real(world, now, names)

    real = coordination.storage.transaction.settle
    for workspace in ("ws_1", "ws_2", "ws_bad", "ws_3"):
        await door.acquire("did:a", "lock:poison" if workspace == "ws_bad" else "lock:a", workspace=workspace)
    monkeypatch.setattr("coordination.storage.transaction.settle", settle)
    time_.passes(30_000)
    heard = await door.together(
        *(door.acquire("did:b", workspace=workspace) for workspace in ("ws_1", "ws_bad", "ws_3"))
    )
    assert [type(one) for one in heard] == [Granted, Unavailable, Granted]
    await door.tick()
    assert {workspace for workspace, event in door.events if event["event"] == "expired"} == {
        "ws_1",
        "ws_2",
        "ws_3",
    }
