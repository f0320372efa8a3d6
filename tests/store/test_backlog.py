"""The outbox has a limit: beyond it leases go on, and the receipts that the ledger misses are counted and
logged."""

import json
import sqlite3
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from coordination.core.messages import Granted, Released
from coordination.storage.store import OUTBOX_ROW, Backlog
from tests.server import ServerProcess
from tests.store.authorities import Database, RunningAuthority
from tests.store.kill9 import Caller

MB = 1 << 20


def test_an_admitted_receipt_counts_until_it_is_recorded():
    backlog = Backlog(2 * OUTBOX_ROW + 100)
    assert backlog.admit(50)
    assert backlog.admit(50)
    assert not backlog.admit(1)
    backlog.left([50])
    assert backlog.admit(50)
    assert (backlog.dropped, backlog.size) == (1, 2 * OUTBOX_ROW + 100)


def test_a_count_corrects_the_estimate():
    backlog = Backlog(100_000)
    assert not backlog.doubtful()
    for _ in range(20):
        backlog.admit(1_000)
    assert backlog.doubtful()
    backlog.count(1, 500)
    assert backlog.size == 500 + OUTBOX_ROW
    backlog.left([10_000])
    assert backlog.size == 0, "other processes recorded receipts too: the size is never below zero"


def test_without_a_limit_everything_is_admitted():
    backlog = Backlog()
    assert all(backlog.admit(1 << 40) for _ in range(3))
    assert not backlog.doubtful()


def test_dropped_receipts_are_logged_ever_more_rarely(caplog: pytest.LogCaptureFixture) -> None:
    backlog = Backlog(0)
    for _ in range(1_000):
        backlog.admit(1)
    assert len(caplog.records) == 10  # 1, 2, 4 … 512
    assert "512 so far" in caplog.records[-1].message


async def test_leases_go_on_when_the_outbox_is_full(authority: RunningAuthority, database: Database) -> None:
    """The receipts are as good as ever; only the ledger's entries without room are missing."""
    authority.store.backlog = Backlog(3_000)
    for number in range(10):
        answer = await authority.acquire("did:a", f"lock:{number}")
        assert isinstance(answer, Granted)
        assert isinstance(await authority.release("did:a", f"lock:{number}"), Released)
    [(rows,)] = database.rows("SELECT count(*) FROM lease_outbox")
    assert 0 < rows < 10
    assert authority.store.backlog.dropped == 20 - rows


def test_the_size_is_that_of_the_rows(database: Database) -> None:
    engine = database.engine(readonly=True)
    assert engine.outbox_size() == (0, 0)
    for number in range(3):
        database.rows(
            "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims)"
            f" VALUES ('w', 'rcp_{number}', '', '{'x' * 100 * number}')"
        )
    assert engine.outbox_size() == (3, 300)
    engine.close()


def ready(server: ServerProcess) -> Any:
    with urllib.request.urlopen(f"{server.url}/health/ready", timeout=10) as answer:
        return json.load(answer)


def test_a_ledger_that_stays_away(live_server_process: Callable[..., ServerProcess]) -> None:
    """A megabyte waits for the ledger, and what does not fit is logged; in the end the ledger has all that
    waited."""
    server = live_server_process(DATABASE_URL="", INTRAMEDIAL_OUTBOX_MB="1")
    caller = Caller(server)
    away = server.data_dir / "away.sqlite3"
    (server.data_dir / "ledger.sqlite3").rename(away)
    with closing(caller.connection):
        for number in range(3_000):
            body = {"resource": f"lock:{number % 10}", "actorDid": "did:web:agent.example"}
            assert caller.call("POST", "/lease", body)[0] == 200
            if number % 100 == 0 and "ledgerDropped" in ready(server):
                break
    answer = ready(server)
    assert answer["ledgerDropped"] > 0
    assert answer["parts"] == {"authority": "ok", "accounts": "ok", "ledger": "failed"}
    assert "the outbox is full" in server.log
    away.rename(server.data_dir / "ledger.sqlite3")
    deadline = time.monotonic() + 20
    while ready(server)["parts"]["ledger"] != "ok" or entries(server) < 500:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert ready(server)["ledgerDropped"] > 0, "an operator can still see it afterwards"


def entries(server: ServerProcess) -> int:
    with closing(sqlite3.connect(server.data_dir / "ledger.sqlite3")) as ledger:
        return int(ledger.execute("SELECT count(*) FROM ledger_entry").fetchone()[0])
