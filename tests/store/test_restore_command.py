"""`manage.py restore` and `manage.py status`; and data of a newer version, which an older one does not
change."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.server import ServerProcess, command, manage
from tests.store.restores import back_up, grant, grants, ready, tokens


def test_the_command_puts_a_backup_in_place_and_raises_tokens(server: ServerProcess, tmp_path: Path) -> None:
    backup = back_up(server, tmp_path / "backup")  # with the log of a running server
    given = grants(server, 5)
    refused = pytest.raises(AssertionError, match="Stop the server")
    with refused:
        manage("restore", str(backup), env=server.env)
    status = server.manage("status")
    assert status["running"] is True
    assert status["parts"]["authority"] == "ok"
    server.kill()
    for wrong, words in ((tmp_path / "none", "is not a file"), (server.data_dir / "bootstrap.json", "sound")):
        with pytest.raises(AssertionError, match=words):
            manage("restore", str(wrong), env=server.env)
    answer = server.manage("restore", str(backup))
    assert server.manage("status")["running"] is False
    assert answer["restored"] is True
    assert answer["tokensAbove"] >= given
    aside = [Path(name) for name in answer["setAside"]]
    assert {path.name.split(".before")[0] for path in aside} >= {"leases.sqlite3", "leases.sqlite3-wal"}
    assert tokens(server.data_dir) == {"lock:r": 3}
    assert server.manage("status")["restored"]["tokensAbove"] == answer["tokensAbove"]
    assert grant(server.start()) == answer["tokensAbove"] + 1
    assert ready(server)[1]["restored"]["at"] == answer["at"]


def test_the_command_accepts_the_data_in_place(server: ServerProcess) -> None:
    """What cannot be recognised, such as a whole disk that was put back, is reported by hand."""
    server.terminate()
    for _ in range(2):
        answer = json.loads(manage("restore", "--json", env=server.env))
        assert answer["setAside"] == []
    assert grant(server.start()) == answer["tokensAbove"] + 1
    server.terminate()
    with pytest.raises(AssertionError, match="has leases in it"):
        manage("restore", "--new", env=server.env)


def test_a_damaged_backup_is_refused(server: ServerProcess, tmp_path: Path) -> None:
    server.terminate()
    backup = Path(shutil.copy(server.data_dir / "leases.sqlite3", tmp_path / "leases.sqlite3"))
    size = backup.stat().st_size
    with backup.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 8192))
    with pytest.raises(AssertionError, match=r"leases\.sqlite3"):
        manage("restore", str(backup), env=server.env)
    with closing(sqlite3.connect(server.data_dir / "leases.sqlite3")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert grant(server.start()) == 4


# --- data of a newer version ----------------------------------------------------------------------


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


def refused(data_dir: Path, *words: str) -> bool:
    """Whether the command refuses and names the migration; `purge` does the rest of its work and reports
    it."""
    done = command(*words, env={"DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(data_dir)})
    assert "Traceback" not in done.stderr
    assert words == ("purge",) or done.returncode == 1, done
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
