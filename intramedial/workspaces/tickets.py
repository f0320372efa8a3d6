"""Tickets, with which a page opens a live socket: it can sign requests, but not the handshake of a socket.

A ticket is 256 random bits and opens one socket within `LIFETIME_S`. Only its SHA-256 is stored. The row is
in the database, so that a ticket is used once even with several server processes.
"""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.utils import timezone

from intramedial.http.problems import Problem
from intramedial.workspaces.authentication import callers
from intramedial.workspaces.models import Ticket

LIFETIME_S = 30
AT_ONCE = 20
"""Most unused tickets of one workspace. Each is a row, and requests for tickets are not counted as calls."""


def issue(workspace: str) -> tuple[str, datetime]:
    """A new ticket for the `ws_…`, and when it expires. Blocks on the database. Problem `rate_limited` if the
    workspace has `AT_ONCE` unused tickets.
    """
    now = timezone.now()
    Ticket.objects.filter(expires_at__lte=now).delete()
    if Ticket.objects.filter(workspace=workspace).count() >= AT_ONCE:
        raise Problem(
            "rate_limited",
            f"{AT_ONCE} tickets wait to be used: use one, or wait until they have run out.",
            headers={"retry-after": str(LIFETIME_S)},
        )
    ticket, expires_at = secrets.token_urlsafe(32), now + timedelta(seconds=LIFETIME_S)
    Ticket.objects.create(sha256=_digest(ticket), workspace=workspace, expires_at=expires_at)
    return ticket, expires_at


async def redeem(ticket: str) -> str | None:
    """Use up a ticket and return its workspace's `ws_…`; None if it is unknown, used or expired.

    Problem `authority_unavailable` if the database does not answer.
    """
    return await callers.process().tickets.run(lambda: _take(ticket))


def _take(ticket: str) -> str | None:
    found = Ticket.objects.filter(sha256=_digest(ticket), expires_at__gt=timezone.now())
    workspace = found.values_list("workspace", flat=True).first()
    # Of several concurrent callers, only the one that deletes the row gets the workspace.
    return workspace if workspace is not None and found.delete()[0] else None


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()
