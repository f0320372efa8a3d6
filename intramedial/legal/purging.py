"""Deleting data that are kept no longer: once a day in a thread of the server, and with the command
`purge`."""

import logging
import threading

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils import timezone

from intramedial.accounts import deletion
from intramedial.audit import entries
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
    """How many trials were deleted. If the ledger does not answer, log that, so that the rest is still
    purged."""
    try:
        return provision.purge_trials()
    except DatabaseError as error:
        logger.warning("trials that are over were not purged: %s: %s", type(error).__name__, error)
        return 0


class Purger:
    """Purges once a day. Each of several processes does it; what one has deleted, the others do not find."""

    def __init__(self, first_s: float = FIRST_S, each_s: float = EACH_S) -> None:
        self._first_s, self._each_s = first_s, each_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="purging", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. A purge that is running is finished, or rolled back by the database."""
        self._stopping.set()
        self._thread.join(timeout=2)

    def _work(self) -> None:
        wait_s = self._first_s
        while not self._stopping.wait(wait_s):
            wait_s = self._each_s
            try:
                purge()
            except Exception as error:
                logger.warning("not purged: %s: %s", type(error).__name__, error)
            finally:
                connections.close_all()
