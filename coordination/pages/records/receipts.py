"""The receipts of a workspace, with where the ledger has them; one of them; the keys that sign.

A lease id is its holder's alone. It is never shown here, and a receipt that holds the id of a lease that is
still held is given to nobody in its signed form until that lease has ended.
"""

from typing import Any
from urllib.parse import urlencode

from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from coordination.pages.records import query_values, receipt_words
from coordination.read import current, history
from coordination.read.current import StorageFault
from intramedial.ledger import entries
from intramedial.receipts import receipt as receipt_maker
from intramedial.receipts import signing
from intramedial.receipts.receipt import resource_of
from intramedial.workspaces.access import context, workspace_page
from intramedial.workspaces.models import Membership

AT_ONCE = 50

Json = dict[str, Any]


@require_safe
@workspace_page()
def receipts(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The latest first: what waits for the ledger, then what it has, a page at a time."""
    workspace = membership.workspace.public_id
    sought = query_values.text(request, "recibo")
    if query_values.RECEIPT.fullmatch(sought):
        return HttpResponse(status=302, headers={"Location": reverse("receipt", args=[workspace, sought])})
    wishes = {name: query_values.text(request, name) for name in ("agente", "recurso", "resultado")}
    before = query_values.number(request, "antes")
    given: Json = {
        **context(membership),
        "wishes": wishes,
        "sought": sought,
        "outcomes": receipt_words.OUTCOMES,
        "filtered": any(wishes.values()),
        "keys": _keys(),
        "first": before is None,
    }
    waiting, away = _waiting(workspace, wishes) if before is None else ([], False)
    try:
        page = entries.page(workspace, before, AT_ONCE, _wanted(wishes) if given["filtered"] else None)
    except entries.LedgerAway:
        page, away = entries.Page([], 0, None), True
    given |= {
        "away": away,
        "waiting": [receipt_words.line(one.receipt_id, one.claims) for one in waiting],
        "found": [receipt_words.line(one.receipt_id, one.claims, one.index) for one in page.found],
        "looked": page.looked,
    }
    if page.next is not None:
        kept = {name: text for name, text in wishes.items() if text}
        given["next"] = f"?{urlencode({**kept, 'antes': page.next})}"
    return render(request, "records/receipts.html", given, status=503 if away else 200)


@require_safe
@workspace_page()
def receipt(request: HttpRequest, membership: Membership, receipt: str) -> HttpResponse:
    """One of them, to read."""
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
        "line": receipt_words.line(receipt, found["claims"], found["index"]),
        "rows": receipt_words.rows(found["claims"]),
        "jws": jws,
    }
    return render(request, "records/receipt.html", given)


@require_safe
@workspace_page()
def download(request: HttpRequest, membership: Membership, receipt: str) -> HttpResponse:
    """Its JSON, as the answer had it. PermissionDenied while the lease in it is held."""
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

    Http404 for one that is not there. StorageFault and LedgerAway when it cannot be known.
    """
    if not query_values.RECEIPT.fullmatch(receipt):
        raise Http404("no such receipt")
    # The outbox first: what leaves it meanwhile is in the ledger.
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
    """The signed form; made anew, byte for byte, for one that waits; None without a key."""
    if "jws" in found:
        return str(found["jws"])
    claims = found["signed"]
    made = receipt_maker.receipt(claims, found["claims"]["jti"], found["kid"] or None)
    return made["jws"] if made else None


def _is_held(workspace: str, claims: Json) -> bool:
    """Whether the lease whose id is in a receipt is still held."""
    lease_id = receipt_words.lease_id(claims)
    if lease_id is None:
        return False
    lease = async_to_sync(current.lease)(workspace, resource_of(claims), str(claims.get("sub")))
    return lease is not None and lease.lease_id == lease_id


def _waiting(workspace: str, wishes: dict[str, str]) -> tuple[list[history.Pending], bool]:
    try:
        waiting = history.pending(workspace)
    except StorageFault:
        return [], True
    wanted = _wanted(wishes)
    return [one for one in waiting if wanted(one.claims)][:AT_ONCE], False


def _wanted(wishes: dict[str, str]) -> Any:
    agent, resource, outcome = wishes["agente"], wishes["recurso"], wishes["resultado"]

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
