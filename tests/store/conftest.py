"""Databases of both kinds with the authority's tables, one for each test, and running authorities over
them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordination.authority import process
from intramedial import databases
from tests.server import ServerProcess
from tests.services import Postgres
from tests.store.authorities import (
    Database,
    Faulty,
    PostgresDatabase,
    RunningAuthority,
    SqliteDatabase,
    Time,
    migrate,
    migrate_postgres,
)
from tests.store.restores import grants

TABLES = r"SELECT tablename FROM pg_tables WHERE tablename LIKE 'lease\_%'"


@pytest.fixture(scope="session")
def sqlite_template(migrated_databases: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, for tests to copy."""
    path = tmp_path_factory.mktemp("template") / "leases.sqlite3"
    migrate(databases.sqlite_database(path))
    return path


@pytest.fixture(scope="session")
def migrated_postgres(migrated_databases: None, postgres_cluster: Postgres) -> str:
    """The name of a migrated PostgreSQL database that the tests of this session share."""
    name = postgres_cluster.create_database()
    migrate_postgres(postgres_cluster.url(name))
    return name


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> SqliteDatabase:
    """An SQLite file with the authority's tables, empty."""
    return SqliteDatabase(Path(shutil.copy(sqlite_template, tmp_path / "leases.sqlite3")))


@pytest.fixture
def postgres_database(postgres_cluster: Postgres, migrated_postgres: str) -> PostgresDatabase:
    """A PostgreSQL database with the authority's tables, emptied. Emptying takes a tenth of making a new
    one."""
    database = PostgresDatabase(postgres_cluster.url(migrated_postgres))
    tables = ", ".join(name for (name,) in database.rows(TABLES))
    database.rows(f"TRUNCATE {tables} RESTART IDENTITY")
    return database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """An empty database with the authority's tables, of each kind in turn."""
    kind = {"sqlite": "sqlite_database", "postgresql": "postgres_database"}[request.param]
    found: Database = request.getfixturevalue(kind)
    return found


@pytest.fixture
def server(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """An embedded server that has made three grants."""
    shutil.copytree(bootstrapped, tmp_path / "data")
    server = ServerProcess(tmp_path / "data", {}).start()
    assert grants(server, 3) == 3
    yield server
    server.kill()


@pytest.fixture
def authority_clock() -> Iterator[Time]:
    """The authority's time, which passes when the test says so."""
    time, before = Time(), process.current().clock
    process.current().clock = time
    yield time
    process.current().clock = before


@pytest.fixture
def real_time() -> Iterator[None]:
    """The authority's own clocks: the monotonic one on SQLite, the database's on PostgreSQL."""
    before = process.current().clock
    process.current().clock = None
    yield
    process.current().clock = before


@pytest.fixture
def faulty(database: Database) -> Faulty:
    """The database's engine, with storage that fails when the test says so."""
    return Faulty(database.engine())


@pytest.fixture
def authority(faulty: Faulty, authority_clock: Time) -> Iterator[RunningAuthority]:
    """A running authority over `faulty`."""
    authority = RunningAuthority(faulty)
    yield authority
    faulty.failing = ""
    authority.stop()
