"""What time does to leases: expiry, restarts, outages of the authority itself."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from coordination.authority import process
from coordination.core.messages import Granted, Held, NotReleased, Released
from coordination.core.model import Rules
from coordination.storage import clock
from coordination.storage.store import Store
from tests.store.authorities import START, Database, Faulty, PostgresDatabase, RunningAuthority, Time, until

OUTAGE_MS = 5_000
HOUR_MS = 3_600_000
Open = Callable[..., RunningAuthority]


@pytest.fixture
def opening(database: Database) -> Iterator[Open]:
    """`opening(**options)`: an authority, each as its own process; all are stopped at the end."""
    authorities: list[RunningAuthority] = []
    numbers = count(1)

    def open_authority(**options: Any) -> RunningAuthority:
        authorities.append(RunningAuthority(database.engine(), process=f"process-{next(numbers)}", **options))
        return authorities[-1]

    yield open_authority
    for authority in authorities:
        authority.stop()


async def at_work(authority: RunningAuthority, authority_clock: Time, ms: int) -> None:
    """Time passes while the authority is there: it does something every second."""
    for _ in range(ms // 1_000):
        authority_clock.passes(1_000)
        await authority.release("did:z", "lock:z")


def moves(database: Database) -> list[Any]:
    return database.rows("SELECT agent, delta FROM lease_trust_move ORDER BY id")


def recorded(database: Database, outcome: str) -> int:
    """How many receipts with that outcome are in the outbox."""
    claims = (bytes(row[0]) for row in database.rows("SELECT claims FROM lease_outbox"))
    return sum(f'"outcome":"{outcome}"'.encode() in claim for claim in claims)


# --- expiry ---------------------------------------------------------------------------------------


async def test_expired_leases_are_reclaimed_in_time(
    database: Database, real_time: None, opening: Open
) -> None:
    """Within 250 ms of `expiresAt` by the authority's clock, whenever the machine has time for it."""
    if not database.shared:
        process.current().clock = clock.SteadyClock(0)
    at: dict[str, float] = {}

    def publish(workspace: str, events: list[dict[str, Any]]) -> None:
        at.update({event["resource"]: time.time() for event in events if event["event"] == "expired"})

    authority = opening(rules=Rules(lease_ttl_ms=300), publish=publish)
    late: list[float] = []
    for turn in range(1, 4):
        due = {}
        for number in range(5):
            granted = await authority.acquire("did:a", f"lock:{turn}/{number}")
            due[f"lock:{turn}/{number}"] = granted.lease.expires_at / 1000
        await until(lambda turn=turn: len(at) == 5 * turn)
        assert all(at[name] >= instant for name, instant in due.items())
        assert (len(moves(database)), recorded(database, "expired")) == (5 * turn, 5 * turn)
        late.append(max(at[name] - instant for name, instant in due.items()))
        if late[-1] < 0.25:
            return
    raise AssertionError(f"never in time: {late} s late")


async def test_an_expiry_begins_the_next_offer(
    database: Database, authority_clock: Time, opening: Open
) -> None:
    authority = opening()
    await authority.acquire("did:a")
    await authority.acquire("did:b")
    await authority.acquire("did:c")
    authority_clock.passes(30_000)
    await authority.tick()
    assert [event["actorDid"] for event in authority.kinds("offered")] == ["did:b"]
    authority_clock.passes(2_000)
    await authority.tick()
    # did:c has been silent since before the offer began: a queue of dead agents delays no other agent.
    assert [event["actorDid"] for event in authority.kinds("lapsed")] == ["did:b", "did:c"]
    assert isinstance(await authority.acquire("did:d"), Granted)


async def test_many_that_end_at_once_are_all_reclaimed_once(
    database: Database, authority_clock: Time, opening: Open
) -> None:
    authority = opening()
    await authority.together(
        *(authority.acquire("did:a", f"lock:{n}", workspace=f"ws_{n % 90}") for n in range(900))
    )
    authority_clock.passes(30_000)
    await authority.tick()
    await until(lambda: len(authority.kinds("expired")) == 900)
    assert (len(moves(database)), recorded(database, "expired")) == (900, 900)
    assert database.rows("SELECT * FROM lease_lease") == []


@pytest.mark.parametrize("late", ["release", "renewal"])
async def test_an_expired_lease_is_neither_renewed_nor_released(
    database: Database, authority_clock: Time, opening: Open, late: str
) -> None:
    authority = opening()
    first = await authority.acquire("did:a")
    authority_clock.passes(30_000)
    if late == "release":
        outcome = await authority.release("did:a", lease_id=first.lease.lease_id)
        assert isinstance(outcome, NotReleased)
    else:
        outcome = await authority.acquire("did:a")
        assert isinstance(outcome, Granted)
        assert (outcome.renewed, outcome.lease.token) == (False, 2)
    await authority.tick()
    assert moves(database) == [("did:a", -50)]
    assert recorded(database, "expired") == 1


async def test_two_processes_and_their_callers_reclaim_once(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> None:
    """Expiry in both processes, releases and renewals, all at the same moment."""
    authorities = [RunningAuthority(postgres_database.engine(), process=name) for name in ("one", "two")]
    for number in range(40):
        await authorities[0].acquire("did:a", f"lock:{number}")
    authority_clock.passes(30_000)
    racing = [authorities[number % 2].release("did:a", f"lock:{number}") for number in range(0, 40, 2)]
    racing += [authorities[number % 2].acquire("did:a", f"lock:{number}") for number in range(1, 40, 2)]
    outcomes = await authorities[0].together(*racing, authorities[0].tick(), authorities[1].tick())
    assert [type(one) for one in outcomes] == [NotReleased] * 20 + [Granted] * 20 + [type(None)] * 2
    assert not any(one.renewed for one in outcomes[20:40])
    await until(lambda: sum(len(authority.kinds("expired")) for authority in authorities) == 40)
    assert (len(moves(postgres_database)), recorded(postgres_database, "expired")) == (40, 40)
    for authority in authorities:
        authority.stop()


# --- restarts -------------------------------------------------------------------------------------


async def test_a_restart_changes_nothing(database: Database, authority_clock: Time, opening: Open) -> None:
    authority = opening(outage_after_ms=OUTAGE_MS)
    held = await authority.acquire("did:a")
    await authority.acquire("did:b")
    await authority.acquire("did:x", "lock:x")
    await authority.release("did:x", "lock:x")
    authority.stop()
    authority_clock.passes(4_000)
    again = opening(outage_after_ms=OUTAGE_MS)
    refused = await again.acquire("did:b")
    assert isinstance(refused, Held)
    assert (refused.holder, refused.position, refused.expires_at) == ("did:a", 1, held.lease.expires_at)
    assert (await again.acquire("did:y", "lock:x")).lease.token == 2
    assert isinstance(await again.release("did:a", lease_id=held.lease.lease_id), Released)
    assert database.rows("SELECT * FROM lease_outage") == []


# --- outages --------------------------------------------------------------------------------------


async def test_expiries_in_an_outage_cost_no_trust(
    database: Database, authority_clock: Time, opening: Open
) -> None:
    authority = opening(outage_after_ms=OUTAGE_MS)
    await authority.acquire("did:a")
    await authority.acquire("did:b")
    await authority.acquire("did:late", "lock:late")
    authority.stop()
    authority_clock.passes(36_000)
    again = opening(outage_after_ms=OUTAGE_MS)
    await again.tick()
    expired = again.kinds("expired")
    assert [event["resource"] for event in expired] == ["lock:a", "lock:late"]
    assert all(event["outage"] and "trust" not in event for event in expired)
    assert moves(database) == []
    claims = [bytes(row[0]) for row in database.rows("SELECT claims FROM lease_outbox")]
    assert sum(b'"outage":true' in claim for claim in claims) == 2
    assert database.rows("SELECT since, until FROM lease_outage") == [(START, START + 36_000)]
    # The wait would have expired at 35 s: it is there, and its offer begins now.
    assert isinstance(await again.acquire("did:c"), Held)
    assert isinstance(await again.acquire("did:b"), Granted)


async def test_expiries_after_an_outage_cost_trust(
    database: Database, authority_clock: Time, opening: Open
) -> None:
    authority = opening(outage_after_ms=OUTAGE_MS)
    await authority.acquire("did:a")
    authority.stop()
    authority_clock.passes(20_000)
    again = opening(outage_after_ms=OUTAGE_MS)
    await at_work(again, authority_clock, 10_000)
    await again.tick()
    assert moves(database) == [("did:a", -50)]


async def test_a_short_absence_is_no_outage(database: Database, authority_clock: Time, opening: Open) -> None:
    authority = opening(outage_after_ms=OUTAGE_MS)
    await authority.acquire("did:a")
    await at_work(authority, authority_clock, 26_000)
    authority.stop()
    authority_clock.passes(5_000)
    again = opening(outage_after_ms=OUTAGE_MS)
    await again.tick()
    assert moves(database) == [("did:a", -50)]
    assert database.rows("SELECT * FROM lease_outage") == []


async def test_a_time_without_storage_is_an_outage(database: Database, authority_clock: Time) -> None:
    faulty = Faulty(database.engine())
    authority = RunningAuthority(faulty, outage_after_ms=OUTAGE_MS)
    await authority.acquire("did:a")
    faulty.failing = "begin"
    authority_clock.passes(31_000)
    await authority.together(authority.acquire("did:b"))
    faulty.failing = ""
    assert isinstance(await authority.acquire("did:b"), Granted)
    assert moves(database) == []
    assert database.rows("SELECT since, until FROM lease_outage") == [(START, START + 31_000)]
    authority.stop()


async def test_a_pause_of_one_of_several_processes_is_no_outage(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> None:
    one = RunningAuthority(postgres_database.engine(), process="one", outage_after_ms=OUTAGE_MS)
    two = RunningAuthority(postgres_database.engine(), process="two", outage_after_ms=OUTAGE_MS)
    await one.acquire("did:a")
    one.stop()
    await at_work(two, authority_clock, 36_000)
    back = RunningAuthority(postgres_database.engine(), process="three", outage_after_ms=OUTAGE_MS)
    await back.tick()
    assert moves(postgres_database) == [("did:a", -50)]
    assert postgres_database.rows("SELECT * FROM lease_outage") == []
    two.stop()
    back.stop()


def test_an_outage_of_all_processes_is_recorded_once(postgres_database: PostgresDatabase) -> None:
    """Eight processes come back at the same moment, twice; a ninth comes later and learns of the outage."""
    now = START
    engines = [postgres_database.engine() for _ in range(9)]
    stores = [Store(engine, Rules(), f"p{n}") for n, engine in enumerate(engines)]

    def absences(store: Store, now: int) -> int:
        with store.transaction({}, lambda: now) as transaction:
            return len(transaction._outages)

    assert absences(stores[0], START) == 0
    with ThreadPoolExecutor(8) as threads:
        for number in (1, 2):
            now = START + number * 60_000
            assert list(threads.map(absences, stores[:8], [now] * 8)) == [number] * 8
            assert list(threads.map(absences, stores[:8], [now + 1] * 8)) == [number] * 8
            assert len(postgres_database.rows("SELECT * FROM lease_outage")) == number
            assert absences(stores[8], now + 10) == number
    for engine in engines:
        engine.close()
