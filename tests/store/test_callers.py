"""Callers that disconnect, jobs that fail, and the end of the authority."""

import asyncio
import threading
from typing import Any

import pytest

from coordination.authority.replies import Unavailable
from coordination.core.messages import Granted, Held, Released
from tests.store.authorities import Database, Faulty, RunningAuthority, Time, until

# --- callers that disconnect ----------------------------------------------------------------------


async def test_a_lease_whose_caller_disconnected_is_returned(
    authority: RunningAuthority, database: Database
) -> None:
    await authority.deserted(authority.acquire("did:a"))
    await until(lambda: authority.kinds("released"))
    assert isinstance(await authority.acquire("did:b"), Granted)
    assert database.rows("SELECT * FROM lease_trust_move") == []


async def test_a_caller_cancelled_as_it_is_answered_leaves_no_lease(
    authority: RunningAuthority, database: Database
) -> None:
    """The answer is in the future, its task has not run yet, and the task is cancelled."""
    task = asyncio.ensure_future(authority.acquire("did:a"))
    await asyncio.sleep(0)
    while True:
        await asyncio.sleep(0)
        waiting = task._fut_waiter  # asyncio's own name: what the task waits for
        if waiting is not None and waiting.done():
            break
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    await until(lambda: authority.kinds("released"))
    assert database.rows("SELECT * FROM lease_trust_move") == []


async def test_a_caller_with_a_closed_loop_leaves_no_lease(authority: RunningAuthority) -> None:
    """A caller in another thread whose loop ended before its answer."""

    def ask_and_leave() -> None:
        async def ask() -> None:
            asking = asyncio.ensure_future(authority.acquire("did:gone"))
            await asyncio.sleep(0)
            assert not asking.done()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(ask())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    with authority.held():
        thread = threading.Thread(target=ask_and_leave)
        thread.start()
        thread.join()
    await until(lambda: authority.kinds("released"))
    assert isinstance(await authority.acquire("did:b"), Granted)


async def test_a_job_without_a_waiter_stops_nothing(authority: RunningAuthority) -> None:
    """As the health check does when the storage is slow."""
    with authority.held(), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.wrap_future(authority.thread.run(lambda store: None))
    assert isinstance(await authority.acquire("did:a"), Granted)


async def test_a_job_cancelled_while_it_runs_stops_nothing(authority: RunningAuthority) -> None:
    begun, go_on = threading.Event(), threading.Event()
    job = authority.thread.run(lambda store: (begun.set(), go_on.wait(10)))
    begun.wait(10)
    assert not job.cancel()
    go_on.set()
    assert isinstance(await authority.acquire("did:a"), Granted)


async def test_publishing_that_fails_stops_nothing(database: Database, authority_clock: Time) -> None:
    def publish(workspace: str, events: list[Any]) -> None:
        raise RuntimeError("planted")

    authority = RunningAuthority(database.engine(), publish=publish)
    assert isinstance(await authority.acquire("did:a"), Granted)
    assert isinstance(await authority.release("did:a"), Released)
    authority.stop()


# --- the end --------------------------------------------------------------------------------------


async def test_stop_answers_what_has_arrived_and_nothing_after(authority: RunningAuthority) -> None:
    with authority.held():
        tasks = [asyncio.ensure_future(authority.acquire(f"did:{n}", f"lock:{n}")) for n in range(600)]
        await asyncio.sleep(0)
        stopping = asyncio.ensure_future(asyncio.to_thread(authority.stop))
        await until(lambda: authority.thread._queue.closed)
        with pytest.raises(Unavailable):
            await authority.acquire("did:late")
    assert [type(await task) for task in tasks] == [Granted] * 600
    await stopping
    with pytest.raises(Unavailable):
        await authority.acquire("did:later")
    for future in (authority.thread.run(lambda store: None), authority.thread.drained(["rcp_1"])):
        with pytest.raises(Unavailable):
            future.result(timeout=5)
    authority.stop()


async def test_stop_returns_the_undelivered_leases_of_the_last_callers(
    authority: RunningAuthority, database: Database
) -> None:
    with authority.held():
        task = asyncio.ensure_future(authority.acquire("did:a"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        done = authority.thread.run(lambda store: None)
    await asyncio.wrap_future(done)
    await until(lambda: authority.thread._owed or authority.kinds("released"))
    authority.stop()
    assert database.rows("SELECT agent FROM lease_lease") == []


async def test_stop_does_not_wait_for_a_storage_that_hangs(
    authority: RunningAuthority, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.authority.thread.STOP_S", 0.1)
    monkeypatch.setattr("coordination.authority.thread.BATCH", 2)
    hanging, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(faulty.engine, "rollback", lambda: (hanging.set(), go_on.wait(10)))
    faulty.failing = "write"
    tasks = [asyncio.ensure_future(authority.acquire(f"did:{n}", f"lock:{n}")) for n in range(5)]
    await asyncio.to_thread(hanging.wait, 10)
    await asyncio.to_thread(authority.stop)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes] == [Unavailable] * 5
    go_on.set()
    authority.thread._thread.join(10)


async def test_the_number_of_pending_commands_has_a_limit(
    database: Database, authority_clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordination.authority.thread.PENDING_LIMIT", 8)
    monkeypatch.setattr("coordination.authority.thread.PENDING_SHARE", 5)
    authority = RunningAuthority(database.engine())
    busy = [authority.acquire(f"did:{n}", f"lock:{n}") for n in range(7)]
    quiet = [authority.acquire(f"did:{n}", f"lock:{n}", workspace="ws_2") for n in range(5)]
    outcomes = await authority.together(*busy, *quiet)
    assert [type(one) for one in outcomes[:7]] == [Granted] * 5 + [Unavailable] * 2
    assert [type(one) for one in outcomes[7:]] == [Granted] * 3 + [Unavailable] * 2
    assert isinstance(await authority.acquire("did:after", "lock:0"), Held)
    authority.stop()
