"""A restored data directory or leases file is recognised: no fencing token is given twice."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import ServerProcess
from tests.store import restores
from tests.store.restores import grant, grants, ready, warned

Restore = Callable[[Path, Path], None]
RESTORED = "was restored"


def stopped(server: ServerProcess) -> None:
    server.terminate()


def killed(server: ServerProcess) -> None:
    server.kill()


END = pytest.mark.parametrize("end", [stopped, killed])


def above(server: ServerProcess, given: int, resource: str = "lock:r") -> int:
    """The server is ready, reports the restore, and gives tokens above `given`, one after the other."""
    status, answer = ready(server)
    assert status == 200
    assert answer["ok"]
    floor = answer["restored"]["tokensAbove"]
    assert floor >= given
    assert answer["restored"]["at"].endswith("Z")
    token = grant(server, resource)
    assert token > floor
    assert token < 2**53
    assert grant(server, resource) == token + 1
    # New resources, and those that are only in the backup, as well.
    assert grant(server, "lock:never-seen") > floor
    assert warned(server, RESTORED)
    return token + 1


def unmoved(server: ServerProcess, given: int) -> int:
    """Tokens continue where they were."""
    assert "restored" not in ready(server)[1]
    assert grant(server) == given + 1
    assert not warned(server, RESTORED)
    return given + 1


# --- the whole directory --------------------------------------------------------------------------


@END
@pytest.mark.parametrize("restore", [restores.in_place, restores.copied_anew, restores.moved_in])
def test_a_data_directory_put_back_from_a_cold_copy(
    server: ServerProcess, tmp_path: Path, restore: Restore, end: Callable[[ServerProcess], None]
) -> None:
    stopped(server)
    backup = restores.back_up(server, tmp_path / "backup")
    unmoved(server.start(), 3)
    given = grants(server, 4)
    end(server)
    restore(backup, server.data_dir)
    above(server.start(), given)


@pytest.mark.parametrize("restore", [restores.in_place, restores.copied_anew])
def test_a_data_directory_put_back_from_a_copy_of_a_running_server(
    server: ServerProcess, tmp_path: Path, restore: Restore
) -> None:
    backup = restores.back_up(server, tmp_path / "backup")
    given = grants(server, 5)
    killed(server)
    restore(backup, server.data_dir)
    above(server.start(), given)


def test_two_restores_in_a_row(server: ServerProcess, tmp_path: Path) -> None:
    stopped(server)
    backup = restores.back_up(server, tmp_path / "backup")
    given = grants(server.start(), 5)
    for _ in range(2):
        stopped(server)
        restores.in_place(backup, server.data_dir)
        given = above(server.start(), given)
    # Without another restore nothing moves any more.
    stopped(server)
    assert grant(server.start()) == given + 1


# --- the leases file alone ------------------------------------------------------------------------


def snapshot(server: ServerProcess, to: Path) -> Path:
    """The leases file as SQLite's backup makes it, while the server runs."""
    with (
        closing(sqlite3.connect(server.data_dir / "leases.sqlite3")) as source,
        closing(sqlite3.connect(to)) as target,
    ):
        source.backup(target)
    return to


def replaced(source: Path, target: Path) -> None:
    target.unlink()
    shutil.copy(source, target)


PUT = pytest.mark.parametrize("put", [restores.overwrite, replaced])


@PUT
@END
def test_the_leases_file_alone(
    server: ServerProcess, tmp_path: Path, put: Restore, end: Callable[[ServerProcess], None]
) -> None:
    backup = snapshot(server, tmp_path / "leases.backup")
    given = grants(server, 5)
    end(server)
    put(backup, server.data_dir / "leases.sqlite3")
    above(server.start(), given)
    # A log of a later state was not applied to it; it is kept beside it.
    logs = list(server.data_dir.glob("leases.sqlite3-wal.stale-*"))
    assert len(logs) == (1 if end is killed else 0)
    assert bool(warned(server, "set aside")) == (end is killed)
    stopped(server)
    with closing(sqlite3.connect(server.data_dir / "leases.sqlite3")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_leases_file_of_the_last_instant(server: ServerProcess, tmp_path: Path) -> None:
    """One grant after the backup is enough, however soon."""
    backup = snapshot(server, tmp_path / "leases.backup")
    given = grant(server)
    killed(server)
    for name in ("leases.sqlite3-wal", "leases.sqlite3-shm"):
        (server.data_dir / name).unlink()
    restores.overwrite(backup, server.data_dir / "leases.sqlite3")
    above(server.start(), given)


def test_a_leases_file_from_before_the_first_grant(
    server: ServerProcess, bootstrapped: Path, tmp_path: Path
) -> None:
    given = grants(server, 5)
    stopped(server)
    replaced(bootstrapped / "leases.sqlite3", server.data_dir / "leases.sqlite3")
    above(server.start(), given)


def test_a_leases_file_without_its_mark(server: ServerProcess, tmp_path: Path) -> None:
    backup = snapshot(server, tmp_path / "leases.backup")
    given = grants(server, 5)
    stopped(server)
    replaced(backup, server.data_dir / "leases.sqlite3")
    (server.data_dir / "leases.mark").unlink()
    above(server.start(), given)


def test_the_ledger_shows_that_a_leases_file_is_older(
    server: ServerProcess, bootstrapped: Path, tmp_path: Path
) -> None:
    """A file that no authority ever opened has no mark to compare."""
    given = grants(server, 5)
    stopped(server)
    replaced(bootstrapped / "leases.sqlite3", server.data_dir / "leases.sqlite3")
    (server.data_dir / "leases.mark").unlink()
    above(server.start(), given)


def test_receipts_go_on_into_the_ledger_after_a_restore(server: ServerProcess, tmp_path: Path) -> None:
    """The restored outbox has receipts that the ledger has already."""
    backup = snapshot(server, tmp_path / "leases.backup")
    with closing(sqlite3.connect(backup)) as db:
        rows = db.execute("SELECT count(*) FROM lease_outbox").fetchone()[0]
    given = grants(server, 2)
    stopped(server)
    replaced(backup, server.data_dir / "leases.sqlite3")
    above(server.start(), given)
    stopped(server)
    with closing(sqlite3.connect(server.data_dir / "ledger.sqlite3")) as db:
        kept, different = db.execute(
            "SELECT count(*), count(DISTINCT receipt_id) FROM ledger_entry"
        ).fetchone()
    assert kept == different
    # 3 before, 2 after, 3 above: a grant and a release each.
    assert kept == 2 * (3 + 2 + 3), f"{rows} in the backup's outbox"


# --- no restore -----------------------------------------------------------------------------------


def test_ordinary_restarts_crashes_upgrades_and_purges_move_nothing(server: ServerProcess) -> None:
    given = 3
    stopped(server)
    given = unmoved(server.start(), given)
    killed(server)
    given = unmoved(server.start(), given)
    killed(server)
    server.manage("bootstrap")
    given = unmoved(server.start(), given)
    killed(server)
    server.manage("purge")
    given = unmoved(server.start(), given)
    stopped(server)
    server.manage("purge", "--unused-days", "0")
    given = unmoved(server.start(), given)
    killed(server)
    # Another program opens the file after a crash, and SQLite moves the log into it.
    with closing(sqlite3.connect(server.data_dir / "leases.sqlite3")) as db:
        assert db.execute("SELECT last_token FROM lease_resource WHERE name = 'lock:r'").fetchone() == (
            given,
        )
    unmoved(server.start(), given)


def test_a_data_directory_that_was_renamed_is_the_same(server: ServerProcess) -> None:
    stopped(server)
    other = server.data_dir.with_name("elsewhere")
    server.data_dir.rename(other)
    moved = ServerProcess(other, {}).start()
    try:
        unmoved(moved, 3)
    finally:
        moved.kill()
