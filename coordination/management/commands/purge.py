"""`purge`: what no one needs any more."""

from typing import Any

from django.core.management.base import CommandParser

from coordination.authority import process as authority
from intramedial.legal import purging
from intramedial.management.base import Result, ResultCommand


class Command(ResultCommand):
    """Deletes expired trials, invitations, nonces and sessions, and what is kept of people no longer; folds
    long unused resources into a floor of their tokens. A server does the same by itself, once a day.

    The authority's tables are not written beside a running embedded server: then the rest is done,
    `resources` is null, and stderr says why.
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
        how many rows went."""
        gone = purging.purge()
        resources = None
        try:
            resources = authority.purge_offline(options["unused_days"])
        except authority.Unavailable as error:
            self.stderr.write(str(error))
        return {"resources": resources, **gone}
