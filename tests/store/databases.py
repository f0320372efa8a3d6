"""The authority's tables on databases that Django does not know of."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.utils import ConnectionHandler

from intramedial import databases
from intramedial import settings_parsers as parsers
from tests.services import Postgres


def migrate(description: dict[str, Any]) -> None:
    """Make the authority's tables as its migrations do, without a record of it."""
    connection = ConnectionHandler({"default": description, "leases": description})["leases"]
    loader = MigrationLoader(None)
    state = ProjectState()
    for app, name in loader.graph.leaf_nodes("coordination"):
        for node in loader.graph.forwards_plan((app, name)):
            with connection.schema_editor() as editor:
                state = loader.get_migration(*node).apply(state, editor)
    connection.close()


def migrate_postgres(url: str) -> None:
    """The same, by address."""
    migrate(databases.postgres_database(parsers.postgres_url(url)))


@contextmanager
def private_postgres(durable: bool = False) -> Iterator[str]:
    """For programs: the address of a database with the authority's tables, on a cluster that is removed."""
    cluster = Postgres(durable)
    try:
        url = cluster.start().url(cluster.create_database())
        migrate_postgres(url)
        yield url
    finally:
        cluster.remove()


@contextmanager
def private_directory() -> Iterator[Path]:
    """For programs: a directory that is removed."""
    directory = Path(tempfile.mkdtemp(prefix="intramedial-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
