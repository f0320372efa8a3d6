"""Storage fails: every caller gets an error, and no agent pays for a lease that it did not receive."""

from typing import Any

import pytest

import coordination.storage.transaction
from coordination.authority.replies import Unavailable
from coordination.core.messages import Acquire, Granted, Held, Released
from coordination.core.model import Mode
from coordination.core.world import World
from coordination.storage.engines.base import StorageFault
from coordination.storage.store import Store
from tests.store.authorities import Database, Faulty, RunningAuthority, SqliteDatabase, Time, until

STAGES = ["begin", "load", "write", "commit", "answer"]


@pytest.mark.parametrize("stage", STAGES)
async def test_every_caller_of_a_failed_batch_gets_an_error(
    authority: RunningAuthority, faulty: Faulty, stage: str
) -> None:
    faulty.failing = stage
    outcomes = await authority.together(*(authority.acquire(f"did:{n}", f"lock:{n}") for n in range(20)))
    assert [type(one) for one in outcomes] == [Unavailable] * 20
    assert authority.events == []


@pytest.mark.parametrize("stage", STAGES)
async def test_an_undelivered_lease_is_returned_before_anything_else(
    authority: RunningAuthority, faulty: Faulty, stage: str
) -> None:
    faulty.failing = stage
    [outcome] = await authority.together(authority.acquire("did:a"))
    assert isinstance(outcome, Unavailable)
    faulty.failing = ""
    other = await authority.acquire("did:b")
    assert isinstance(other, Granted)
    await authority.tick()  # events are published after the answer
    # A lease that was made used up its token; a lease that was not made used none.
    assert other.lease.token == (2 if stage == "answer" else 1)
    assert [event["actorDid"] for event in authority.kinds("released")] == ["did:a"] * (stage == "answer")
    assert all("trust" not in event for event in authority.kinds("released"))


@pytest.mark.parametrize("stage", STAGES)
async def test_an_agent_that_asks_again_has_the_lease_that_was_made(
    authority: RunningAuthority, faulty: Faulty, database: Database, stage: str
) -> None:
    faulty.failing = stage
    await authority.together(authority.acquire("did:a"))
    made = database.rows("SELECT lease_id FROM lease_lease")
    faulty.failing = ""
    again = await authority.acquire("did:a")
    assert isinstance(again, Granted)
    assert again.renewed == (stage == "answer")
    assert not made or made == [(again.lease.lease_id,)]
    assert await authority.acquire("did:b") == await authority.acquire(
        "did:b"
    )  # lease_held, and in its place
    assert isinstance(await authority.release("did:a", lease_id=again.lease.lease_id), Released)


async def test_a_lease_whose_grant_and_renewal_were_undelivered_is_returned(
    authority: RunningAuthority, faulty: Faulty
) -> None:
    faulty.failing = "answer"
    await authority.together(authority.acquire("did:a"))
    await authority.together(authority.acquire("did:a"))
    faulty.failing = ""
    assert isinstance(await authority.acquire("did:b"), Granted)
    await authority.tick()
    assert [event["actorDid"] for event in authority.kinds("released")] == ["did:a"]


async def test_a_lease_whose_renewal_was_not_delivered_either_is_returned(
    authority: RunningAuthority, faulty: Faulty
) -> None:
    faulty.failing = "answer"
    await authority.together(authority.acquire("did:a"))
    faulty.failing = ""
    await authority.deserted(authority.acquire("did:a"))
    await until(lambda: authority.kinds("released"))
    assert isinstance(await authority.acquire("did:b"), Granted)


async def test_a_delivered_renewal_keeps_the_lease(authority: RunningAuthority, faulty: Faulty) -> None:
    """Its caller disconnects, but the agent already knew the lease."""
    await authority.acquire("did:a")
    await authority.deserted(authority.acquire("did:a"))
    await authority.tick()
    assert isinstance(await authority.acquire("did:b"), Held)


async def test_asking_for_more_than_the_undelivered_lease_is_a_new_request(
    authority: RunningAuthority, faulty: Faulty
) -> None:
    """Otherwise its shared lease would stay, unknown to the agent that waits to write."""
    reader = await authority.acquire("did:r", mode=Mode.SHARED)
    faulty.failing = "answer"
    await authority.together(authority.acquire("did:a", mode=Mode.SHARED))
    faulty.failing = ""
    refused = await authority.acquire("did:a", mode=Mode.EXCLUSIVE)
    assert isinstance(refused, Held)
    assert (refused.holders, refused.position) == (("did:r",), 1)
    assert isinstance(reader, Granted)
    await authority.release("did:r")
    assert isinstance(await authority.acquire("did:a"), Granted)
    await authority.tick()
    assert [event["actorDid"] for event in authority.kinds("released")] == ["did:a", "did:r"]


@pytest.mark.parametrize("stage", STAGES)
async def test_a_failure_costs_no_agent_trust(
    authority: RunningAuthority, faulty: Faulty, database: Database, authority_clock: Time, stage: str
) -> None:
    faulty.failing = stage
    await authority.together(authority.acquire("did:a"), authority.acquire("did:b", "lock:b"))
    faulty.failing = ""
    await authority.tick()
    await authority.acquire("did:c")
    authority_clock.passes(60_000)
    await authority.tick()
    assert database.rows("SELECT agent, delta FROM lease_trust_move") == [("did:c", -50)]


async def test_failures_that_repeat_leave_nothing_behind(
    authority: RunningAuthority, faulty: Faulty, database: Database
) -> None:
    """A full disk: each batch fails at its commit, and none of them leaves rows."""
    for stage in ("commit", "write", "answer"):
        faulty.failing = stage
        for number in range(3):
            await authority.together(
                *(authority.acquire(f"did:{n}", f"lock:{stage}{number}{n}") for n in range(300))
            )
    faulty.failing = ""
    await authority.acquire("did:z", "lock:z")
    await until(lambda: database.rows("SELECT agent FROM lease_lease") == [("did:z",)])
    await authority.tick()
    assert database.rows("SELECT workspace, active FROM lease_tenant") == [("ws_1", 1)]


async def test_one_slow_failure_is_all_that_a_caller_waits_for(
    authority: RunningAuthority, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.authority.thread.SLOW_FAULT_MS", 0)
    monkeypatch.setattr("coordination.authority.thread.BATCH", 2)
    faulty.failing = "begin"
    outcomes = await authority.together(*(authority.acquire(f"did:{n}", f"lock:{n}") for n in range(20)))
    assert [type(one) for one in outcomes] == [Unavailable] * 20
    assert faulty.seen.count("begin") <= 3  # the first one was at the start


async def test_a_failure_after_the_commit_does_not_change_the_answers(
    sqlite_database: Database, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = RunningAuthority(sqlite_database.engine())

    def fail() -> int:
        raise StorageFault("planted")

    authority_clock.passes(1)
    monkeypatch.setattr(authority.store.engine, "next_due", fail)
    assert isinstance(await authority.acquire("did:a"), Granted)
    monkeypatch.undo()
    assert isinstance(await authority.release("did:a"), Released)
    authority.stop()


async def test_a_full_disk(sqlite_database: SqliteDatabase, authority_clock: Time) -> None:
    """A real fault: SQLite may take no more pages, until it may again."""
    engine = sqlite_database.engine()
    authority = RunningAuthority(engine)

    def limit(store: Store, pages: int = 0) -> None:
        [[now]] = store.engine._rows("PRAGMA page_count", [()])
        store.engine._rows(f"PRAGMA max_page_count = {pages or now}", [()])

    first = await authority.acquire("did:a")
    await authority.run_with(limit)
    outcomes = await authority.together(*(authority.acquire(f"did:{n}", f"lock:{n}") for n in range(300)))
    assert {type(one) for one in outcomes} == {Unavailable}
    assert isinstance(await authority.release("did:a", lease_id=first.lease.lease_id), Released)
    await authority.run_with(lambda store: limit(store, 1_000_000))
    assert (await authority.acquire("did:b")).lease.token == 2
    assert (await authority.acquire("did:c", "lock:3")).lease.token == 1
    authority.stop()
    assert sqlite_database.rows("PRAGMA integrity_check") == [("ok",)]
    assert sqlite_database.rows("SELECT count(*) FROM lease_lease") == [(2,)]


# --- a faulty command fails alone ----------------------------------------------------------------

SURROGATE = "did:\ud800"  # the API refuses it, and no database takes it


async def test_a_command_that_cannot_be_decided_fails_alone(authority: RunningAuthority) -> None:
    agents = ["did:a", "did:b", SURROGATE, "did:c", "did:d", SURROGATE, "did:e"]
    outcomes = await authority.together(*(authority.acquire(agent) for agent in agents))
    assert [type(one) for one in outcomes] == [Granted, Held, Unavailable, Held, Held, Unavailable, Held]
    assert [one.position for one in outcomes if isinstance(one, Held)] == [1, 2, 3, 4]


async def test_a_command_whose_rows_are_refused_fails_alone(authority: RunningAuthority) -> None:
    def ask(number: int) -> Any:
        lease_id = "lse_same" if number in (3, 9) else f"lse_of_{number}"
        return authority.ask(Acquire(f"lock:{number}", Mode.EXCLUSIVE, "did:a", lease_id), f"ws_{number % 4}")

    outcomes = await authority.together(*(ask(number) for number in range(12)))
    assert [n for n, one in enumerate(outcomes) if isinstance(one, Unavailable)] == [9]


async def test_a_workspace_that_cannot_be_settled_holds_up_no_other(
    authority: RunningAuthority, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(world: World, now: int, names: Any = None) -> None:
        if "lock:poison" in world.resources:
            raise RuntimeError("planted")
        real(world, now, names)

    real = coordination.storage.transaction.settle
    for workspace in ("ws_1", "ws_2", "ws_bad", "ws_3"):
        await authority.acquire(
            "did:a", "lock:poison" if workspace == "ws_bad" else "lock:a", workspace=workspace
        )
    monkeypatch.setattr("coordination.storage.transaction.settle", settle)
    authority_clock.passes(30_000)
    outcomes = await authority.together(
        *(authority.acquire("did:b", workspace=workspace) for workspace in ("ws_1", "ws_bad", "ws_3"))
    )
    assert [type(one) for one in outcomes] == [Granted, Unavailable, Granted]
    await authority.tick()
    assert {workspace for workspace, event in authority.events if event["event"] == "expired"} == {
        "ws_1",
        "ws_2",
        "ws_3",
    }
