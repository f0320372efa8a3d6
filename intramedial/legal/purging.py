"""Deleting old data: once a day in a thread of the server, and with the command `purge`."""

import logging

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from intramedial.accounts import deletion
from intramedial.audit import entries
from intramedial.databases.periodic import Periodic
from intramedial.workspaces import provision
from intramedial.workspaces.models import Invitation, Nonce

logger = logging.getLogger(__name__)

FIRST_S = 900.0
EACH_S = 86_400.0


def purge() -> dict[str, int]:
    """Delete old rows of accounts, workspaces and the audit log. Returns how many of each kind."""
    now = timezone.now()
    return {
        "trials": _trials(),
        "nonces": Nonce.objects.filter(expires_at__lte=now).delete()[0],
        "invitations": Invitation.objects.filter(expires_at__lte=now).delete()[0],
        "accounts": deletion.purge(),
        "audit": entries.purge(settings.AUDIT_DAYS),
    }


def _trials() -> int:
    """How many trials were deleted. A ledger that does not answer is logged and does not stop the rest."""
    try:
        return provision.purge_trials()
    except DatabaseError as error:
        logger.warning("trials that are over were not purged: %s: %s", type(error).__name__, error)
        return 0


def _purge_or_log() -> None:
    try:
        purge()
    except Exception as error:
        logger.warning("not purged: %s: %s", type(error).__name__, error)


class Purger(Periodic):
    """Purges once a day. Each of several processes does it; what one has deleted, the others do not find."""

    def __init__(self, first_s: float = FIRST_S, each_s: float = EACH_S) -> None:
        super().__init__("purging", _purge_or_log, "not purged", first_s=first_s, each_s=each_s)
