"""The refusals of a lease and of a release for the catalogue of reasons: in a sentence, and as answered."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from coordination.core.messages import Reason
from coordination.pages.module import samples
from intramedial.web.errors import Explained

WHAT: Mapping[Reason, Any] = {
    Reason.LEASE_HELD: _("Otro agente tiene el recurso, o va delante de ti en la cola."),
    Reason.DEADLOCK: _("Si esperases, nadie avanzaría: tu espera cerraría un círculo."),
    Reason.STALE_LEASE: _("Ese leaseId no es el de una concesión que el agente tenga ahora."),
    Reason.NOT_HELD: _("El agente no tiene el recurso que quiere devolver."),
}


def entries() -> list[Explained]:
    """Every refusal, in the order in which the core names them."""
    return [
        Explained(reason, 409, WHAT[reason], partial(_example, reason), refusal=True) for reason in Reason
    ]


def _example(reason: Reason) -> dict[str, Any]:
    return {**samples.refusals()[reason].answer, "receipt": samples.RECEIPT}
