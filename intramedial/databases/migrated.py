"""Whether a database can be used by this version: reachable, set up for it, and migrated as far as it is."""

from collections.abc import Iterable

from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader

from intramedial.postgresql import fitness


class NotUsable(Exception):
    """A database cannot be used; the message says why and what to do."""


class NotReachable(NotUsable):
    """It does not answer."""


def refuse_newer(
    what: str, applied: Iterable[tuple[str, str]], loader: MigrationLoader | None = None
) -> None:
    """Raise NotUsable when `what`, a database, has had migrations that this version does not know."""
    on_disk = (loader or MigrationLoader(None)).disk_migrations
    known = {*on_disk, *(old for new in on_disk.values() for old in new.replaces)}
    if unknown := sorted(set(applied) - known):
        names = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise NotUsable(
            f"{what} was set up by a newer version: this one does not know its migrations"
            f" {names}. Start the version that made them, or restore a backup from before the upgrade."
        )


def check(alias: str, *, complete: bool = True) -> None:
    """Raise NotUsable unless the database can be used. `complete`: every migration must have been applied.

    A migration that was applied and that this version does not have is a newer version's: what that version
    stored could be misread, and what this one writes could be wrong for it.
    """
    connection = connections[alias]
    try:
        if faults := fitness.faults(connection):
            raise NotUsable(f"The database {alias!r} cannot be used as it is set up. {' '.join(faults)}")
        loader = MigrationLoader(connection)
        refuse_newer(f"The database {alias!r}", loader.applied_migrations, loader)
        # Not by a plan to the last one: that looks for no gap before one that was applied.
        if complete and not loader.graph.nodes.keys() <= loader.applied_migrations.keys():
            raise NotUsable(
                f"The database {alias!r} is not set up. Run `make run`, or `manage.py bootstrap`."
            )
    except DatabaseError as error:
        raise NotReachable(f"The database {alias!r} cannot be reached: {error}") from error
    finally:
        connection.close()
