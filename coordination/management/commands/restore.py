"""`restore`: after a backup of the leases was put back, or their database was lost."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from coordination.authority import process as authority
from intramedial.management.base import Result, ResultCommand


class Command(ResultCommand):
    """Raises fencing tokens above all that may have been given, so that none is given twice.

    A server recognises most restores by itself when it starts. This command is for those that cannot be
    recognised (a snapshot of the whole disk or machine), to put a backup in place, and to begin with an empty
    database when it is lost. Embedded, the server must be stopped; on PostgreSQL it may run.
    """

    help = "Put a backup of the leases in place, and raise fencing tokens above all that were given."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add FROM, `--new` and `--json`."""
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "source",
            nargs="?",
            metavar="FROM",
            help="a leases.sqlite3, or a data directory with one, to put in place of the present file;"
            " without it, the file that is in place is taken as it is",
        )
        what.add_argument(
            "--new", action="store_true", help="the database is lost: begin with an empty one, tokens above"
        )
        self.add_json(parser)

    def run(self, options: dict[str, Any]) -> Result:
        """{"restored": true, "at": "…", "tokensAbove": n, "why": "…", "setAside": ["…"]}. `setAside`
        are the files that were in the way; they can be deleted when they are no longer needed."""
        source = options["source"]
        try:
            return authority.restore(None if source is None else Path(source), options["new"])
        except authority.Unavailable as error:
            raise CommandError(str(error)) from error
