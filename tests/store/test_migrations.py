"""Rows from before a migration are there after it, in the new form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader
from django.db.utils import ConnectionHandler

from intramedial import databases
from intramedial import settings_parsers as parsers

MOVES = [  # workspace, agent, the lease that moved its trust
    ("ws_1", "did:a", "lse_1"),
    ("ws_1", "did:b", "lse_2"),
    ("ws_2", "did:a", "lse_3"),
    ("ws_1", "did:a", "lse_4"),
    ("ws_1", "did:a", "lse_5"),
]
AGENTS = [("ws_1", "did:a"), ("ws_1", "did:b"), ("ws_2", "did:a"), ("ws_1", "did:still")]


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: Any, tmp_path: Path) -> Iterator[Any]:
    """An empty database of its own."""
    if request.param == "sqlite":
        description = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "leases.sqlite3")}
    else:
        url = request.getfixturevalue("postgres_url")
        description = databases.postgres_database(parsers.postgres_url(url))
    connection = ConnectionHandler({"default": description, "leases": description})["leases"]
    yield connection
    connection.close()


def apply(connection: Any, name: str, state: Any = None) -> Any:
    """Apply one migration; returns the state after it."""
    loader = MigrationLoader(None)
    with connection.schema_editor() as editor:
        before = state or loader.project_state(("coordination", name), at_end=False)
        return loader.get_migration("coordination", name).apply(before, editor)


def test_moves_of_trust_become_a_chain(connection: Any) -> None:
    state = apply(connection, "0001_initial")
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at)"
            " VALUES (%s, %s, %s, 5, 505, 1)",
            MOVES,
        )
        cursor.executemany(
            "INSERT INTO lease_agent (workspace, did, score, releases, expiries) VALUES (%s, %s, 505, 1, 0)",
            AGENTS,
        )
    apply(connection, "0002_chained_moves", state)
    with connection.cursor() as cursor:
        cursor.execute("SELECT lease_id, before FROM lease_trust_move ORDER BY id")
        assert cursor.fetchall() == [
            ("lse_1", None),
            ("lse_2", None),
            ("lse_3", None),
            ("lse_4", "lse_1"),
            ("lse_5", "lse_4"),
        ]
        cursor.execute("SELECT workspace, did, moved_by FROM lease_agent ORDER BY id")
        assert [row[2] for row in cursor.fetchall()] == ["lse_5", "lse_2", "lse_3", None]
        # Numbers continue.
        cursor.execute(
            "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at)"
            " VALUES ('ws_1', 'did:a', 'lse_6', 5, 510, 2)"
        )
        cursor.execute("SELECT lease_id FROM lease_trust_move ORDER BY id DESC LIMIT 1")
        assert cursor.fetchall() == [("lse_6",)]
