"""What a workspace uses, and its limits. Nothing about leases is metered."""

from collections import Counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from coordination.read import history
from coordination.read.current import StorageFault
from intramedial.http.formats import Json
from intramedial.ledger import entries
from intramedial.web import amounts
from intramedial.workspaces import provision
from intramedial.workspaces.access import context, workspace_page
from intramedial.workspaces.models import Membership

DAYS = 7


@require_safe
@workspace_page()
def usage(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The present counts, the limits, and the receipts of the last days that have any."""
    workspace = membership.workspace
    given: Json = {
        **context(membership),
        "keys": provision.keys_in_force(workspace).count(),
        "signers": workspace.agents.filter(revoked_at=None).count(),
        "limits": {
            "resources": amounts.number(settings.WORKSPACE_RESOURCES),
            "queue": amounts.number(settings.QUEUE_LIMIT),
            "sockets": amounts.number(settings.WORKSPACE_SOCKETS),
            "keys": amounts.number(settings.WORKSPACE_API_KEYS),
        },
    }
    try:
        counts = history.counts(workspace.public_id)
        given["counts"] = {name: _counted(count) for name, count in counts.items()}
    except StorageFault:
        given["counts"] = None
    try:
        given |= _by_day(workspace.public_id)
    except entries.LedgerAway:
        given["by_day"] = None
    away = given["counts"] is None or given["by_day"] is None
    return render(request, "records/usage.html", given, status=503 if away else 200)


def _counted(count: int) -> str:
    """A count in words; `history.COUNTED` stands for that number or more."""
    return ("≥ " if count == history.COUNTED else "") + amounts.number(count)


def _by_day(workspace: str) -> Json:
    """Receipts by day, latest first; `partly`: the earliest of these days is not counted completely."""
    instants = entries.instants(workspace)
    by_day = sorted(Counter(at.date() for at in instants).items(), reverse=True)
    most = max((count for _, count in by_day[:DAYS]), default=1)
    return {
        "by_day": [
            {"day": day, "count": amounts.number(count), "bar": f"{64 * count / most:.1f}"}
            for day, count in by_day[:DAYS]
        ],
        "partly": len(instants) == entries.DAYS_WINDOW and len(by_day) <= DAYS,
        "window": amounts.number(entries.DAYS_WINDOW),
    }
