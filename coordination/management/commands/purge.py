"""`purge`: what no one needs any more."""

from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.management.base import CommandParser
from django.utils import timezone

from coordination import authority
from intramedial.audit import log
from intramedial.management.base import Result, ResultCommand
from intramedial.workspaces import provision
from intramedial.workspaces.models import Invitation, Nonce


class Command(ResultCommand):
    """Deletes expired trials, invitations, nonces and sessions, and audit entries that are kept no longer;
    folds long unused resources into a floor of their tokens.

    The authority's tables are not written beside a running embedded server, which sees to them itself, once a
    day: then the rest is done, `resources` is null, and stderr says why.
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
        """{"resources": n or null, "trials": n, "nonces": n, "invitations": n, "audit": n}: how many went."""
        nonces, _ = Nonce.objects.filter(expires_at__lte=timezone.now()).delete()
        SessionStore.clear_expired()
        trials = provision.purge_trials()
        invitations, _ = Invitation.objects.filter(expires_at__lte=timezone.now()).delete()
        audit = log.purge(settings.AUDIT_DAYS)
        resources = None
        try:
            resources = authority.purge_offline(options["unused_days"])
        except authority.Unavailable as error:
            self.stderr.write(str(error))
        return {
            "resources": resources,
            "trials": trials,
            "nonces": nonces,
            "invitations": invitations,
            "audit": audit,
        }
