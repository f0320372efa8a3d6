"""Clocks that are set, and files that have one writer."""

from collections.abc import Iterator

import pytest

from coordination.authority import process
from coordination.core.messages import Granted, Held
from coordination.storage import clock
from coordination.storage.engines.base import StorageFault
from coordination.storage.engines.sqlite.engine import SqliteEngine
from tests.store.authorities import START, PostgresDatabase, RunningAuthority, SqliteDatabase, Time

OUTAGE_MS = 5_000
HOUR_MS = 3_600_000


# --- clocks ---------------------------------------------------------------------------------------


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Iterator[Time]:
    """The wall clock, as the test sets it. The monotonic clock does not move."""
    wall = Time()
    monkeypatch.setattr("coordination.storage.clock.time.time_ns", lambda: wall.now * 1_000_000)
    monkeypatch.setattr("coordination.storage.clock.steady_ms", lambda: 777)
    return wall


def test_setting_the_wall_clock_does_not_move_time(wall: Time) -> None:
    steady = clock.SteadyClock(0)
    assert steady() == START
    for jump in (+HOUR_MS, -3 * HOUR_MS):
        wall.passes(jump)
        assert steady() == START


def test_time_begins_no_earlier_than_the_latest_on_record(wall: Time) -> None:
    assert clock.SteadyClock(START + 5)() == START + 5
    assert clock.SteadyClock(START - 5)() == START


async def test_a_wall_clock_set_back_while_stopped_does_not_move_time_back(
    sqlite_database: SqliteDatabase, wall: Time, real_time: None
) -> None:
    engine = sqlite_database.engine()
    process.current().clock = clock.SteadyClock(engine.latest())
    authority = RunningAuthority(engine, outage_after_ms=OUTAGE_MS)
    granted = await authority.acquire("did:a")
    authority.stop()
    wall.passes(-HOUR_MS)
    engine = sqlite_database.engine()
    process.current().clock = clock.SteadyClock(engine.latest())
    authority = RunningAuthority(engine, outage_after_ms=OUTAGE_MS)
    refused = await authority.acquire("did:b")
    assert isinstance(refused, Held)
    assert refused.expires_at == granted.lease.expires_at
    later = await authority.acquire("did:b", "lock:b")
    assert later.lease.acquired_at >= granted.lease.acquired_at
    authority.stop()


async def test_a_database_clock_set_back_fails_no_renewal(
    postgres_database: PostgresDatabase, authority_clock: Time
) -> None:
    authority = RunningAuthority(postgres_database.engine(), outage_after_ms=OUTAGE_MS)
    await authority.acquire("did:a")
    authority_clock.passes(-HOUR_MS)
    again = await authority.acquire("did:a")
    assert isinstance(again, Granted)
    assert (again.renewed, again.lease.expires_at) == (True, START - HOUR_MS + 30_000)
    authority.stop()


# --- one file, one writer -------------------------------------------------------------------------


def test_a_second_process_is_refused_with_words(sqlite_database: SqliteDatabase) -> None:
    first = sqlite_database.engine()
    with pytest.raises(StorageFault, match=r"leases.sqlite3.*another process is the authority"):
        sqlite_database.engine()
    first.close()
    sqlite_database.engine().close()


def test_a_lock_is_not_kept_by_an_engine_that_does_not_open(sqlite_database: SqliteDatabase) -> None:
    good = sqlite_database.path.read_bytes()
    sqlite_database.path.write_bytes(b"not a database, but long enough to be looked at" * 20)
    with pytest.raises(StorageFault) as refused:
        sqlite_database.engine()
    sqlite_database.path.write_bytes(good)
    sqlite_database.engine().close()
    assert "file is not a database" in str(refused.value)


def test_a_reader_needs_no_lock_and_cannot_write(sqlite_database: SqliteDatabase) -> None:
    writer, reader = sqlite_database.engine(), sqlite_database.engine(readonly=True)
    assert isinstance(reader, SqliteEngine)
    with pytest.raises(StorageFault):
        reader.write({"outbox_insert": [("ws_1", "rcp_1", "kid", b"{}")]})
    reader.close()
    writer.close()
