"""Only the user of the server may use keys, secrets and databases. Files open to others are closed."""

import logging
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from intramedial.process import private_files
from tests.server import manage


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(data_dir: Path) -> list[str]:
    """The files that other users may use. `bootstrap.json` belongs to the tests and is left out."""
    found = [data_dir, *data_dir.rglob("*")]
    return [path.name for path in found if mode(path) & 0o077 and path.name != "bootstrap.json"]


def made(tmp_path: Path) -> Path:
    """A data directory that a careless program has restored."""
    data_dir = tmp_path / "data"
    (data_dir / "keys").mkdir(parents=True)
    for name in (
        *("default.sqlite3", "leases.sqlite3", "leases.sqlite3-wal", "leases.sqlite3-shm"),
        *("leases.sqlite3.lock", "ledger.sqlite3.bak", "secret_key", "keys/000001.jwk", "keys/.draft-1-ab"),
    ):
        (data_dir / name).write_bytes(b"x")
        (data_dir / name).chmod(0o644)
    (data_dir / "keys" / "000001.jwk").chmod(0o664)
    (data_dir / "keys").chmod(0o755)
    data_dir.chmod(0o755)
    return data_dir


def test_open_files_are_closed_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data_dir = made(tmp_path)
    (data_dir / "readme").write_text("an operator's own")
    (data_dir / "readme").chmod(0o644)
    with caplog.at_level(logging.WARNING):
        private_files.tighten(data_dir)
    assert open_to_others(data_dir) == ["readme"]
    assert mode(data_dir) == mode(data_dir / "keys") == 0o700
    assert mode(data_dir / "secret_key") == 0o600
    assert len(caplog.records) == 11
    line = (
        f"{data_dir / 'keys' / '000001.jwk'} had the mode 0664, so other users could read it: it is 0600 now"
    )
    assert line in caplog.messages
    caplog.clear()
    private_files.tighten(data_dir)
    assert caplog.records == []


def test_a_stricter_mode_stays(tmp_path: Path) -> None:
    data_dir = made(tmp_path)
    (data_dir / "secret_key").chmod(0o440)
    private_files.tighten(data_dir)
    assert mode(data_dir / "secret_key") == 0o400


def test_a_file_that_cannot_be_closed_is_logged_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    data_dir = made(tmp_path)
    monkeypatch.setattr(Path, "chmod", refuse)
    private_files.tighten(data_dir)
    file = data_dir / "secret_key"
    line = next(message for message in caplog.messages if message.startswith(f"{file} "))
    assert f"its owner is the user {os.getuid()}" in line
    assert f"chmod 600 {file}" in line


def test_a_directory_that_all_users_share_is_not_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data_dir = made(tmp_path)
    data_dir.chmod(0o1777)
    private_files.tighten(data_dir)
    assert mode(data_dir) == 0o1777
    assert mode(data_dir / "secret_key") == 0o600
    assert any("shared by all users" in message for message in caplog.messages)


def test_bootstrap_makes_private_files_whatever_the_shells_mask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        manage("bootstrap", env={"INTRAMEDIAL_DATA_DIR": str(tmp_path / "data"), "DATABASE_URL": ""})
    finally:
        os.umask(before)
    assert {file.name for file in (tmp_path / "data").iterdir()} >= {"default.sqlite3", "keys", "secret_key"}
    assert open_to_others(tmp_path / "data") == []


def test_serve_closes_open_files(live_server_process: Any, tmp_path: Path) -> None:
    server = live_server_process()
    server.kill()
    for file in server.data_dir.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)
    server.data_dir.chmod(0o755)
    log = shutil.move(server.data_dir / "serve.log", tmp_path / "first.log")
    server.start()
    assert [name for name in open_to_others(server.data_dir) if name != "serve.log"] == []
    assert "so other users could read it" in server.log
    assert Path(log).exists()
