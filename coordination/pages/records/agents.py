"""The agents of a workspace: their trust and its moves, their leases and waits."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from coordination.pages.records import query_values
from coordination.read import current, history
from coordination.read.current import StorageFault
from intramedial.http.formats import Json
from intramedial.web import amounts
from intramedial.workspaces import access
from intramedial.workspaces.access import context, workspace_page
from intramedial.workspaces.models import Membership, Workspace

AT_ONCE = 25
MOVES = 50
NAMED = 3
"""How many resources a row of the list names; the agent's own page names `HELD`."""
HELD = 100
SIGNERS = 50
FULL = 100
WIDTH, HEIGHT = 600, 120
MARGIN = 10
BAR = 64


@require_safe
@workspace_page()
def agents(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The known agents, in the order of their DIDs."""
    workspace = membership.workspace
    given: Json = {**context(membership), "away": False}
    try:
        dids = history.agents(workspace.public_id, query_values.did(request, "despues") or "", AT_ONCE + 1)
        listed = async_to_sync(current.agents)(workspace.public_id, dids[:AT_ONCE])
    except StorageFault:
        return render(request, "records/agents.html", {**given, "away": True}, status=503)
    signs = set(workspace.agents.filter(did__in=dids, revoked_at=None).values_list("did", flat=True))
    given |= {
        "agents": [_row(workspace, agent, agent["did"] in signs) for agent in listed],
        "first": "despues" not in request.GET,
        "next": f"?{urlencode({'despues': dids[AT_ONCE - 1]})}" if len(dids) > AT_ONCE else "",
        "signers_path": access.path_of("signers", workspace.public_id),
        "signers": workspace.agents.filter(revoked_at=None).order_by("-registered_at", "pk")[:SIGNERS],
    }
    return render(request, "records/agents.html", given)


@require_safe
@workspace_page()
def agent(request: HttpRequest, membership: Membership) -> HttpResponse:
    """One agent, and the history of its trust. Http404 for an unknown agent."""
    workspace, did = membership.workspace, query_values.did(request, "did")
    given: Json = {**context(membership), "did": did, "away": False}
    if not did:
        raise Http404("no such agent")
    before = query_values.number(request, "antes")
    try:
        found = async_to_sync(current.agent)(workspace.public_id, did)
        moves = history.moves(workspace.public_id, did, before, MOVES + 1)
    except StorageFault:
        return render(request, "records/agent.html", {**given, "away": True}, status=503)
    registered = workspace.agents.filter(did=did).first()
    if found is None and registered is None:
        raise Http404("no such agent")
    shown = moves[:MOVES]
    given |= {
        "agent": found and _row(workspace, found, registered is not None, HELD),
        "registered": registered,
        "moves": [_move(move) for move in shown],
        "drawing": trust_drawing(shown) if len(shown) > 1 else None,
        "first": before is None,
        "here": f"?{urlencode({'did': did})}",
        "next": f"?{urlencode({'did': did, 'antes': shown[-1].id})}" if len(moves) > MOVES else "",
    }
    return render(request, "records/agent.html", given)


def address(workspace: Workspace, did: str) -> str:
    """The address of an agent's page."""
    return f"{reverse('agent', args=[workspace.public_id])}?{urlencode({'did': did})}"


def _row(workspace: Workspace, agent: Json, signs: bool, named: int = NAMED) -> Json:
    return {
        **agent,
        "path": address(workspace, agent["did"]),
        "bar": trust_bar(agent["trust"]["score"]),
        "signs": signs,
        "held": _some(agent["holds"], named),
        "queued": _some(agent["waits"], named),
    }


def _move(move: history.Move) -> Json:
    return {
        "at": move.at,
        "released": move.released,
        "delta": amounts.number(move.delta, signed=True),
        "score": amounts.number(move.score),
    }


def _some(rows: Iterable[Json], named: int) -> Json:
    every = [
        {
            **row,
            "until": query_values.instant(row.get("expiresAt")),
            "since": query_values.instant(row.get("since")),
        }
        for row in rows
    ]
    return {"named": every[:named], "more": max(0, len(every) - named), "all": len(every)}


# --- trust as a drawing: numbers in, coordinates out -----------------------------------------------------


def trust_bar(score: float) -> str:
    """The length of a score's bar, `BAR` at most."""
    return _coordinate(BAR * score / FULL)


def trust_drawing(moves: Sequence[history.Move]) -> dict[str, Any]:
    """The line through the scores of two or more moves, which are given latest first.

    `line` starts at the score before the earliest move; `marks` are the places of expired leases.
    """
    oldest_first = list(reversed(moves))
    scores = [oldest_first[0].score - oldest_first[0].delta, *(move.score for move in oldest_first)]
    step = (WIDTH - 2 * MARGIN) / (len(scores) - 1)
    points = [(_coordinate(MARGIN + at * step), _y(score)) for at, score in enumerate(scores)]
    line = f"M{points[0][0]} {points[0][1]}" + "".join(f"H{x}V{y}" for x, y in points[1:])
    return {
        "line": line,
        "marks": [
            {"x": x, "y": y}
            for (x, y), move in zip(points[1:], oldest_first, strict=True)
            if not move.released
        ],
        "begins": scores[0],
        "ends": scores[-1],
        "lowest": min(scores),
        "highest": max(scores),
        "released": sum(move.released for move in moves),
        "expired": sum(not move.released for move in moves),
        "width": WIDTH,
        "height": HEIGHT,
        "levels": [{"score": score, "y": _y(Decimal(score))} for score in (0, 50, FULL)],
    }


def _y(score: Decimal) -> str:
    return _coordinate(float(MARGIN + (FULL - score) * (HEIGHT - 2 * MARGIN) / FULL))


def _coordinate(length: float) -> str:
    """A coordinate in the form of SVG, which does not depend on the language of the page."""
    return f"{length:.1f}"
