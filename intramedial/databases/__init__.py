"""Three databases: `default` (accounts and workspaces), `leases` (the authority's tables), `ledger`
(evidence).

Embedded they are three SQLite files. On PostgreSQL several aliases may name one database.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection
from django.db.models import Model

NAME_OF_ALIAS = {
    "default": "DATABASE_URL",
    "leases": "LEASES_DATABASE_URL",
    "ledger": "LEDGER_DATABASE_URL",
}
ALIAS_OF_APP = {"coordination": "leases", "ledger": "ledger"}


# A server that vanishes without closing its connections becomes an error within half a minute, not within
# hours.
PATIENCE = {
    "connect_timeout": 5,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


def sqlite_database(path: Path) -> dict[str, Any]:
    """Django's settings of one SQLite file: WAL, durable commits, writers that wait instead of failing."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 0,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {
            "timeout": 10,
            # A deferred transaction that begins to write fails at once instead of waiting.
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        },
    }


def postgres_database(parsed: dict[str, Any]) -> dict[str, Any]:
    """Django's settings of one PostgreSQL database. `parsed` comes from `settings_parsers.postgres_url`."""
    return {
        "ENGINE": "intramedial.postgresql",
        **parsed,
        # A cursor that outlives its transaction needs its own session, which no connection pooler gives.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        # Under ASGI a kept connection belongs to a thread that may never use it again.
        "CONN_MAX_AGE": 0,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {**PATIENCE, **parsed["OPTIONS"]},
    }


def describe(given: Mapping[str, Any], data_dir: Path) -> dict[str, dict[str, Any]]:
    """Django's DATABASES, from the parsed addresses by name of setting. An alias without an address has that
    of `DATABASE_URL`, and without that an SQLite file."""
    described = {}
    for alias, name in NAME_OF_ALIAS.items():
        parsed = given[name] or given["DATABASE_URL"]
        described[alias] = (
            postgres_database(parsed) if parsed else sqlite_database(data_dir / f"{alias}.sqlite3")
        )
    return described


def identity(description: dict[str, Any]) -> tuple[str, ...]:
    """The parts of Django's settings by which two aliases name the same database."""
    return tuple(str(description.get(key, "")) for key in ("ENGINE", "HOST", "PORT", "NAME"))


def distinct_aliases() -> list[str]:
    """One alias for each distinct database. These are the ones to migrate."""
    seen: dict[tuple[str, ...], str] = {}
    for alias in NAME_OF_ALIAS:
        seen.setdefault(identity(settings.DATABASES[alias]), alias)
    return list(seen.values())


def is_file(alias: str) -> bool:
    """Whether the database of an alias is an SQLite file."""
    return bool(settings.DATABASES[alias]["ENGINE"].endswith("sqlite3"))


def file_now(alias: str) -> tuple[int, int] | None:
    """The file that is now at the path of an SQLite database, as (device, inode). None on PostgreSQL.

    A connection keeps the file that it opened, even if that is deleted or replaced. If there is no file,
    SQLite makes an empty one, so call this before a connection is opened. Raises OperationalError if there is
    no file.
    """
    if not is_file(alias):
        return None
    path = settings.DATABASES[alias]["NAME"]
    try:
        found = os.stat(path)
    except OSError as error:
        raise OperationalError(f"{path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def take_turns(*names: str) -> None:
    """Wait until no other transaction that names one of these is open, and keep others waiting until this one
    ends. For counting rows before another one is added. On SQLite a transaction that writes is alone
    anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in sorted(names):
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


class Router:
    """Sends the models of each application to its database."""

    def db_for_read(self, model: type[Model], **hints: object) -> str:
        """The alias from which a model is read."""
        return ALIAS_OF_APP.get(model._meta.app_label, "default")

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        """The alias to which a model is written."""
        return self.db_for_read(model)

    def allow_relation(self, first: Any, second: Any, **hints: object) -> bool:
        """Only within one alias. A row refers to rows of another alias by public id, never by a foreign
        key."""
        # The rows are passed on and not their types, since the type of `request.user` is that of a lazy
        # object.
        return self.db_for_read(first) == self.db_for_read(second)

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        """Whether `db` names the same database as the application's own alias."""
        own = ALIAS_OF_APP.get(app_label, "default")
        return identity(settings.DATABASES[db]) == identity(settings.DATABASES[own])
