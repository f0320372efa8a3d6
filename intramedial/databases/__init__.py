"""Three databases: `default` (who), `leases` (the authority's own tables), `ledger` (evidence).

Embedded they are three SQLite files; on PostgreSQL several aliases may name one database.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.models import Model

NAME_OF_ALIAS = {
    "default": "DATABASE_URL",
    "leases": "LEASES_DATABASE_URL",
    "ledger": "LEDGER_DATABASE_URL",
}
ALIAS_OF_APP = {"coordination": "leases", "ledger": "ledger"}


# A server that is gone without a word becomes an error within half a minute, not within hours.
PATIENCE = {
    "connect_timeout": 5,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


class Unusable(Exception):
    """A database's files are not as they should be; the words say what to do."""


_looks: list[Callable[[], None]] = []


def look_before_opening(look: Callable[[], None]) -> None:
    """Have `check_files` call this; it raises Unusable."""
    _looks.append(look)


def check_files() -> None:
    """Called by `serve` and `bootstrap` before they open any database. Raises Unusable."""
    for look in _looks:
        look()


def sqlite_database(path: Path) -> dict[str, Any]:
    """Django's description of one SQLite file: WAL, durable commits, writers that wait instead of failing."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "CONN_MAX_AGE": 0,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {
            "timeout": 10,
            # A deferred transaction that turns into a writer fails at once instead of waiting.
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        },
    }


def postgres_database(parsed: dict[str, Any]) -> dict[str, Any]:
    """Django's description of one PostgreSQL database, from `parsers.postgres_url`."""
    return {
        "ENGINE": "intramedial.postgresql",
        **parsed,
        # A cursor that outlives its transaction needs a session of its own, which no pooler gives.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        # Under ASGI a kept connection belongs to a thread that may never come back to it.
        "CONN_MAX_AGE": 0,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {**PATIENCE, **parsed["OPTIONS"]},
    }


def describe(given: dict[str, dict[str, Any]], data_dir: Path) -> dict[str, dict[str, Any]]:
    """Django's DATABASES; an address not given is as `DATABASE_URL`, and without that an SQLite file."""
    described = {}
    for alias, name in NAME_OF_ALIAS.items():
        parsed = given[name] or given["DATABASE_URL"]
        described[alias] = (
            postgres_database(parsed) if parsed else sqlite_database(data_dir / f"{alias}.sqlite3")
        )
    return described


def identity(description: dict[str, Any]) -> tuple[str, ...]:
    """What makes two descriptions the same database."""
    return tuple(str(description.get(key, "")) for key in ("ENGINE", "HOST", "PORT", "NAME"))


def distinct_aliases() -> list[str]:
    """One alias for each distinct database: the ones to migrate."""
    seen: dict[tuple[str, ...], str] = {}
    for alias in NAME_OF_ALIAS:
        seen.setdefault(identity(settings.DATABASES[alias]), alias)
    return list(seen.values())


def is_file(alias: str) -> bool:
    """Whether the database of an alias is an SQLite file."""
    return bool(settings.DATABASES[alias]["ENGINE"].endswith("sqlite3"))


def file_now(alias: str) -> tuple[int, int] | None:
    """Which file stands under the path of an SQLite database now: (device, inode). None on PostgreSQL.

    A connection keeps the file that it opened, even when that is deleted or another takes its place. SQLite
    would make an empty file where none is; so look here before a connection is opened. Raises
    OperationalError when no file is there.
    """
    if not is_file(alias):
        return None
    path = settings.DATABASES[alias]["NAME"]
    try:
        found = os.stat(path)
    except OSError as error:
        raise OperationalError(f"{path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


class Router:
    """Sends each app's models to the database that is theirs."""

    def db_for_read(self, model: type[Model], **hints: object) -> str:
        """The alias a model is read from."""
        return ALIAS_OF_APP.get(model._meta.app_label, "default")

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        """The alias a model is written to."""
        return self.db_for_read(model)

    def allow_relation(self, first: Any, second: Any, **hints: object) -> bool:
        """Only within one alias: rows of another refer by public id, never by a foreign key."""
        # Of the rows and not of their types: that of `request.user` is a lazy object's.
        return self.db_for_read(first) == self.db_for_read(second)

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        """True where `db` names the same database as the app's own alias."""
        own = ALIAS_OF_APP.get(app_label, "default")
        return identity(settings.DATABASES[db]) == identity(settings.DATABASES[own])
