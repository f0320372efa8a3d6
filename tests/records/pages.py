"""Addresses of the records of a workspace, and entries for its ledger."""

import re

import html5lib
import orjson
from django.urls import reverse
from django.utils.translation import override

from coordination.models import OutboxRow
from coordination.wire.ids import new_receipt_id
from intramedial.ledger import log
from intramedial.receipts import receipt as receipts

ANA, BEA = "did:example:ana", "did:example:bea"


def path(name: str, workspace, *args) -> str:
    """The address of a page in Spanish, whatever language was active before."""
    with override("es"):
        return reverse(name, args=[workspace.public_id, *args])


def body(answer) -> str:
    """The text of a page; fails unless it is a valid page."""
    assert answer.status_code == 200, answer.status_code
    text = answer.content.decode()
    html5lib.HTMLParser(strict=True).parse(text)
    assert not re.search(r"\{[{%]|%\(", text)
    return text


def settled(workspace: str) -> None:
    """Move what waits in the outbox to the ledger, as the drain does."""
    rows = OutboxRow.objects.filter(workspace=workspace)
    log.append(
        [
            (row.receipt_id, workspace, receipts.receipt(bytes(row.claims), row.receipt_id)["jws"])
            for row in rows.order_by("pk")
        ]
    )


def entered(workspace: str, number: int, agent: str = ANA, outcome: str = "granted") -> list[str]:
    """Add so many receipts to the ledger; returns their ids, in order."""
    leaves = []
    for at in range(number):
        receipt_id = new_receipt_id()
        claims = receipts.claims(
            iat=1_700_000_000 + at,
            jti=receipt_id,
            sub=agent,
            auth="workspace_key",
            workspace=workspace,
            event="coordination.lease",
            outcome=outcome,
            resource=f"lock:{at}",
            digest=None,
            result_json=orjson.dumps({"ok": True, "lease": {"leaseId": "lse_x", "resource": f"lock:{at}"}}),
        )
        leaves.append((receipt_id, workspace, receipts.receipt(claims, receipt_id)["jws"]))
    log.append(leaves)
    return [leaf[0] for leaf in leaves]
