"""A PostgreSQL database that was restored is recognised, with servers stopped or running."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.server import ServerProcess, bootstrap
from tests.services import Postgres, postgres_program
from tests.store.kill9 import Caller
from tests.store.restores import grant, grants, ready, warned


@pytest.fixture
def server(postgres_cluster: Postgres, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server with three grants, on a database of its own."""
    url = postgres_cluster.url(postgres_cluster.create_database())
    env = {"DATABASE_URL": url}
    (tmp_path / "data").mkdir()
    server = ServerProcess(bootstrap(tmp_path / "data", env), env).start()
    assert grants(server, 3) == 3
    yield server
    server.kill()


def name_of(server: ServerProcess) -> str:
    return urlsplit(server.env["DATABASE_URL"]).path[1:]


def dump(server: ServerProcess) -> str:
    url = server.env["DATABASE_URL"]
    made = subprocess.run(
        [postgres_program("pg_dump"), "--clean", "--if-exists", url],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def play(url: str, script: str) -> None:
    options = ["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]
    subprocess.run(
        [postgres_program("psql"), *options, url], input=script, capture_output=True, text=True, check=True
    )


def into_new(cluster: Postgres, server: ServerProcess, script: str) -> None:
    """Load the dump into a new database with the old one's name."""
    name = name_of(server)
    cluster.drop_database(name)
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    play(cluster.url(name), script)


def into_same(cluster: Postgres, server: ServerProcess, script: str) -> None:
    """Load the dump over the existing database."""
    play(cluster.url(name_of(server)), script)


def above(server: ServerProcess, given: int) -> int:
    answer = ready(server)[1]["restored"]
    assert answer["tokensAbove"] >= given
    token = grant(server)
    assert token > answer["tokensAbove"]
    assert grant(server, "lock:never-seen") > answer["tokensAbove"]
    assert warned(server, "was restored")
    return token


def forget_mark(server: ServerProcess) -> None:
    """As on another machine, or in a container that keeps no data directory."""
    for mark in server.data_dir.glob("leases*.mark"):
        mark.unlink()


@pytest.mark.parametrize("restore", [into_new, into_same])
def test_a_dump_that_was_restored_while_servers_are_stopped(
    server: ServerProcess, postgres_cluster: Postgres, restore: Callable[[Postgres, ServerProcess, str], None]
) -> None:
    script = dump(server)
    given = grants(server, 5)
    server.kill()
    restore(postgres_cluster, server, script)
    forget_mark(server)
    given = above(server.start(), given)
    server.kill()
    restore(postgres_cluster, server, script)
    given = above(server.start(), given)
    server.terminate()
    assert grant(server.start()) == given + 1


def test_a_database_made_from_a_template(server: ServerProcess, postgres_cluster: Postgres) -> None:
    server.terminate()
    copy = postgres_cluster.create_database(name_of(server))
    given = grants(server.start(), 5)
    server.terminate()
    forget_mark(server)
    server.env["DATABASE_URL"] = postgres_cluster.url(copy)
    above(server.start(), given)


def test_rows_put_back_within_the_same_database_are_recognised_by_the_mark(
    server: ServerProcess, postgres_cluster: Postgres
) -> None:
    """As when a cluster's files were put back: nothing in the database shows it."""
    with psycopg.connect(server.env["DATABASE_URL"], autocommit=True) as connection:
        given = grants(server, 5)
        server.kill()
        connection.execute("UPDATE lease_resource SET last_token = 3")
    above(server.start(), given)


@pytest.mark.parametrize("restore", [into_new, into_same])
def test_a_restore_under_running_servers(
    server: ServerProcess, postgres_cluster: Postgres, restore: Callable[[Postgres, ServerProcess, str], None]
) -> None:
    script = dump(server)
    given = grants(server, 5)
    restore(postgres_cluster, server, script)
    deadline = time.monotonic() + 30
    while ready(server)[0] != 200 or "restored" not in ready(server)[1]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    above(server, given)


def test_the_command_beside_running_servers(server: ServerProcess, tmp_path: Path) -> None:
    """Each server gives tokens above the old ones from the next grant on, also for what it remembers."""
    other_dir = tmp_path / "other"
    other_dir.mkdir()
    for name in ("bootstrap.json", "secret_key"):
        if (server.data_dir / name).exists():
            (other_dir / name).write_bytes((server.data_dir / name).read_bytes())
    other = ServerProcess(other_dir, {"DATABASE_URL": server.env["DATABASE_URL"]}).start()
    try:
        assert "restored" not in ready(other)[1]  # another machine has no mark
        assert grant(other) == 4
        answer = server.manage("restore")
        assert grant(other) == answer["tokensAbove"] + 1
        assert grant(server) == answer["tokensAbove"] + 2
        assert grant(server, "lock:new") == answer["tokensAbove"] + 1
        with pytest.raises(AssertionError, match="its own tools"):
            server.manage("restore", "backup")
    finally:
        other.kill()


def test_crashes_and_restarts_move_nothing(server: ServerProcess, postgres_cluster: Postgres) -> None:
    server.kill()
    assert grant(server.start()) == 4
    with psycopg.connect(server.env["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("VACUUM (FULL, FREEZE) lease_database")
    server.terminate()
    server.manage("bootstrap")
    assert grant(server.start()) == 5
    with psycopg.connect(postgres_cluster.url("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name_of(server)]
        )
    deadline = time.monotonic() + 30
    while ready(server)[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    caller = Caller(server)
    body = {"resource": "lock:r", "actorDid": "did:web:a.example"}
    status, answer = caller.call("POST", "/lease", body)
    while status == 503 and time.monotonic() < deadline:
        status, answer = caller.call("POST", "/lease", body)
    caller.connection.close()
    assert answer["lease"]["fencingToken"] == 6
    assert "restored" not in ready(server)[1]
