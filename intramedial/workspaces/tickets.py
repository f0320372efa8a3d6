"""One-time tickets: how a page that can sign requests, but not a socket's handshake, opens a live socket.

A ticket is 256 random bits, good once and for 30 seconds. Only its SHA-256 is kept, in the database, so that
it is good once however many processes serve.
"""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.utils import timezone

from intramedial.databases.threads import DatabaseThreads
from intramedial.http.problems import Problem
from intramedial.workspaces.models import Ticket

LIFETIME_S = 30
AT_ONCE = 20
"""Tickets of one workspace that may be in force: each is a row, and asking for one is no counted call."""

threads = DatabaseThreads("tickets", 1)


def issue(workspace: str) -> tuple[str, datetime]:
    """A fresh ticket for the `ws_…`, and until when it is good. Writes to the database: not on the event
    loop. Problem `rate_limited` for a workspace that has its full number.
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
    """The workspace's `ws_…`, once; None for a ticket that is unknown, used or late.

    Problem (`authority_unavailable`) when the database does not answer.
    """
    return await threads.run(lambda: _take(ticket))


def _take(ticket: str) -> str | None:
    found = Ticket.objects.filter(sha256=_digest(ticket), expires_at__gt=timezone.now())
    workspace = found.values_list("workspace", flat=True).first()
    # Of several that present it at once, the one whose delete meets the row has it.
    return workspace if workspace is not None and found.delete()[0] else None


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()
