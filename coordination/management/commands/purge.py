"""`purge`: what no one needs any more."""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from coordination import authority
from intramedial.management.base import Result, ResultCommand
from intramedial.workspaces import provision
from intramedial.workspaces.models import Nonce


class Command(ResultCommand):
    """Deletes expired trials, nonces and sessions, and folds long unused resources into their token floor.

    The authority's tables are not written beside a running embedded server: it is refused then, whole.
    """

    help = "Delete expired trials and fold long unused resources; fencing tokens never go back."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        self.add_json(parser)

    def run(self, options: dict[str, Any]) -> Result:
        """{"resources": n, "trials": n, "nonces": n}: how many went."""
        try:
            resources = authority.purge_offline()
        except authority.Unavailable as error:
            raise CommandError(str(error)) from None
        nonces, _ = Nonce.objects.filter(expires_at__lte=timezone.now()).delete()
        SessionStore.clear_expired()
        return {"resources": resources, "trials": provision.purge_trials(), "nonces": nonces}
