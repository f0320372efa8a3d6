"""A database of a newer version is neither served nor migrated."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from intramedial import databases
from intramedial.databases import usable
from intramedial.management.commands import serve


@pytest.fixture(params=[("coordination", "0099_from_the_future"), ("an_app_to_come", "0001_initial")])
def newer(request: pytest.FixtureRequest) -> Iterator[str]:
    """A migration of another version, which is recorded in each database."""
    app, name = request.param
    recorders = [MigrationRecorder(connections[alias]) for alias in databases.distinct_aliases()]
    for recorder in recorders:
        recorder.record_applied(app, name)
    yield f"{app}.{name}"
    for recorder in recorders:
        recorder.record_unapplied(app, name)


def test_a_database_of_this_version_is_served(migrated_databases: Any) -> None:
    for alias in databases.distinct_aliases():
        usable.check(alias)
    serve.check_migrated()


def test_a_newer_database_is_refused_with_its_migration_and_what_to_do(newer: str) -> None:
    for alias in databases.distinct_aliases():
        with pytest.raises(usable.Unusable, match=f"does not know its migrations {newer}") as refused:
            usable.check(alias)
        assert "Start the version that made them" in str(refused.value)
    with pytest.raises(CommandError, match=newer):
        serve.check_migrated()


def test_bootstrap_does_not_change_a_newer_database(newer: str) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match=newer):
        call_command("bootstrap", "--json", stdout=out)
    assert out.getvalue() == ""


def test_a_database_without_a_migration_is_refused(migrated_databases: Any) -> None:
    recorder = MigrationRecorder(connections["leases"])
    newest = max(name for app, name in recorder.applied_migrations() if app == "coordination")
    recorder.record_unapplied("coordination", newest)
    try:
        with pytest.raises(usable.Unusable, match=r"`manage\.py bootstrap`"):
            usable.check("leases")
    finally:
        recorder.record_applied("coordination", newest)
