"""The live board of a workspace, and what its scripts fetch besides the live socket.

The scripts draw what the live socket sends (`static/js/board/`). Without them the page has a table of the
leases and waits at the time of the request.
"""

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from coordination.authority import process as authority
from coordination.core.names import normal_name
from coordination.pages.board.resource import picture
from coordination.pages.module import figures, scenarios
from coordination.pages.texts import board as texts
from coordination.read import current, history
from coordination.read.current import StorageFault
from intramedial.http.formats import rfc3339_of_ms
from intramedial.identity.did import check_did
from intramedial.workspaces import access
from intramedial.workspaces.models import Membership

ROWS_WITHOUT_SCRIPTS = 100
AGENTS_AT_ONCE = 40
MOVES_SHOWN = 4


def limits() -> dict[str, int]:
    """The figures that the board's scripts calculate with."""
    return {**figures.limits(), "offerMs": settings.OFFER_MS, "waitTtlMs": settings.WAIT_TTL_MS}


@require_safe
@access.workspace_page()
def board(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The board."""
    workspace = membership.workspace.public_id
    context = {
        **access.context(membership),
        "shown": _sections(workspace),
        "rows": ROWS_WITHOUT_SCRIPTS,
        "clock_ahead": authority.current().clock_ahead(),
        "views": texts.VIEWS,
        "choices": texts.CHOICES,
        "sparklines": texts.SPARKLINES,
        "counters": texts.COUNTERS,
        "texts": texts.all_texts(),
        "limits": limits(),
        "socket": f"/ws/espacios/{workspace}/",
        "agents_page": _address("agent", workspace),
        "scenarios": scenarios.context(),
    }
    return render(request, "board/board.html", context)


@require_safe
@access.workspace_page()
def search(request: HttpRequest, membership: Membership) -> JsonResponse:
    """The first resources whose names begin with `?prefijo=`."""
    try:
        beginning = normal_name(request.GET.get("prefijo", "").strip())
    except ValueError:
        return JsonResponse({"resources": []})
    try:
        found = async_to_sync(current.search)(membership.workspace.public_id, beginning)
    except StorageFault:
        return JsonResponse({"resources": []}, status=503)
    return JsonResponse({"resources": found})


@require_safe
@access.workspace_page()
def conduct(request: HttpRequest, membership: Membership) -> JsonResponse:
    """The trust of the agents `?did=…&did=…`, and its last moves."""
    dids = [did for did in request.GET.getlist("did")[:AGENTS_AT_ONCE] if _is_did(did)]
    workspace = membership.workspace.public_id
    try:
        known = async_to_sync(current.conduct)(workspace, dids)
        agents = [
            {"did": did, "trust": trust["score"], "moves": _moves(workspace, did)}
            for did, trust in known.items()
        ]
    except StorageFault:
        return JsonResponse({"agents": []}, status=503)
    return JsonResponse({"agents": agents})


def _moves(workspace: str, did: str) -> list[dict[str, Any]]:
    moves = history.moves(workspace, did, None, MOVES_SHOWN)
    return [
        {"delta": float(move.delta), "at": rfc3339_of_ms(round(move.at.timestamp() * 1000))} for move in moves
    ]


def _is_did(text: str) -> bool:
    try:
        check_did(text)
    except ValueError:
        return False
    return True


def _sections(workspace: str) -> list[dict[str, Any]] | None:
    """The first resources by name, each with its holders and its queue; None when they cannot be read."""
    try:
        shown = picture(workspace, limit=ROWS_WITHOUT_SCRIPTS)
    except StorageFault:
        return None
    found: dict[str, dict[str, Any]] = {}
    for part in ("holders", "queue"):
        for row in shown[part]:
            name = row["resource"]
            found.setdefault(name, {"resource": name, "holders": [], "queue": []})[part].append(row)
    return list(found.values())


def _address(name: str, workspace: str) -> str:
    """The address of another page of the workspace; empty if it is not mounted."""
    try:
        return reverse(name, args=[workspace])
    except NoReverseMatch:
        return ""
