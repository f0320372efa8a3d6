"""Files that an administrator's commands leave in the data directory can be opened by the server's user."""

import os
import pwd
import shutil
from pathlib import Path

import pytest

from coordination.storage.engines.base import StorageFault
from coordination.storage.engines.mark import MarkFile
from coordination.storage.engines.sqlite.session import FileLock, connect
from tests.server import manage

OTHER = pwd.getpwnam("nobody")


@pytest.fixture
def data_dir(bootstrapped: Path, tmp_path: Path) -> Path:
    """A data directory of another user, without its lock and its mark."""
    directory = tmp_path / "data"
    shutil.copytree(bootstrapped, directory)
    for path in (*directory.glob("leases*.mark"), *directory.glob("*.lock")):
        path.unlink()
    for path in (directory, *directory.rglob("*")):
        os.chown(path, OTHER.pw_uid, OTHER.pw_gid)
    return directory


def files_of_others(directory: Path) -> list[str]:
    """The files that do not belong to the directory's owner."""
    return sorted(path.name for path in directory.iterdir() if path.stat().st_uid != OTHER.pw_uid)


def as_root(directory: Path, *arguments: str) -> None:
    manage(*arguments, env={"DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(directory)})


def test_a_backup_that_root_puts_in_place(data_dir: Path, tmp_path: Path) -> None:
    shutil.copy(data_dir / "leases.sqlite3", tmp_path / "backup")
    as_root(data_dir, "restore", str(tmp_path / "backup"))
    assert (data_dir / "leases.mark").exists()
    assert files_of_others(data_dir) == []


def test_a_database_that_root_begins_anew(data_dir: Path) -> None:
    (data_dir / "leases.sqlite3").unlink()
    as_root(data_dir, "restore", "--new")
    assert files_of_others(data_dir) == []


@pytest.mark.parametrize("command", ["status", "purge", "bootstrap"])
def test_files_that_other_commands_leave(data_dir: Path, command: str) -> None:
    as_root(data_dir, command)
    assert files_of_others(data_dir) == []


def test_the_owner_of_existing_files_stays(data_dir: Path) -> None:
    mark = data_dir / "leases.mark"
    MarkFile(mark).close()
    os.chown(mark, 0, 0)
    before = mark.stat().st_ctime_ns
    MarkFile(mark).close()
    assert mark.stat().st_ctime_ns == before  # the mark's change time shows whether it is a copy
    FileLock(data_dir / "leases.sqlite3.lock").release()
    assert (data_dir / "leases.sqlite3.lock").stat().st_uid == OTHER.pw_uid


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "leases.sqlite3").mkdir()
    with pytest.raises(StorageFault, match=r"leases\.sqlite3: unable to open"):
        connect(tmp_path / "leases.sqlite3", "write")
