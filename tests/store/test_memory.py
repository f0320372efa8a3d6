"""What is remembered between transactions: within its limit, and right whatever other processes write."""

import gc
from collections.abc import Iterator

import pytest

from coordination.core.messages import Granted, Held, LimitReached
from coordination.storage.store import Store
from tests.store.authorities import START, Database, PostgresDatabase, RunningAuthority, Time


@pytest.fixture
def authority(database: Database, authority_clock: Time) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(database.engine())
    yield authority
    authority.stop()


@pytest.fixture
def authorities(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> Iterator[list[RunningAuthority]]:
    """Two authorities, as in two processes."""
    authorities = [
        RunningAuthority(postgres_database.engine(), process=f"process {number}") for number in range(2)
    ]
    yield authorities
    for authority in authorities:
        authority.stop()


def remembered(store: Store) -> int:
    return sum(1 + len(world.resources) + len(world.agents) for world in store._memory.worlds.values())


async def test_a_workspace_met_before_its_first_lease_is_counted(
    authority: RunningAuthority, database: Database
) -> None:
    await authority.release("did:a", "lock:never")
    await authority.acquire("did:a")
    await authority.acquire("did:a", "lock:b")
    assert database.rows("SELECT workspace, active FROM lease_tenant") == [("ws_1", 2)]
    await authority.release("did:a")
    assert database.rows("SELECT workspace, active FROM lease_tenant") == [("ws_1", 1)]


async def test_the_limit_holds_when_everything_was_forgotten(authority: RunningAuthority) -> None:
    await authority.release("did:a", "lock:never")
    for number in range(3):
        await authority.acquire("did:a", f"lock:{number}")
    await authority.run_with(Store.forget)
    assert isinstance(await authority.acquire("did:a", "lock:3", limit=3), LimitReached)
    await authority.release("did:a", "lock:0")
    assert isinstance(await authority.acquire("did:a", "lock:3", limit=3), Granted)


async def test_memory_is_counted_by_workspace(
    authority: RunningAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.storage.store.REMEMBERED", 1_000)
    for number in range(400):
        await authority.release("did:a", "lock:never", workspace=f"ws_{number}")
        await authority.acquire("did:a", workspace=f"ws_{number}")
        assert authority.store._memory.size == remembered(authority.store) <= 1_000


async def test_a_batch_that_fails_leaves_nothing_of_itself_in_memory(
    authority: RunningAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    await authority.acquire("did:a")
    with monkeypatch.context() as planted:
        planted.setattr(authority.store.engine, "write", lambda changes: 1 / 0)
        [outcome] = await authority.together(authority.release("did:a"))
        assert isinstance(outcome, Exception)
    assert isinstance(await authority.acquire("did:b"), Held)


async def test_the_limit_of_a_command_is_its_own_and_not_its_batchs(authority: RunningAuthority) -> None:
    outcomes = await authority.together(
        authority.acquire("did:a", "lock:a", limit=2),
        authority.acquire("did:a", "lock:b", limit=2),
        authority.acquire("did:a", "lock:c", limit=2),
        authority.acquire("did:a", "lock:d", limit=None),
    )
    assert [type(one) for one in outcomes] == [Granted, Granted, LimitReached, Granted]


async def test_nothing_grows_with_commands_or_workspaces(
    database: Database, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit of memory, many more workspaces do not increase the number of live objects."""
    monkeypatch.setattr("coordination.storage.store.REMEMBERED", 300)
    authority = RunningAuthority(database.engine())

    async def work(first: int) -> int:
        for start in range(first, first + 600, 100):
            names = [f"ws_{number}" for number in range(start, start + 100)]
            await authority.together(*(authority.acquire("did:a", workspace=name) for name in names))
            await authority.together(*(authority.acquire("did:b", workspace=name) for name in names))
            await authority.together(*(authority.release("did:a", workspace=name) for name in names))
        await authority.tick()
        await authority.run_with(Store.forget)
        authority.events.clear()
        return len([one for one in gc.get_objects() if str(type(one).__module__).startswith("coordination")])

    before = await work(0)
    assert await work(600) - before < 50
    inside = authority.thread
    kept = [inside._queue._lanes, inside._queue._waiting, inside._owed, inside._jobs, inside._drained]
    assert [len(one) for one in kept] == [0] * 5
    authority.stop()


async def test_what_another_process_changed_is_read_again(authorities: list[RunningAuthority]) -> None:
    first, second = authorities
    one = await first.acquire("did:a")
    assert isinstance(await second.acquire("did:b"), Held)
    await first.release("did:a")
    two = await second.acquire("did:b")
    assert isinstance(await first.acquire("did:a"), Held)
    await second.release("did:b")
    three = await first.acquire("did:a")
    assert [granted.lease.token for granted in (one, two, three)] == [1, 2, 3]
    # Trust too: two releases, one in each process.
    await first.release("did:a")
    await second.acquire("did:a")
    assert str((await second.release("did:a")).trust) == "51.5"


async def test_what_another_process_forgets_is_not_remembered(
    authorities: list[RunningAuthority], authority_clock: Time
) -> None:
    """A resource that was purged begins above its workspace's floor. Of a deleted workspace, only a floor of
    tokens is known."""
    first, second = authorities
    for _ in range(3):
        await first.acquire("did:a")
        await first.release("did:a")
    authority_clock.passes(1_000)
    assert await second.run_with(lambda store: store.purge("ws_1", ["lock:a"], START + 500)) == 1
    assert (await first.acquire("did:a")).lease.token == 4
    assert str((await first.release("did:a")).trust) == "52.0"
    while await second.run_with(lambda store: store.forget_tenant("ws_1", 500)):
        pass
    assert (await first.acquire("did:a")).lease.token == 5
    assert str((await first.release("did:a")).trust) == "50.5"


async def test_what_was_only_read_is_forgotten_with_its_workspace(
    authorities: list[RunningAuthority],
) -> None:
    """A refusal leaves no stamp, and neither does a deleted workspace: equal missing stamps prove nothing."""
    first, second = authorities
    for _ in range(3):
        await second.acquire("did:a")
        await second.release("did:a")
    await first.release("did:a")
    while await second.run_with(lambda store: store.forget_tenant("ws_1", 500)):
        pass
    assert (await first.acquire("did:a")).lease.token == 4
    assert str((await first.release("did:a")).trust) == "50.5"


async def test_expired_leases_of_other_processes_are_reclaimed(
    authorities: list[RunningAuthority], authority_clock: Time
) -> None:
    first, second = authorities
    await first.acquire("did:a", "lock:x")
    await second.acquire("did:b", "lock:y")
    await first.acquire("did:c", "lock:z")
    authority_clock.passes(30_000)
    # A lease that `first` does not remember expired: it is reclaimed with the first request.
    assert isinstance(await first.acquire("did:c", "lock:y"), Granted)
    assert isinstance(await second.acquire("did:b", "lock:x"), Granted)
    assert str((await second.release("did:b", "lock:x")).trust) == "45.5"
