"""No lease is granted from files that are no longer in their place, and no new database is begun where one
was lost."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from coordination.authority.restoring import Witnesses, recognise
from coordination.storage.engines.base import InDoubt, StorageFault
from coordination.storage.engines.sqlite.engine import SqliteEngine
from tests.server import ServerProcess, manage
from tests.store.authorities import SqliteDatabase, Time
from tests.store.kill9 import Caller
from tests.store.restores import grant, grants, ready, warned

WITHIN_S = 30


def deleted(path: Path, aside: Path) -> None:
    path.unlink()


def renamed(path: Path, aside: Path) -> None:
    path.rename(aside)


def replaced(path: Path, aside: Path) -> None:
    shutil.copy(path, aside)
    os.replace(aside, path)


def overwritten(path: Path, aside: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def emptied(path: Path, aside: Path) -> None:
    os.truncate(path, 0)


def directory_moved(path: Path, aside: Path) -> None:
    path.parent.rename(aside)


@pytest.fixture
def engine(sqlite_database: SqliteDatabase) -> Iterator[SqliteEngine]:
    """A writer that keeps a mark, in a directory of its own."""
    directory = sqlite_database.path.parent / "data"
    directory.mkdir()
    path = sqlite_database.path.rename(directory / "leases.sqlite3")
    engine = SqliteEngine(path, marked=True)
    recognise(engine, Witnesses())
    yield engine
    engine.close()


def commit(engine: SqliteEngine, now: int = 1) -> None:
    engine.begin([])
    try:
        engine.commit("alone", now)
    except BaseException:
        engine.rollback()
        raise


@pytest.fixture
def path(engine: SqliteEngine, tmp_path: Path) -> Path:
    """The engine's file."""
    return tmp_path / "data" / "leases.sqlite3"


@pytest.mark.parametrize("part", ["", "-wal"])
@pytest.mark.parametrize("lose", [deleted, renamed, replaced])
def test_nothing_is_acknowledged_without_the_file(
    engine: SqliteEngine, path: Path, tmp_path: Path, lose: Callable[[Path, Path], None], part: str
) -> None:
    commit(engine)
    lose(Path(f"{path}{part}"), tmp_path / "aside")
    with pytest.raises(InDoubt):
        commit(engine, 2)
    with pytest.raises(StorageFault, match="leases"):  # and from then on no transaction begins
        engine.begin([])
    with pytest.raises(StorageFault):
        engine.latest()


@pytest.mark.parametrize("lose", [overwritten, emptied, directory_moved])
def test_nothing_is_acknowledged_from_a_file_that_others_wrote_or_moved(
    engine: SqliteEngine, path: Path, tmp_path: Path, lose: Callable[[Path, Path], None]
) -> None:
    commit(engine)
    lose(path, tmp_path / "aside")
    with pytest.raises(StorageFault):
        commit(engine, 2)
    with pytest.raises(StorageFault):
        engine.latest()


def test_the_same_files_back_in_their_place_are_used_again(
    engine: SqliteEngine, path: Path, tmp_path: Path
) -> None:
    for lost in (path, path.parent, Path(f"{path}-wal")):
        commit(engine)
        lost.rename(tmp_path / "aside")
        with pytest.raises(StorageFault):
            commit(engine, 2)
        (tmp_path / "aside").rename(lost)
        commit(engine, 3)


def test_the_mark_is_as_new_as_the_last_grant(
    engine: SqliteEngine, path: Path, authority_clock: Time, tmp_path: Path
) -> None:
    """Whatever follows the grant, and whatever checkpoints happen."""
    assert engine.marker is not None
    for number in range(1, 2_000):
        engine.begin([])
        engine.write(
            {"granted": [("ws_1", "lock:a", number)], "outbox_insert": [("ws_1", f"r{number}", "", b"")]}
        )
        engine.commit(None, number)
        mark = engine.marker.look()[0]
        assert mark.own
        assert mark.mark is not None
        assert mark.mark.witness == ["ws_1", "lock:a", number]
        assert mark.mark.highest == number
    log = Path(f"{path}-wal").stat().st_size
    assert log < 3_000 * 4_120, "checkpoints move the log into the database meanwhile"


# --- with the server ------------------------------------------------------------------------------


def until_ready_is(server: ServerProcess, status: int) -> dict[str, object]:
    deadline = time.monotonic() + WITHIN_S
    while True:
        found, answer = ready(server)
        if found == status:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def test_a_server_whose_file_is_renamed_grants_nothing_until_it_is_back(
    server: ServerProcess, tmp_path: Path
) -> None:
    path = server.data_dir / "leases.sqlite3"
    path.rename(tmp_path / "aside")
    caller = Caller(server)
    with closing(caller.connection):
        body = {"resource": "lock:r", "actorDid": "did:web:b.example"}
        status, answer = caller.call("POST", "/lease", body)
        assert (status, answer["reason"]) == (503, "authority_unavailable")
    answer = until_ready_is(server, 503)
    assert warned(server, "leases.sqlite3")
    (tmp_path / "aside").rename(path)
    until_ready_is(server, 200)
    assert grant(server) > 3
    server.terminate()
    assert grant(server.start()) > 4
    assert "restored" not in ready(server)[1]


def test_a_lost_database_is_begun_anew_only_by_command(server: ServerProcess) -> None:
    given = grants(server, 2)
    server.terminate()
    for name in os.listdir(server.data_dir):
        if name.startswith("leases.sqlite3"):
            (server.data_dir / name).unlink()
    refusals = []
    for command in ("serve", "bootstrap", "serve"):
        with pytest.raises(AssertionError, match="restore --new"):
            manage(command, env=server.env)
        refusals.append((server.data_dir / "leases.sqlite3").exists())
    (server.data_dir / "leases.mark").unlink()  # there are still workspaces
    with pytest.raises(AssertionError, match="restore --new"):
        manage("bootstrap", env=server.env)
    assert refusals == [False] * 3
    answer = server.manage("restore", "--new")
    assert answer["restored"]
    assert answer["tokensAbove"] > given
    assert grant(server.start()) > answer["tokensAbove"]
    assert ready(server)[1]["restored"]["tokensAbove"] == answer["tokensAbove"]
