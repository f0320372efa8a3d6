"""A plugin that pytest loads first (`-p tests.plugin`). It sets the environment that the settings read.

`--database=postgresql` runs the tests on a private PostgreSQL cluster instead of SQLite files.
"""

import os
import shutil
import tempfile
from collections.abc import Generator

import pytest

from tests import server
from tests.launcher import Launcher
from tests.services import Postgres

UNSET = (
    "DATABASE_URL",
    "LEASES_DATABASE_URL",
    "LEDGER_DATABASE_URL",
    "REDIS_URL",
    "WEB_PROCESSES",
    "HOST",
    "PORT",
)
"""Variables of the developer's shell that are removed: tests would write to the databases that they name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--database`."""
    parser.addoption("--database", choices=("sqlite", "postgresql"), default="sqlite", help="what to test on")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Set up the environment before pytest-django loads the settings."""
    for name in list(os.environ):
        if name in UNSET or name.startswith("INTRAMEDIAL_"):
            del os.environ[name]
    data_dir = tempfile.mkdtemp(prefix="intramedial-test-")
    early_config.add_cleanup(lambda: shutil.rmtree(data_dir, ignore_errors=True))
    os.environ["INTRAMEDIAL_DATA_DIR"] = data_dir
    os.environ["INTRAMEDIAL_LOG_LEVEL"] = "WARNING"
    if not any(name.startswith("COVERAGE_") for name in os.environ):  # coverage does not follow forks
        server.launcher = Launcher()
        early_config.add_cleanup(server.launcher.stop)
    given = early_config.known_args_namespace
    # With xdist, each worker has its own cluster, and this process needs none.
    if given.database == "postgresql" and not getattr(given, "numprocesses", None):
        cluster = Postgres().start()
        early_config.add_cleanup(cluster.remove)
        early_config.stash[CLUSTER] = cluster
        os.environ["DATABASE_URL"] = cluster.url(cluster.create_database())
    return (yield)


LONG_FIRST = ("browser", "platform", "store")
"""Folders whose files take long. They come first, so that at the end no process runs one of them alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long folders first, and keep the order of files within a folder."""
    folders = (*LONG_FIRST, "")
    items.sort(
        key=lambda item: folders.index(item.path.parent.name if item.path.parent.name in folders else "")
    )


CLUSTER = pytest.StashKey[Postgres]()
"""The key of the cluster of `--database=postgresql`, for the fixture `postgres_cluster`."""
