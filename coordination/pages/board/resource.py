"""The page of one resource: its holders, its queue, its receipts in the ledger, and how an owner ends a
lease.

The page needs no script. The board's drawer takes from it the part that no live socket sends.
"""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from coordination.api.revoke import NotRevoked, RevokeForm, revoke
from coordination.core.names import normal_name
from coordination.pages.texts import Text
from coordination.pages.texts.module import OUTCOMES
from coordination.read import current
from coordination.read.current import StorageFault
from coordination.wire import serialize
from intramedial.http.formats import Json
from intramedial.identity.did import check_did
from intramedial.ledger import entries as ledger
from intramedial.receipts.receipt import resource_of
from intramedial.workspaces import access
from intramedial.workspaces.models import Membership

RECEIPTS_SHOWN = 12
FORMS_SHOWN = 8


@require_http_methods(["GET", "HEAD", "POST"])
@access.workspace_page()
def resource(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The resource `?nombre=`. A POST by an owner ends the lease of the agent in its field `agent`."""
    name = _name(request)
    if request.method == "POST":
        return _revoke(request, membership, name)
    return _shown(request, membership, name)


def _revoke(request: HttpRequest, membership: Membership, name: str) -> HttpResponse:
    if not access.at_least(membership, access.Role.OWNER):
        raise PermissionDenied
    workspace = membership.workspace.public_id
    try:
        agent = check_did(request.POST.get("agent", ""))
    except ValueError:
        raise Http404("no such agent") from None
    form = RevokeForm(request.POST, resource=name)
    if not form.is_valid():
        return _shown(request, membership, name, {agent: form})
    entered = form.cleaned_data
    try:
        revoke(request, workspace, name, agent, entered["token"], entered["reason"])
    except NotRevoked as words:
        messages.error(request, str(words))
    else:
        messages.success(request, _("Concesión revocada. Se ofrece al siguiente de la cola, si lo hay."))
    return redirect(f"{reverse('board', args=[workspace])}?{urlencode({'recurso': name})}")


def _shown(
    request: HttpRequest, membership: Membership, name: str, sent: dict[str, RevokeForm] | None = None
) -> HttpResponse:
    workspace = membership.workspace.public_id
    given: Json = {**access.context(membership), "resource": name, "away": False, "ledger_away": False}
    try:
        seen = picture(workspace, name)
    except StorageFault:
        return render(request, "board/resource.html", {**given, "away": True}, status=503)
    given |= {
        "holders": [
            {**held, "form": _form(name, number, held, sent or {}) if number < FORMS_SHOWN else None}
            for number, held in enumerate(seen["holders"])
        ],
        "queue": seen["queue"],
        "receipts_path": f"{reverse('receipts', args=[workspace])}?{urlencode({'recurso': name})}",
    }
    try:
        page = ledger.page(workspace, None, RECEIPTS_SHOWN, lambda claims: resource_of(claims) == name)
        given["receipts"] = [_line(one) for one in page.found]
    except ledger.LedgerAway:
        given["ledger_away"] = True
    return render(request, "board/resource.html", given, status=422 if sent else 200)


def _form(name: str, number: int, held: Json, sent: dict[str, RevokeForm]) -> RevokeForm:
    if (form := sent.get(held["holder"])) is not None:
        return form
    return RevokeForm(resource=name, initial={"token": held["fencingToken"]}, auto_id=f"revoke-{number}-%s")


def _line(entry: ledger.Recorded) -> Json:
    claims = entry.claims
    return {
        "id": entry.receipt_id,
        "at": _epoch(claims.get("iat")),
        "agent": claims.get("sub", ""),
        "words": _words(claims),
        "index": entry.index,
    }


def _words(claims: Json) -> Text:
    """The outcome of a receipt in words. Its claims say `released` for a revoked lease too; the event tells
    them apart."""
    outcome = serialize.ENDED_EARLY.get(str(claims.get("event")), str(claims.get("outcome")))
    return OUTCOMES.get(outcome, outcome)


def _epoch(seconds: Any) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int) else None


def _name(request: HttpRequest) -> str:
    try:
        return normal_name(request.GET.get("nombre", ""))
    except ValueError:
        raise Http404("no resource can have that name") from None


def picture(workspace: str, resource: str | None = None, limit: int = current.PAGE) -> Json:
    """`current.picture` for views that are not asynchronous, with the datetimes `until` of each holder and
    `began` of each wait. Raises StorageFault."""
    found = async_to_sync(current.picture)(workspace, resource, limit)
    holders = [{**held, "until": datetime.fromisoformat(held["expiresAt"])} for held in found["holders"]]
    queue = [{**wait, "began": datetime.fromisoformat(wait["since"])} for wait in found["queue"]]
    return {**found, "holders": holders, "queue": queue}
