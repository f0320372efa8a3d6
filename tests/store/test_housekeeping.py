"""What is forgotten: never a token, a resource in use, or the rows that the clock and outages need."""

from typing import Any

import pytest
from django.conf import settings

from coordination.authority import maintenance, process
from coordination.authority.maintenance import Housekeeper, keep_house
from coordination.core.messages import Granted, Held
from coordination.core.model import Rules
from coordination.storage.store import Store
from tests.store.authorities import START, Database, PostgresDatabase, RunningAuthority, Time

DAY_MS = 86_400_000


def forgotten_resources(database: Database, authority: RunningAuthority, now: int, days: int = 30) -> int:
    """Do the housekeeping through the running authority; returns how many resources were forgotten."""
    read = database.engine(readonly=True)
    try:
        return keep_house(read, lambda job: authority.thread.run(job).result(timeout=10), now, days)
    finally:
        read.close()


async def use(authority: RunningAuthority, *names: str, workspace: str = "ws_1") -> list[int]:
    """Acquire and release each; returns the tokens."""
    tokens = []
    for name in names:
        tokens.append((await authority.acquire("did:a", name, workspace=workspace)).lease.token)
        await authority.release("did:a", name, workspace=workspace)
    return tokens


async def test_tokens_of_a_forgotten_resource_go_on_above_the_floor(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    await use(authority, "lock:a", "lock:a", "lock:a", "lock:b")
    await use(authority, "lock:a", workspace="ws_2")
    authority_clock.passes(31 * DAY_MS)
    assert forgotten_resources(database, authority, authority_clock.now) == 3
    assert database.rows("SELECT * FROM lease_resource") == []
    assert sorted(database.rows("SELECT workspace, token_floor FROM lease_tenant")) == [
        ("ws_1", 3),
        ("ws_2", 1),
    ]
    # Memory was cleared too, and a resource that is new begins there as well.
    assert await use(authority, "lock:a", "lock:b", "lock:new", "lock:a") == [4, 4, 4, 5]
    assert await use(authority, "lock:a", workspace="ws_2") == [2]
    authority_clock.passes(31 * DAY_MS)
    assert forgotten_resources(database, authority, authority_clock.now) == 4
    assert await use(authority, "lock:b") == [6]


async def test_resources_that_are_in_use_or_were_used_lately_stay(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    await use(authority, "lock:old")
    authority_clock.passes(20 * DAY_MS)
    await use(authority, "lock:young")
    authority_clock.passes(11 * DAY_MS)
    await authority.acquire("did:a", "lock:held")
    await authority.acquire("did:b", "lock:held")
    assert forgotten_resources(database, authority, authority_clock.now) == 1
    # the young one is forgotten too, but none that is in use
    assert forgotten_resources(database, authority, authority_clock.now + 29_000, days=0) == 1
    assert [name for (name,) in database.rows("SELECT name FROM lease_resource")] == ["lock:held"]
    assert isinstance(await authority.acquire("did:b", "lock:held"), Held)


async def test_a_resource_used_since_the_search_stays(
    authority: RunningAuthority, authority_clock: Time
) -> None:
    await use(authority, "lock:a")
    authority_clock.passes(31 * DAY_MS)
    found = authority_clock.now - 30 * DAY_MS
    await use(authority, "lock:a")
    assert await authority.run_with(lambda store: store.purge("ws_1", ["lock:a"], found)) == 0
    granted = await authority.acquire("did:a", "lock:a")
    assert granted.lease.token == 3
    later = authority_clock.now + 1
    assert await authority.run_with(lambda store: store.purge("ws_1", ["lock:a"], later)) == 0


async def test_another_process_goes_on_above_the_floor(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> None:
    one, two = (RunningAuthority(postgres_database.engine(), process=name) for name in ("one", "two"))
    await use(one, "lock:a", "lock:a")
    await use(two, "lock:a")
    authority_clock.passes(31 * DAY_MS)
    assert forgotten_resources(postgres_database, one, authority_clock.now) == 1
    assert await use(two, "lock:a") == [4]
    one.stop()
    two.stop()


async def test_housekeeping_is_done_in_small_steps(
    authority: RunningAuthority, database: Database, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "AT_ONCE", 10)
    await authority.together(
        *(authority.acquire("did:a", f"lock:{n}", workspace=f"ws_{n % 3}") for n in range(75))
    )
    await authority.together(
        *(authority.release("did:a", f"lock:{n}", workspace=f"ws_{n % 3}") for n in range(75))
    )
    authority_clock.passes(31 * DAY_MS)
    steps: list[int] = []
    real = Store.purge

    def purge(store: Store, workspace: str, names: Any, unused_since: int) -> int:
        steps.append(len(names))
        return real(store, workspace, names, unused_since)

    monkeypatch.setattr(Store, "purge", purge)
    assert forgotten_resources(database, authority, authority_clock.now) == 75
    assert (sum(steps), max(steps)) == (75, 10)


async def test_history_is_forgotten_after_a_quarter(
    authority: RunningAuthority, database: Database, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "AT_ONCE", 10)
    await use(authority, *["lock:a"] * 25)
    database.rows(f"INSERT INTO lease_outage (since, until) VALUES ({START - 9}, {START - 8})")
    authority_clock.passes(89 * DAY_MS)
    await use(authority, "lock:a")
    forgotten_resources(database, authority, authority_clock.now)
    assert database.rows("SELECT count(*) FROM lease_trust_move") == [(26,)]
    authority_clock.passes(2 * DAY_MS)
    forgotten_resources(database, authority, authority_clock.now)
    assert database.rows("SELECT count(*) FROM lease_trust_move") == [(1,)]
    assert database.rows("SELECT * FROM lease_outage") == []
    # The agent's trust is not history.
    assert database.rows("SELECT score, releases FROM lease_agent") == [(630, 26)]


async def test_old_pulses_are_forgotten_but_never_the_last(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    for number, at in enumerate((START - 4_000_000, START - 3_700_000, START - 5_000)):
        database.rows(f"INSERT INTO lease_pulse (process, at) VALUES ('gone-{number}', {at})")
    authority_clock.passes(1_000)
    await use(authority, "lock:a")
    forgotten_resources(database, authority, authority_clock.now)
    assert sorted(database.rows("SELECT process FROM lease_pulse")) == [("alone",), ("gone-2",)]
    database.rows("DELETE FROM lease_pulse WHERE process = 'alone'")
    authority_clock.passes(400 * DAY_MS)
    forgotten_resources(database, authority, authority_clock.now)
    assert ("gone-2",) in database.rows("SELECT process FROM lease_pulse")


async def test_housekeeping_does_not_hide_an_outage(database: Database, authority_clock: Time) -> None:
    authority = RunningAuthority(database.engine(), outage_after_ms=5_000)
    await authority.acquire("did:a")
    authority.stop()
    authority_clock.passes(20_000)
    engine, read = database.engine(), database.engine(readonly=True)
    store = Store(engine, Rules(), "purge")
    keep_house(read, lambda job: job(store), authority_clock.now, 30)
    read.close()
    engine.close()
    authority_clock.passes(20_000)
    authority = RunningAuthority(database.engine(), outage_after_ms=5_000)
    await authority.tick()
    assert database.rows("SELECT since, until FROM lease_outage") == [(START, START + 40_000)]
    assert database.rows("SELECT * FROM lease_trust_move") == []
    authority.stop()


async def test_the_housekeeper_works_beside_the_callers(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    await use(authority, *(f"lock:{number}" for number in range(30)))
    authority_clock.passes(31 * DAY_MS)
    await use(authority, "lock:now")
    run = lambda job: authority.thread.run(job).result(timeout=10)  # noqa: E731
    housekeeper = Housekeeper(lambda: database.engine(readonly=True), run, 30)
    assert housekeeper.round() == (31 if database.shared else 30)  # there, the database's own clock counts
    assert isinstance(await authority.acquire("did:a", "lock:1"), Granted)
    housekeeper.stop()
    with pytest.raises(InterruptedError):
        housekeeper.round()


def test_the_command_is_refused_beside_an_embedded_server() -> None:
    before = process.current().clock
    process.current().stop()
    process.current().clock = None
    try:
        assert process.purge_offline() >= 0
        process.current().start()
        if settings.DATABASES["leases"]["ENGINE"].endswith("sqlite3"):
            with pytest.raises(process.Unavailable, match=r"another process .* once a day"):
                process.purge_offline()
        else:
            assert process.purge_offline() >= 0
    finally:
        process.current().stop()
        process.current().clock = before
    assert process.purge_offline() >= 0


async def test_a_deleted_workspace_is_forgotten(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    """All its rows are deleted, in small steps, once nothing is held or waited for in it; others stay as they
    are."""
    names = [f"lock:{number}" for number in range(700)]
    for workspace in ("ws_gone", "ws_here"):
        await authority.together(
            *(authority.acquire(f"did:{name}", name, workspace=workspace) for name in names)
        )
        await authority.together(
            *(authority.release(f"did:{name}", name, workspace=workspace) for name in names)
        )
    await authority.acquire("did:a", "lock:held", workspace="ws_gone")
    asked: list[list[str]] = []

    def deleted(workspaces: list[str]) -> set[str]:
        asked.append(workspaces)
        return {"ws_gone"} & set(workspaces)

    def keep() -> None:
        read = database.engine(readonly=True)
        try:
            keep_house(
                read,
                lambda job: authority.thread.run(job).result(timeout=10),
                authority_clock.now,
                30,
                deleted,
            )
        finally:
            read.close()

    keep()
    assert left(database, "ws_gone") == left(database, "ws_here") | {
        "lease_resource": 701,
        "lease_agent": 701,
    }
    await authority.release("did:a", "lock:held", workspace="ws_gone")
    keep()
    assert asked == [["ws_gone", "ws_here"], ["ws_gone", "ws_here"]]
    assert set(left(database, "ws_gone").values()) == {0}
    assert left(database, "ws_here") == {
        "lease_resource": 700,
        "lease_agent": 700,
        "lease_trust_move": 700,
        "lease_tenant": 1,
    }
    await authority.acquire("did:a", "lock:1", workspace="ws_gone")
    freed = await authority.release("did:a", "lock:1", workspace="ws_gone")
    assert str(freed.trust) == "50.5"  # memory has nothing of it either


async def test_tokens_go_on_when_a_forgotten_workspace_comes_back(
    authority: RunningAuthority, database: Database, authority_clock: Time
) -> None:
    """Accounts that were lost and restored later, or restored to before a workspace was deleted."""
    await use(authority, "lock:a", "lock:a", "lock:a", "lock:b", workspace="ws_lost")
    await use(authority, "lock:a", workspace="ws_other")
    read = database.engine(readonly=True)
    try:
        run = authority.thread.run
        deleted = {"ws_lost"}
        keep_house(
            read, lambda job: run(job).result(timeout=10), authority_clock.now, 30, deleted.intersection
        )
    finally:
        read.close()
    assert set(left(database, "ws_lost").values()) == {0}
    assert await use(authority, "lock:b", workspace="ws_lost") == [4]
    await authority.run_with(lambda store: store.forget())  # as after a restart
    assert await use(authority, "lock:a", "lock:never-seen", workspace="ws_lost") == [4, 4]
    assert await use(authority, "lock:a", "lock:new", workspace="ws_other") == [2, 1]


def left(database: Database, workspace: str) -> dict[str, int]:
    """How many rows each table has for a workspace."""
    tables = ("lease_resource", "lease_agent", "lease_trust_move", "lease_tenant")
    return {
        table: database.rows(f"SELECT count(*) FROM {table} WHERE workspace = '{workspace}'")[0][0]
        for table in tables
    }
