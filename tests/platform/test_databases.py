"""Each table is in its own database, and each database is as durable as the design requires."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from intramedial import databases

EMBEDDED = settings.DATABASES["leases"]["ENGINE"].endswith("sqlite3")


def tables(alias):
    with connections[alias].cursor() as cursor:
        return set(connections[alias].introspection.table_names(cursor))


def test_every_app_has_its_tables_where_the_router_sends_it():
    assert "accounts_user" in tables("default")
    assert any(name.startswith("lease_") for name in tables("leases"))
    assert any(name.startswith("ledger_") for name in tables("ledger"))


def test_embedded_files_have_only_their_own_tables():
    if not EMBEDDED:  # on PostgreSQL all three are in one database
        return
    assert not any(name.startswith(("lease_", "ledger_")) for name in tables("default"))
    assert "accounts_user" not in tables("leases") | tables("ledger")


@pytest.mark.parametrize("alias", databases.NAME_OF_ALIAS)
def test_embedded_files_are_durable(alias, tmp_path):
    options = databases.sqlite_database(tmp_path / "file")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    if EMBEDDED:
        with connections[alias].cursor() as cursor:
            pragmas = {
                name: cursor.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "busy_timeout")
            }
        assert pragmas == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 10_000}  # 2 = FULL


def test_every_change_of_a_model_has_its_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
