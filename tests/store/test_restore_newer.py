"""An older version does not restore, repair or purge what a newer version has set up."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import ROOT


@pytest.fixture
def data_dir(bootstrapped: Path, tmp_path: Path) -> Path:
    """An embedded data directory."""
    return Path(shutil.copytree(bootstrapped, tmp_path / "data"))


def newer(database: Path) -> Path:
    """The same database with a migration that this version does not have."""
    with closing(sqlite3.connect(database)) as db, db:
        db.execute(
            "INSERT INTO django_migrations (app, name, applied)"
            " VALUES ('coordination', '0999_later', '2030-01-01')"
        )
    return database


def refused(data_dir: Path, *command: str) -> bool:
    """Whether the command refuses and names the migration; `purge` does the rest of its work and reports
    it."""
    env = {**os.environ, "DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(data_dir)}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert command == ("purge",) or done.returncode == 1, done
    return "newer version" in done.stderr and "coordination.0999_later" in done.stderr


def test_a_backup_of_a_newer_version_is_not_put_in_place(data_dir: Path, tmp_path: Path) -> None:
    backup = newer(Path(shutil.copy(data_dir / "leases.sqlite3", tmp_path / "backup")))
    before = (data_dir / "leases.sqlite3").read_bytes()
    assert refused(data_dir, "restore", str(backup))
    assert (data_dir / "leases.sqlite3").read_bytes() == before
    assert not list(data_dir.glob("*.before-*"))
    assert not list(data_dir.glob("*.restoring*"))


@pytest.mark.parametrize("command", ["restore", "purge"])
def test_data_of_a_newer_version_is_not_written(data_dir: Path, command: str) -> None:
    newer(data_dir / "leases.sqlite3")
    assert refused(data_dir, command)
    with closing(sqlite3.connect(data_dir / "leases.sqlite3")) as db:
        assert db.execute("SELECT count(*) FROM lease_database WHERE restored_at > 0").fetchone() == (0,)
