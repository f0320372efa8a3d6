"""A change of a file's times or place, without a change of its content, costs no lease and moves no fencing
token."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import ServerProcess
from tests.store.kill9 import Caller
from tests.store.restores import grant, grants, overwrite, ready

LONG_MS = "600000"  # no lease expires within a test


@pytest.fixture
def server(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """An embedded server with three grants."""
    shutil.copytree(bootstrapped, tmp_path / "data")
    server = ServerProcess(tmp_path / "data", {"INTRAMEDIAL_LEASE_TTL_MS": LONG_MS}).start()
    assert grants(server, 3) == 3
    yield server
    server.kill()


def acquire(server: ServerProcess, agent: str) -> int:
    """The status of an acquire of `lock:held`."""
    caller = Caller(server)
    with closing(caller.connection):
        return caller.call("POST", "/lease", {"resource": "lock:held", "actorDid": agent})[0]


def touch(path: Path) -> None:
    """Set another modification time, like `touch`; the clock's own resolution may be too coarse to differ."""
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 5_000_000_000))


def test_a_crash_and_a_touched_database_lose_no_lease(server: ServerProcess) -> None:
    assert acquire(server, "did:web:a.example") == 200
    server.kill()
    touch(server.data_dir / "leases.sqlite3")
    server.start()
    assert acquire(server, "did:web:b.example") == 409
    assert grant(server) == 4
    assert "restored" not in ready(server)[1]
    assert not list(server.data_dir.glob("*.stale-*"))


def test_a_database_that_is_touched_while_a_server_runs(server: ServerProcess) -> None:
    touch(server.data_dir / "leases.sqlite3")
    assert acquire(server, "did:web:a.example") == 200
    server.kill()
    server.start()
    assert acquire(server, "did:web:b.example") == 409
    assert grant(server) == 4


def test_an_older_database_of_the_same_size_is_not_taken_for_a_touched_one(
    server: ServerProcess, tmp_path: Path
) -> None:
    main = server.data_dir / "leases.sqlite3"
    server.terminate()
    shutil.copy2(main, tmp_path / "older")
    server.start()
    assert grants(server, 3) == 6
    server.terminate()
    assert main.stat().st_size == (tmp_path / "older").stat().st_size
    server.start()
    assert grant(server) == 7
    server.kill()
    overwrite(tmp_path / "older", main)
    touch(main)
    server.start()
    assert grant(server) > ready(server)[1]["restored"]["tokensAbove"] > 7
    assert list(server.data_dir.glob("leases.sqlite3-wal.stale-*"))


def test_a_mark_that_was_open_to_others_is_closed_and_is_no_copy(server: ServerProcess) -> None:
    (server.data_dir / "leases.mark").chmod(0o666)
    assert grant(server) == 4  # a grant after the change, so that the server accepts the file
    server.terminate()
    server.start()
    assert (server.data_dir / "leases.mark").stat().st_mode & 0o777 == 0o600
    server.kill()
    server.start()
    assert grant(server) == 5
    assert "restored" not in ready(server)[1]


def test_a_database_that_a_symbolic_link_leads_to(server: ServerProcess, tmp_path: Path) -> None:
    """SQLite keeps the log beside the file and not beside the link."""
    server.terminate()
    link, disk = server.data_dir / "leases.sqlite3", tmp_path / "disk"
    disk.mkdir()
    link.rename(disk / "leases.sqlite3")
    link.symlink_to(disk / "leases.sqlite3")
    server.start()
    assert grant(server) == 4
    server.kill()
    server.start()
    assert grant(server) == 5


def test_a_link_that_points_elsewhere_stops_leases(server: ServerProcess, tmp_path: Path) -> None:
    main = server.data_dir / "leases.sqlite3"
    shutil.copy2(main, tmp_path / "copy")
    main.rename(tmp_path / "aside")
    main.symlink_to(tmp_path / "copy")
    assert acquire(server, "did:web:a.example") == 503
    os.replace(tmp_path / "aside", main)
    assert acquire(server, "did:web:a.example") == 200
