"""Fixtures for all tests: migrated databases, a workspace for each test, private services, a server
process."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop
from django.conf import settings
from django.core.management import call_command

from tests.plugin import CLUSTER
from tests.server import ServerProcess, bootstrap
from tests.services import Postgres, Redis


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], Any]]:
    """Asynchronous tests run on the loop of `serve`: uvloop differs from asyncio's own loop in details."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session", autouse=True)
def migrated_databases(django_db_blocker: Any) -> Iterator[None]:
    """Every database migrated once, and open to all tests.

    No test runs inside a transaction: the authority's thread and connection would not see it. A test that
    needs to be alone uses a new workspace.
    """
    from intramedial import databases

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with django_db_blocker.unblock():
        for alias in databases.distinct_aliases():
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        yield


@pytest.fixture(scope="session")
def django_db_setup(migrated_databases: None) -> None:
    """Replaces pytest-django's fixture, which would give all later tests empty databases in memory."""


@pytest.fixture
def workspace(migrated_databases: None) -> Any:
    """A new `Workspace`; its `ws_…` is `workspace.public_id`."""
    from intramedial.workspaces import provision

    return provision.create_workspace("test")


@pytest.fixture
def api_key(workspace: Any) -> str:
    """The secret of a key that acts for any agent of `workspace`."""
    from intramedial.workspaces import provision

    return provision.create_api_key(workspace).secret


@pytest.fixture(scope="session")
def postgres_cluster(pytestconfig: pytest.Config) -> Iterator[Postgres]:
    """A private PostgreSQL cluster for the session."""
    if (shared := pytestconfig.stash.get(CLUSTER, None)) is not None:
        yield shared
        return
    cluster = Postgres()
    try:
        yield cluster.start()
    finally:
        cluster.remove()


@pytest.fixture
def postgres_url(postgres_cluster: Postgres) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database."""
    name = postgres_cluster.create_database()
    yield postgres_cluster.url(name)
    postgres_cluster.drop_database(name)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """A private Redis for the session."""
    server = Redis()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of the session's private Redis."""
    return redis_server.url


@pytest.fixture(scope="session")
def bootstrapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as `bootstrap` leaves it, for tests to copy. Its `bootstrap.json` has the printed
    secrets."""
    return bootstrap(tmp_path_factory.mktemp("bootstrapped"), {})


@pytest.fixture(scope="session")
def bootstrapped_postgres(
    tmp_path_factory: pytest.TempPathFactory, postgres_cluster: Postgres
) -> tuple[Path, str]:
    """A bootstrapped data directory with PostgreSQL, and the name of its database; tests copy both."""
    name = postgres_cluster.create_database()
    directory = tmp_path_factory.mktemp("bootstrapped-postgres")
    return bootstrap(directory, {"DATABASE_URL": postgres_cluster.url(name)}), name


def _server(request: pytest.FixtureRequest, data_dir: Path, env: dict[str, str]) -> ServerProcess:
    """A server on data of its own, not started."""
    if any(name.endswith("DATABASE_URL") for name in env):
        data_dir.mkdir()
        bootstrap(data_dir, env)
    elif request.config.getoption("database") == "postgresql":
        cluster: Postgres = request.getfixturevalue("postgres_cluster")
        directory, template = request.getfixturevalue("bootstrapped_postgres")
        shutil.copytree(directory, data_dir)
        env = {**env, "DATABASE_URL": cluster.url(cluster.create_database(template))}
    else:
        shutil.copytree(request.getfixturevalue("bootstrapped"), data_dir)
    return ServerProcess(data_dir, env)


@pytest.fixture(scope="session")
def shared_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """One running server for every test that needs no settings of its own and lets the server live.

    Its workspace and its log are shared too.
    """
    server = _server(request, tmp_path_factory.mktemp("shared") / "data", {})
    try:
        yield server.start()
    finally:
        server.kill()


@pytest.fixture
def live_server_process(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., ServerProcess]]:
    """`live_server_process(**env)`: start `manage.py serve` in its own process and data directory.

    Its database is new, and of the kind that `--database` names, unless `env` names another. Returns once
    the server is ready; every started server is killed when the test ends.
    """
    servers: list[ServerProcess] = []

    def start(**env: str) -> ServerProcess:
        servers.append(_server(request, tmp_path / f"server-{len(servers)}", env))
        return servers[-1].start()

    yield start
    for server in servers:
        server.kill()
