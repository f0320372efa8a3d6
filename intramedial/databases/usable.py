"""Whether a database can be used by this version: files in order, reachable, set up for it, fully
migrated."""

from collections.abc import Callable, Iterable

from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader

from intramedial.postgresql import fitness


class Unusable(Exception):
    """A database cannot be used. The message says why and what to do."""


class NotReachable(Unusable):
    """The database does not answer."""


_file_checks: list[Callable[[], None]] = []


def add_file_check(check: Callable[[], None]) -> None:
    """Have `check_files` call `check`, which raises Unusable. For an application to call when it is
    loaded."""
    _file_checks.append(check)


def check_files() -> None:
    """Raise Unusable unless the files are in order. `serve` and `bootstrap` call this before they open a
    database."""
    for check_file in _file_checks:
        check_file()


def refuse_newer(
    what: str, applied: Iterable[tuple[str, str]], loader: MigrationLoader | None = None
) -> None:
    """Raise Unusable if the database `what` has had migrations that this version does not know.

    `applied` are pairs of application and name. Such a migration is a newer version's: this version could
    misread what that one stored, and write what is wrong for it.
    """
    on_disk = (loader or MigrationLoader(None)).disk_migrations
    known = {*on_disk, *(old for new in on_disk.values() for old in new.replaces)}
    if unknown := sorted(set(applied) - known):
        names = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise Unusable(
            f"{what} was set up by a newer version: this one does not know its migrations"
            f" {names}. Start the version that made them, or restore a backup from before the upgrade."
        )


def check(alias: str, *, complete: bool = True) -> None:
    """Raise Unusable unless the database can be used. `complete`: every migration must have been applied."""
    connection = connections[alias]
    try:
        if faults := fitness.faults(connection):
            raise Unusable(f"The database {alias!r} cannot be used as it is set up. {' '.join(faults)}")
        loader = MigrationLoader(connection)
        refuse_newer(f"The database {alias!r}", loader.applied_migrations, loader)
        # Not by a plan to the last migration: a plan skips a gap before one that was applied.
        if complete and not loader.graph.nodes.keys() <= loader.applied_migrations.keys():
            raise Unusable(f"The database {alias!r} is not set up. Run `make run`, or `manage.py bootstrap`.")
    except DatabaseError as error:
        raise NotReachable(f"The database {alias!r} cannot be reached: {error}") from error
    finally:
        connection.close()
