"""The receipts of a workspace and their places in the ledger; one receipt; the signing keys.

A lease id is a secret of its holder. The pages never show it. They do not give out the signed form of a
receipt that contains the id of a lease until that lease has ended.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.pages.records import query_values
from coordination.pages.texts import Text
from coordination.read import current, history
from coordination.read.current import StorageFault
from coordination.wire import serialize
from intramedial.http.formats import Json
from intramedial.ledger import entries
from intramedial.receipts import receipt as receipt_maker
from intramedial.receipts import signing
from intramedial.receipts.receipt import resource_of
from intramedial.workspaces.access import context, workspace_page
from intramedial.workspaces.models import Membership

AT_ONCE = 50
OUTCOMES: dict[str, Text] = {
    "granted": _("concedido"),
    "renewed": _("renovado"),
    "released": _("devuelto"),
    "expired": _("caducado"),
    "deadlock": _("interbloqueo"),
}
ENDED_EARLY: dict[str, Text] = {
    "revoked": _("revocado"),
    "returned": _("devuelto sin entregar"),
    "ended": _("terminado por la autoridad"),
}
AUTH: dict[str, Text] = {
    "workspace_key": _("clave del espacio"),
    "agent_key": _("clave del agente"),
    "signature": _("firma del agente"),
    "scenario": _("la estampida de prueba"),
}
HIDDEN = "leaseId"


@require_safe
@workspace_page()
def receipts(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The receipts, latest first: those that wait for the ledger, then a page of those in it."""
    workspace = membership.workspace.public_id
    receipt_id = query_values.text(request, "recibo")
    if query_values.RECEIPT.fullmatch(receipt_id):
        return redirect("receipt", workspace, receipt_id)
    filters = {name: query_values.text(request, name) for name in ("agente", "recurso", "resultado")}
    before = query_values.number(request, "antes")
    given: Json = {
        **context(membership),
        "filters": filters,
        "receipt_id": receipt_id,
        "outcomes": OUTCOMES,
        "filtered": any(filters.values()),
        "keys": _keys(),
        "first": before is None,
    }
    waiting, away = _waiting(workspace, filters) if before is None else ([], False)
    try:
        page = entries.page(workspace, before, AT_ONCE, _wanted(filters) if given["filtered"] else None)
    except entries.LedgerAway:
        page, away = entries.Page([], 0, None), True
    given |= {
        "away": away,
        "waiting": [_line(one.receipt_id, one.claims) for one in waiting],
        "found": [_line(one.receipt_id, one.claims, one.index) for one in page.found],
        "looked": page.looked,
    }
    if page.next is not None:
        kept = {name: text for name, text in filters.items() if text}
        given["next"] = f"?{urlencode({**kept, 'antes': page.next})}"
    return render(request, "records/receipts.html", given, status=503 if away else 200)


@require_safe
@workspace_page()
def receipt(request: HttpRequest, membership: Membership, receipt: str) -> HttpResponse:
    """One receipt."""
    workspace = membership.workspace.public_id
    try:
        found = _found(workspace, receipt)
        jws = None if _is_held(workspace, found["claims"]) else _jws(found)
    except (StorageFault, entries.LedgerAway):
        given = {**context(membership), "receipt": receipt, "away": True}
        return render(request, "records/receipt.html", given, status=503)
    given = {
        **context(membership),
        **found,
        "away": False,
        "receipt": receipt,
        "line": _line(receipt, found["claims"], found["index"]),
        "rows": _rows(found["claims"]),
        "jws": jws,
    }
    return render(request, "records/receipt.html", given)


@require_safe
@workspace_page()
def download(request: HttpRequest, membership: Membership, receipt: str) -> HttpResponse:
    """A receipt as JSON, as the answer had it. Raises PermissionDenied while the lease in it is held."""
    workspace = membership.workspace.public_id
    try:
        found = _found(workspace, receipt)
        jws = None if _is_held(workspace, found["claims"]) else _jws(found)
    except (StorageFault, entries.LedgerAway):
        return HttpResponse(status=503, headers={"Retry-After": "5"})
    if jws is None:
        raise PermissionDenied
    document = {"id": receipt, "kid": found["kid"], "jws": jws}
    return JsonResponse(document, headers={"Content-Disposition": f'attachment; filename="{receipt}.json"'})


def _found(workspace: str, receipt: str) -> Json:
    """A receipt of the workspace: claims, kid, jws (None: not signed yet), index (None: not in the ledger).

    Raises Http404 for an unknown receipt, StorageFault and LedgerAway when a database does not answer.
    """
    if not query_values.RECEIPT.fullmatch(receipt):
        raise Http404("no such receipt")
    # The outbox first: a receipt that leaves it meanwhile is in the ledger.
    waiting = history.pending_one(workspace, receipt)
    entry = None if waiting else entries.one(workspace, receipt)
    if waiting is not None:
        return {"claims": waiting.claims, "kid": waiting.kid, "signed": waiting.signed, "index": None}
    if entry is None:
        raise Http404("no such receipt")
    return {"claims": entry.claims, "kid": entry.kid, "jws": entry.jws, "index": entry.index} | {
        "appended_at": entry.appended_at
    }


def _jws(found: Json) -> str | None:
    """The signed form. For a receipt that waits it is made again, byte for byte; None without the key."""
    if "jws" in found:
        return str(found["jws"])
    claims = found["signed"]
    made = receipt_maker.receipt(claims, found["claims"]["jti"], found["kid"] or None)
    return made["jws"] if made else None


def _is_held(workspace: str, claims: Json) -> bool:
    """Whether the lease whose id is in a receipt is still held. Raises StorageFault."""
    lease_id = _lease_id(claims)
    if lease_id is None:
        return False
    lease = async_to_sync(current.lease)(workspace, resource_of(claims), str(claims.get("sub")))
    return lease is not None and lease.lease_id == lease_id


def _waiting(workspace: str, filters: dict[str, str]) -> tuple[list[history.Pending], bool]:
    try:
        waiting = history.pending(workspace)
    except StorageFault:
        return [], True
    wanted = _wanted(filters)
    return [one for one in waiting if wanted(one.claims)][:AT_ONCE], False


def _wanted(filters: dict[str, str]) -> Callable[[Json], bool]:
    agent, resource, outcome = filters["agente"], filters["recurso"], filters["resultado"]

    def wanted(claims: Json) -> bool:
        return (
            (not agent or claims.get("sub") == agent)
            and (not outcome or claims.get("outcome") == outcome)
            and (not resource or resource_of(claims) == resource)
        )

    return wanted


def _keys() -> list[Json]:
    """The published keys, newest first: their state is `ahead`, `signs` or `retired`."""
    in_use = signing.current()
    found, state = [], "ahead"
    for signer in reversed(signing.ring().signers()):
        state = "signs" if signer.kid == in_use.kid else "retired" if state != "ahead" else "ahead"
        found.append({"kid": signer.kid, "since": query_values.epoch(signer.signs_from), "state": state})
    return found


# --- the contents of a receipt, in a line and field by field ------------------------------------------------


def _line(receipt_id: str, claims: Json, index: int | None = None) -> Json:
    """A receipt as one row; `index` is its place in the ledger, None while it waits."""
    outcome = str(claims.get("outcome", ""))
    end = serialize.ENDED_EARLY.get(str(claims.get("event")), "")
    words = ENDED_EARLY.get(end) or OUTCOMES.get(outcome, outcome)
    return {
        "id": receipt_id,
        "at": query_values.epoch(claims.get("iat")),
        "outcome": outcome,
        "words": words,
        "agent": str(claims.get("sub", "")),
        "resource": resource_of(claims),
        "index": index,
    }


def _lease_id(claims: Json) -> str | None:
    """The lease id in a receipt, or None."""
    return next((str(value) for name, value in _fields(claims) if name.split(".")[-1] == HIDDEN), None)


def _rows(claims: Json) -> Iterator[Json]:
    """Each field with its value and its kind: `did`, `instant`, `hidden`, or "" for plain."""
    for name, value in _fields(claims):
        last = name.split(".")[-1]
        row: Json = {"name": name, "value": value, "kind": ""}
        if last == HIDDEN:
            row |= {"kind": "hidden", "value": ""}
        elif last == "iat":
            row |= {"kind": "instant", "value": query_values.epoch(value)}
        elif last.endswith(("At", "Until")) and (at := _wire_instant(value)) is not None:
            row |= {"kind": "instant", "value": at}
        elif isinstance(value, str) and value.startswith("did:"):
            row["kind"] = "did"
        elif last == "auth":
            row["words"] = AUTH.get(str(value), "")
        elif isinstance(value, bool):
            row["value"] = "true" if value else "false"
        yield row


def _fields(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value within `value`, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _fields(inner, f"{name}[{at}]")
    else:
        yield name, value


def _wire_instant(value: Any) -> datetime | None:
    try:
        return query_values.instant(value)
    except (TypeError, ValueError):
        return None
