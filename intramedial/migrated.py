"""Whether a database can be used by this version: reachable, set up for it, and migrated as far as it is."""

from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from intramedial.postgresql import fitness


class NotUsable(Exception):
    """A database cannot be used; the message says why and what to do."""


class NotReachable(NotUsable):
    """It does not answer."""


def check(alias: str, *, complete: bool = True) -> None:
    """Raise NotUsable unless the database can be used. `complete`: every migration must have been applied.

    A migration that was applied and that this version does not have is a newer version's: what that version
    stored could be misread, and what this one writes could be wrong for it.
    """
    connection = connections[alias]
    try:
        if faults := fitness.faults(connection):
            raise NotUsable(f"The database {alias!r} cannot be used as it is set up. {' '.join(faults)}")
        executor = MigrationExecutor(connection)
        loader = executor.loader
        known = {
            *loader.disk_migrations,
            *(old for new in loader.disk_migrations.values() for old in new.replaces),
        }
        if unknown := sorted(set(loader.applied_migrations) - known):
            names = ", ".join(f"{app}.{name}" for app, name in unknown)
            raise NotUsable(
                f"The database {alias!r} was set up by a newer version: this one does not know its migrations"
                f" {names}. Start the version that made them, or restore a backup from before the upgrade."
            )
        if complete and executor.migration_plan(loader.graph.leaf_nodes()):
            raise NotUsable(
                f"The database {alias!r} is not set up. Run `make run`, or `manage.py bootstrap`."
            )
    except DatabaseError as error:
        raise NotReachable(f"The database {alias!r} cannot be reached: {error}") from error
    finally:
        connection.close()
