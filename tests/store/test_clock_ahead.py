"""An authority whose clock is ahead of the machine's logs it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from coordination.authority import process as authority
from coordination.storage import clock
from coordination.storage.clock import ClockWatch, in_words
from tests.server import ServerProcess
from tests.store.restores import ready, warned

HOUR_MS = 3_600_000


def test_the_log_says_once_that_the_clock_is_ahead_and_once_that_it_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = [HOUR_MS, HOUR_MS - 1_000, 5_000, 4_999, 0, -HOUR_MS, 6_000]
    watch = ClockWatch(iter(times).__next__)
    for _ in times:
        watch.look()
    logged = [record.getMessage() for record in caplog.records if record.name == "coordination.storage.clock"]
    assert [
        ("is 60 min ahead" in one, "no longer ahead" in one, "is 6 s ahead" in one) for one in logged
    ] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]


def test_a_duration_in_words() -> None:
    assert [in_words(ms) for ms in (5_000, 58_400, 3_480_000, 100 * HOUR_MS)] == [
        "5 s",
        "58 s",
        "58 min",
        "6000 min",
    ]


def test_the_clock_of_a_test_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert authority.current().clock_ahead() == ""


@pytest.fixture
def server(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """An embedded server on a data directory that was used while the machine's clock was an hour ahead."""
    shutil.copytree(bootstrapped, tmp_path / "data")
    with closing(sqlite3.connect(tmp_path / "data" / "leases.sqlite3", isolation_level=None)) as db:
        db.execute("INSERT INTO lease_pulse (process, at) VALUES ('before', ?)", (clock.wall_ms() + HOUR_MS,))
    server = ServerProcess(tmp_path / "data", {})
    yield server
    server.kill()


def test_a_server_that_starts_ahead_logs_it(server: ServerProcess) -> None:
    before = server.manage("status")
    assert HOUR_MS - 120_000 < before["clockAheadMs"] <= HOUR_MS
    server.start()
    status, answer = ready(server)
    assert status == 200
    assert HOUR_MS - 120_000 < answer["clockAheadMs"] <= HOUR_MS + 1_000
    assert warned(server, "ahead of the machine's")
    assert server.manage("status")["clockAheadMs"] > HOUR_MS - 120_000
