"""What a receipt says, for people: in a line, and field by field. A lease id stays its holder's."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from coordination.pages.records import query_values
from coordination.wire import serialize
from intramedial.receipts.receipt import resource_of

OUTCOMES: dict[str, Any] = {
    "granted": _("concedido"),
    "renewed": _("renovado"),
    "released": _("devuelto"),
    "expired": _("caducado"),
    "deadlock": _("interbloqueo"),
}
ENDED_EARLY = _("terminado por la autoridad")
AUTH: dict[str, Any] = {
    "workspace_key": _("clave del espacio"),
    "agent_key": _("clave del agente"),
    "signature": _("firma del agente"),
    "scenario": _("la estampida de prueba"),
}
HIDDEN = "leaseId"

Json = dict[str, Any]


def line(receipt_id: str, claims: Json, index: int | None = None) -> Json:
    """A receipt in a line; `index` is its place in the ledger, None while it waits."""
    outcome = str(claims.get("outcome", ""))
    words = ENDED_EARLY if claims.get("event") == serialize.ENDED_EARLY else OUTCOMES.get(outcome, outcome)
    return {
        "id": receipt_id,
        "at": query_values.epoch(claims.get("iat")),
        "outcome": outcome,
        "words": words,
        "agent": str(claims.get("sub", "")),
        "resource": resource_of(claims),
        "index": index,
    }


def lease_id(claims: Json) -> str | None:
    """The lease id that a receipt holds, if it holds one."""
    return next((str(value) for name, value in _fields(claims) if name.split(".")[-1] == HIDDEN), None)


def rows(claims: Json) -> Iterator[Json]:
    """Each field with its value and what it is: `did`, `instant`, `hidden`, or plain."""
    for name, value in _fields(claims):
        last = name.split(".")[-1]
        row: Json = {"name": name, "value": value, "kind": ""}
        if last == HIDDEN:
            row |= {"kind": "hidden", "value": ""}
        elif last == "iat":
            row |= {"kind": "instant", "value": query_values.epoch(value)}
        elif last.endswith(("At", "Until")) and (at := _instant(value)) is not None:
            row |= {"kind": "instant", "value": at}
        elif isinstance(value, str) and value.startswith("did:"):
            row["kind"] = "did"
        elif last == "auth":
            row["words"] = AUTH.get(str(value), "")
        elif isinstance(value, bool):
            row["value"] = "true" if value else "false"
        yield row


def _fields(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value within, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _fields(inner, f"{name}[{at}]")
    else:
        yield name, value


def _instant(value: Any) -> datetime | None:
    try:
        return query_values.instant(value)
    except (TypeError, ValueError):
        return None
