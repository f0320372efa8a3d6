"""The agents of a workspace: their trust, what they hold and wait for, and what moved it."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from coordination.pages.records import query_values, trust
from coordination.read import current, history
from coordination.read.current import StorageFault
from intramedial.web import amounts
from intramedial.workspaces import access
from intramedial.workspaces.access import context, workspace_page
from intramedial.workspaces.models import Membership, Workspace

AT_ONCE = 25
MOVES = 50
NAMED = 3
"""Resources that a row of the list names; the agent's own page names `HELD`."""
HELD = 100
SIGNERS = 50

Json = dict[str, Any]


@require_safe
@workspace_page()
def agents(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Who has acquired or waited here, in the order of their DIDs."""
    workspace = membership.workspace
    given: Json = {**context(membership), "away": False}
    try:
        dids = history.agents(workspace.public_id, query_values.did(request, "despues") or "", AT_ONCE + 1)
        listed = async_to_sync(current.agents)(workspace.public_id, dids[:AT_ONCE])
    except StorageFault:
        return render(request, "records/agents.html", {**given, "away": True}, status=503)
    signs = set(workspace.agents.filter(did__in=dids, revoked_at=None).values_list("did", flat=True))
    given |= {
        "agents": [_row(workspace, said, said["did"] in signs) for said in listed],
        "first": "despues" not in request.GET,
        "next": f"?{urlencode({'despues': dids[AT_ONCE - 1]})}" if len(dids) > AT_ONCE else "",
        "signers_path": access.path_of("signers", workspace.public_id),
        "signers": workspace.agents.filter(revoked_at=None).order_by("-registered_at", "pk")[:SIGNERS],
    }
    return render(request, "records/agents.html", given)


@require_safe
@workspace_page()
def agent(request: HttpRequest, membership: Membership) -> HttpResponse:
    """One of them, and the history of its trust. Http404 for one never seen here."""
    workspace, did = membership.workspace, query_values.did(request, "did")
    given: Json = {**context(membership), "did": did, "away": False}
    if not did:
        raise Http404("no such agent")
    before = query_values.number(request, "antes")
    try:
        said = async_to_sync(current.agent)(workspace.public_id, did)
        moves = history.moves(workspace.public_id, did, before, MOVES + 1)
    except StorageFault:
        return render(request, "records/agent.html", {**given, "away": True}, status=503)
    registered = workspace.agents.filter(did=did).first()
    if said is None and registered is None:
        raise Http404("no such agent")
    shown = moves[:MOVES]
    given |= {
        "agent": said and _row(workspace, said, registered is not None, HELD),
        "registered": registered,
        "moves": [_move(move) for move in shown],
        "drawing": trust.drawing(shown) if len(shown) > 1 else None,
        "first": before is None,
        "here": f"?{urlencode({'did': did})}",
        "next": f"?{urlencode({'did': did, 'antes': shown[-1].id})}" if len(moves) > MOVES else "",
    }
    return render(request, "records/agent.html", given)


def address(workspace: Workspace, did: str) -> str:
    """Where an agent's page is."""
    return f"{reverse('agent', args=[workspace.public_id])}?{urlencode({'did': did})}"


def _row(workspace: Workspace, said: Json, signs: bool, named: int = NAMED) -> Json:
    return {
        **said,
        "path": address(workspace, said["did"]),
        "bar": trust.bar(said["trust"]["score"]),
        "signs": signs,
        "held": _some(said["holds"], named),
        "queued": _some(said["waits"], named),
    }


def _move(move: history.Move) -> Json:
    return {
        "at": move.at,
        "released": move.released,
        "delta": amounts.number(move.delta, signed=True),
        "score": amounts.number(move.score),
    }


def _some(said: Iterable[Json], named: int) -> Json:
    every = [
        {
            **one,
            "until": query_values.instant(one.get("expiresAt")),
            "since": query_values.instant(one.get("since")),
        }
        for one in said
    ]
    return {"named": every[:named], "more": max(0, len(every) - named), "all": len(every)}
