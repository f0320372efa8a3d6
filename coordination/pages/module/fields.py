"""The fields of requests, answers and receipts, in the order of their shapes, with words for readers.

The names come from `coordination.api.schemas` and from the claims of a receipt. A test fails for a name
without words; the page would show the description of the API for it.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel

from coordination.api import schemas
from coordination.pages.module import samples
from coordination.pages.texts import Text
from intramedial.receipts import receipt

Words = Mapping[str, Text]


class FieldRow(NamedTuple):
    """One field: its name on the wire, whether it may be missing, its meaning."""

    name: str
    optional: bool
    words: Text


LEASE_REQUEST: Words = {
    "resource": _(
        "Qué quieres, como clase:nombre. Puede acabar en #read, #write o #delete; "
        "si no acaba en nada, es como #write."
    ),
    "actorDid": _("Quién lo quiere: el DID del agente."),
}
LEASE: Words = {
    "leaseId": _("El nombre de esta concesión. Solo lo ve quien la tiene."),
    "resource": _("El recurso, sin lo que siguiera a #."),
    "holder": _("Quién lo tiene: tú."),
    "mode": _("exclusive, o shared si solo lees y la clase lo permite."),
    "fencingToken": _("El testigo: un número que sube con cada concesión del recurso y nunca baja."),
    "acquiredAt": _("Desde cuándo."),
    "expiresAt": _("Hasta cuándo, si no lo renuevas."),
    "ttlMs": _("Cuánto dura toda concesión, en milisegundos."),
    "renewed": _("Si ya lo tenías y solo se ha alargado."),
}
LEASE_HELD: Words = {
    "ok": _("Siempre false en un rechazo: basta mirar este campo."),
    "reason": _("lease_held: otro lo tiene, o va delante de ti."),
    "resource": _("El recurso, sin lo que siguiera a #."),
    "holder": _("Quién lo tiene. Si nadie lo tiene y se está ofreciendo, a quién."),
    "holders": _("Todos los que lo tienen; pueden ser varios si leen."),
    "offered": _("Si está libre y se le está ofreciendo a otro."),
    "expiresAt": _("Cuándo acaba la última de sus concesiones. Falta si se está ofreciendo."),
    "queued": _("Si tienes puesto en la cola."),
    "position": _("Qué puesto. Falta si no tienes."),
    "keptUntil": _("Hasta cuándo se te guarda sin que vuelvas a preguntar. Falta si no tienes puesto."),
    "stampede": _("Cuántos esperan ya (admitted) y cuánto tardar en volver a pedirlo (waitMs)."),
    "receipt": _("El recibo firmado de este rechazo."),
}
DEADLOCK: Words = {
    "ok": _("Siempre false en un rechazo: basta mirar este campo."),
    "reason": _("deadlock: esperar cerraría un círculo. No entras en la cola."),
    "resource": _("El recurso, sin lo que siguiera a #."),
    "holder": _("Quién te cierra el paso dentro del círculo."),
    "waitingOn": _("Qué espera él."),
    "cycle": _("El círculo entero, empezando por ti: cada agente y el recurso que espera."),
    "receipt": _("El recibo firmado de este rechazo."),
}
CLAIMS: Words = {
    "iss": _("Quién lo emite."),
    "iat": _("Cuándo, en segundos desde 1970."),
    "jti": _("El identificador del recibo."),
    "sub": _("El agente."),
    "auth": _(
        "Cómo se supo quién preguntaba: signature, agent_key, workspace_key o, en la estampida, scenario."
    ),
    "workspace": _("El espacio de trabajo."),
    "event": _("Qué se pidió: coordination.lease o coordination.release; coordination.expire si caducó."),
    "outcome": _("Qué se decidió: granted, renewed, released, lease_held, deadlock, stale_lease, not_held…"),
    "resource": _("El recurso, sin lo que siguiera a #."),
    "request": _("El resumen SHA-256 de los bytes que mandaste."),
    "result": _("La respuesta entera, sin el propio recibo."),
}

SHAPES: Mapping[type[BaseModel], Words] = {
    schemas.LeaseRequest: LEASE_REQUEST,
    schemas.Lease: LEASE,
    schemas.LeaseHeld: LEASE_HELD,
    schemas.Deadlock: DEADLOCK,
}


def of(shape: type[BaseModel]) -> list[FieldRow]:
    """The fields of a wire shape."""
    return list(_of(shape, SHAPES[shape]))


def _of(shape: type[BaseModel], words: Words) -> Iterator[FieldRow]:
    for name, field in shape.model_fields.items():
        wire_name = field.alias or name
        yield FieldRow(wire_name, not field.is_required(), words.get(wire_name, field.description or ""))


def claims() -> list[FieldRow]:
    """The claims of a receipt, in their order."""
    return [FieldRow(name, False, CLAIMS.get(name, "")) for name in example_claims({})]


def example_claims(result: dict[str, Any], request: bytes = b"") -> dict[str, Any]:
    """The claims of a receipt for the answer `result` to the body `request`, as the service makes them."""
    lease = result.get("lease", {})
    made = receipt.claims(
        iat=samples.START // 1000,
        jti=samples.RECEIPT["id"],
        sub=lease.get("holder", ""),
        auth="workspace_key",
        workspace="ws_4f8Zk2VhQ9sT1xYbN7mC3d",
        event="coordination.lease",
        outcome="granted",
        resource=lease.get("resource", ""),
        digest=f"sha-256=:{b64encode(sha256(request).digest()).decode()}:",
        result_json=orjson.dumps(result),
    )
    found: dict[str, Any] = orjson.loads(made)
    return found
