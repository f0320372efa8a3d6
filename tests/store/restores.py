"""Restores done by hand, as operators do them, and what a restored server reports."""

import json
import os
import shutil
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.server import ServerProcess
from tests.store.kill9 import Caller

OWN = {"serve.log", "bootstrap.json"}  # files of the tests, not of the product


def grant(server: ServerProcess, resource: str = "lock:r", agent: str = "did:web:a.example") -> int:
    """Acquire and release; returns the token."""
    caller = Caller(server)
    with closing(caller.connection):
        body = {"resource": resource, "actorDid": agent}
        status, granted = caller.call("POST", "/lease", body)
        assert status == 200, granted
        released, answer = caller.call("POST", "/release", body)
        assert released == 200, answer
        return int(granted["lease"]["fencingToken"])


def grants(server: ServerProcess, times: int, resource: str = "lock:r") -> int:
    """Make so many grants; returns the last token."""
    return [grant(server, resource) for _ in range(times)][-1]


def ready(server: ServerProcess) -> tuple[int, dict[str, Any]]:
    """Status and body of `/health/ready`."""
    try:
        with urllib.request.urlopen(f"{server.url}/health/ready", timeout=5) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def back_up(server: ServerProcess, to: Path) -> Path:
    """Like `cp -a` of the whole data directory."""
    shutil.copytree(server.data_dir, to)
    return to


def in_place(backup: Path, data_dir: Path) -> None:
    """Like `cp -a backup/. data/`: existing files are overwritten, others stay."""
    for source in backup.iterdir():
        if source.is_file() and source.name not in OWN:
            overwrite(source, data_dir / source.name)


def overwrite(source: Path, target: Path) -> None:
    """Like `cp -p`: the same inode gets other content and the old modification time."""
    with source.open("rb") as read, target.open("r+b" if target.exists() else "wb") as write:
        write.truncate()
        shutil.copyfileobj(read, write)
    shutil.copystat(source, target)


def copied_anew(backup: Path, data_dir: Path) -> None:
    """Like `rm -r data; cp -r backup data`, but without the tests' own files."""
    for name in os.listdir(data_dir):
        if name not in OWN and (data_dir / name).is_file():
            (data_dir / name).unlink()
    for source in backup.iterdir():
        if source.is_file() and source.name not in OWN:
            shutil.copy(source, data_dir / source.name)


def moved_in(backup: Path, data_dir: Path) -> None:
    """Like `mv data old; cp -a backup data`."""
    old = data_dir.with_name(f"{data_dir.name}-old")
    data_dir.rename(old)
    shutil.copytree(backup, data_dir)
    for name in OWN:
        shutil.copy(old / name, data_dir / name)
    shutil.rmtree(old)


def tokens(data_dir: Path) -> dict[str, int]:
    """The last token of each resource, read while no server runs."""
    with sqlite3.connect(f"{(data_dir / 'leases.sqlite3').as_uri()}?mode=ro", uri=True) as db:
        return dict(db.execute("SELECT name, last_token FROM lease_resource").fetchall())


def warned(server: ServerProcess, words: str) -> list[dict[str, Any]]:
    """The lines of the log at WARNING and above that contain `words`."""
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["level"] in ("warning", "error") and words in line["message"]]
