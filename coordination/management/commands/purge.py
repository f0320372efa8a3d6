"""`purge`: delete what has expired or is kept no longer."""

from typing import Any

from django.core.management.base import CommandParser

from coordination.authority import process as authority
from intramedial.legal import purging
from intramedial.management.base import Result, ResultCommand


class Command(ResultCommand):
    """Deletes expired trials, invitations, nonces and sessions, and personal data that are kept no longer.
    Forgets long unused resources; their tokens never go back. A server does the same by itself, once a day.

    Beside a running embedded server the authority's tables are not written: then the rest is done,
    `resources` is null, and stderr has the reason.
    """

    help = "Delete expired trials and forget long unused resources; fencing tokens never go back."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--unused-days` and `--json`."""
        parser.add_argument(
            "--unused-days",
            type=int,
            metavar="N",
            help="forget resources unused for N days; default: the setting",
        )
        self.add_json(parser)

    def run(self, options: dict[str, Any]) -> Result:
        """{"resources": n or null, "trials": n, "nonces": n, "invitations": n, "accounts": n, "audit": n}:
        how many rows were deleted."""
        gone = purging.purge()
        resources = None
        try:
            resources = authority.purge_offline(options["unused_days"])
        except authority.Unavailable as error:
            self.stderr.write(str(error))
        return {"resources": resources, **gone}
