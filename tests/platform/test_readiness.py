"""`/health/ready` tests writes. Whatever prevents a write shows within two seconds, and so does its end."""

import json
import os
import resource
import shutil
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from coordination.storage.engines.postgres.engine import lock_number
from tests.server import ServerProcess

SHOWN_S = 2.0
SPARE_S = 1.0  # for a machine that runs other tests at the same time
WELL = {"authority": "ok", "accounts": "ok", "ledger": "ok"}
LEASE = "/api/v1/acp/coordination/lease"

Hindrance = Callable[[ServerProcess], AbstractContextManager[None]]


def ready(server: ServerProcess) -> tuple[int, dict[str, str]]:
    """The status, and the state of each part."""
    try:
        with urllib.request.urlopen(f"{server.url}/health/ready", timeout=10) as answer:
            return answer.status, json.load(answer)["parts"]
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        assert problem["reason"] == "authority_unavailable"
        assert error.headers["retry-after"] == "1"
        return error.code, problem["parts"]


def shows(server: ServerProcess, status: int, **parts: str) -> None:
    """Wait until `/health/ready` returns this status and these states of parts, for two seconds at most."""
    deadline = time.monotonic() + SHOWN_S + SPARE_S
    while not ((found := ready(server))[0] == status and parts.items() <= found[1].items()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def lease(server: ServerProcess, name: str) -> int:
    """Acquire a resource; returns the status."""
    request = urllib.request.Request(
        server.url + LEASE,
        json.dumps({"resource": name, "actorDid": "did:example:a"}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {server.secrets['apiKey']}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


# --- SQLite ------------------------------------------------------------------------------------


@contextmanager
def no_file_may_grow(server: ServerProcess) -> Iterator[None]:
    """Every write of the server's process to a file fails with EFBIG."""
    assert server.process is not None
    pid = server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def locked(file: str) -> Hindrance:
    """Another connection holds the write lock of a file."""

    @contextmanager
    def holding(server: ServerProcess) -> Iterator[None]:
        with closing(sqlite3.connect(server.data_dir / file, isolation_level=None, timeout=30)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            yield

    return holding


@pytest.fixture
def embedded(live_server_process: Callable[..., ServerProcess], request: Any) -> ServerProcess:
    """A server on SQLite, whichever database the suite uses."""
    if request.config.getoption("database") == "sqlite":
        return live_server_process()
    return live_server_process(DATABASE_URL="")


@pytest.mark.parametrize(
    ("hindrance", "failing"),
    [
        (no_file_may_grow, ["authority", "accounts", "ledger"]),
        (locked("leases.sqlite3"), ["authority"]),
        (locked("default.sqlite3"), ["accounts"]),
    ],
    ids=["RLIMIT_FSIZE", "leases locked", "accounts locked"],
)
def test_a_hindrance_of_writes_shows_and_ends(
    embedded: ServerProcess, hindrance: Hindrance, failing: list[str]
) -> None:
    assert ready(embedded) == (200, WELL)
    with hindrance(embedded):
        shows(embedded, 503, **dict.fromkeys(failing, "failed"))
        others = {name: state for name, state in WELL.items() if name not in failing}
        assert others.items() <= ready(embedded)[1].items()
    shows(embedded, 200, **WELL)
    assert lease(embedded, "lock:after") == 200


def test_a_ledger_that_takes_nothing_shows_and_leases_go_on(embedded: ServerProcess) -> None:
    with locked("ledger.sqlite3")(embedded):
        assert lease(embedded, "lock:a") == 200
        shows(embedded, 200, **WELL | {"ledger": "failed"})
        assert lease(embedded, "lock:b") == 200
    shows(embedded, 200, **WELL)


def test_a_deleted_ledger_shows_and_no_file_replaces_it(embedded: ServerProcess) -> None:
    kept = embedded.data_dir / "kept"
    kept.mkdir()
    lease(embedded, "lock:a")
    entries(embedded, 1)
    move(embedded.data_dir, kept)
    shows(embedded, 200, **WELL | {"ledger": "failed"})
    assert lease(embedded, "lock:b") == 200
    shows(embedded, 200, **WELL | {"ledger": "failed"})
    assert not (embedded.data_dir / "ledger.sqlite3").exists(), "an empty file is in its place"
    move(kept, embedded.data_dir)
    shows(embedded, 200, **WELL)
    entries(embedded, 2)


def test_an_older_copy_of_the_ledger_is_not_continued(embedded: ServerProcess) -> None:
    """It would use indexes again."""
    older, newer = embedded.data_dir / "older", embedded.data_dir / "newer"
    newer.mkdir()
    lease(embedded, "lock:a")
    entries(embedded, 1)
    ledger = sqlite3.connect(embedded.data_dir / "ledger.sqlite3")
    with closing(ledger), closing(sqlite3.connect(older)) as copy:
        ledger.backup(copy)
    lease(embedded, "lock:b")
    entries(embedded, 2)
    move(embedded.data_dir, newer)
    shutil.copy(older, embedded.data_dir / "ledger.sqlite3")
    shows(embedded, 200, **WELL | {"ledger": "failed"})
    assert lease(embedded, "lock:c") == 200
    shows(embedded, 200, **WELL | {"ledger": "failed"})
    with closing(sqlite3.connect(embedded.data_dir / "ledger.sqlite3")) as ledger:
        assert ledger.execute("SELECT count(*) FROM ledger_entry").fetchone() == (1,)
    for file in embedded.data_dir.glob("ledger.sqlite3*"):
        file.unlink()
    move(newer, embedded.data_dir)
    shows(embedded, 200, **WELL)
    entries(embedded, 3)


def move(source: Path, target: Path) -> None:
    """Move the ledger's files to another directory."""
    for file in source.glob("ledger.sqlite3*"):
        os.rename(file, target / file.name)


def entries(server: ServerProcess, many: int, within_s: float = 30) -> None:
    """Wait until the ledger has `many` entries."""
    deadline = time.monotonic() + within_s
    with closing(sqlite3.connect(server.data_dir / "ledger.sqlite3")) as ledger:
        while ledger.execute("SELECT count(*) FROM ledger_entry").fetchone() != (many,):
            assert time.monotonic() < deadline, server.log
            time.sleep(0.05)


# --- PostgreSQL --------------------------------------------------------------------------------


def table_locked(table: str) -> Hindrance:
    """Another session holds a lock under which others can read a table and not write it."""

    @contextmanager
    def holding(server: ServerProcess) -> Iterator[None]:
        with psycopg.connect(server.env["DATABASE_URL"]) as holder:
            holder.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
            yield
            holder.rollback()

    return holding


@contextmanager
def read_only(server: ServerProcess) -> Iterator[None]:
    """The database is set to read-only, as an operator does."""
    url = server.env["DATABASE_URL"]
    name = url.rpartition("/")[2]
    setting = f"ALTER DATABASE {name} SET default_transaction_read_only ="
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(f"{setting} on".encode())
        yield
        session.execute(f"{setting} off".encode())


@pytest.mark.parametrize(
    ("hindrance", "failing"),
    [
        (table_locked("lease_pulse"), "authority"),
        (table_locked("cache"), "accounts"),
        (read_only, "accounts"),
    ],
    ids=["leases locked", "accounts locked", "read only"],
)
def test_a_hindrance_on_postgresql_shows_and_ends(
    live_server_process: Callable[..., ServerProcess], postgres_url: str, hindrance: Hindrance, failing: str
) -> None:
    server = live_server_process(DATABASE_URL=postgres_url)
    assert ready(server) == (200, WELL)
    with hindrance(server):
        shows(server, 503, **{failing: "failed"})
    shows(server, 200, **WELL)
    assert lease(server, "lock:after") == 200


def test_a_lock_that_the_authority_waits_for(
    live_server_process: Callable[..., ServerProcess], postgres_url: str
) -> None:
    """While a request waits for a workspace that another session locks, no request is served."""
    server = live_server_process(DATABASE_URL=postgres_url)
    key = lock_number(server.secrets["workspace"])
    statuses: list[int] = []
    with psycopg.connect(postgres_url, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", [key])
        asking = threading.Thread(target=lambda: statuses.append(lease(server, "lock:a")))
        asking.start()
        shows(server, 503, authority="failed")
        holder.execute("SELECT pg_advisory_unlock(%s)", [key])
        asking.join()
    shows(server, 200, **WELL)
    assert statuses in ([200], [503])
    assert lease(server, "lock:a") == 200
