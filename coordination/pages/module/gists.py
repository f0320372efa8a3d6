"""What an answer comes to, in a few words of the page's language."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from intramedial.web import amounts

Json = dict[str, Any]


def of(answer: Json) -> str:
    """The gist of an answer of the API; empty for one that has none."""
    reason = answer.get("reason")
    if lease := answer.get("lease"):
        return _("testigo %(token)s") % {"token": lease["fencingToken"]}
    if reason == "lease_held":
        return _held(answer)
    if reason == "deadlock":
        return _("un círculo de %(count)s") % {"count": len(answer["cycle"])}
    if reason:
        return _("no cambia nada")
    if trust := answer.get("trust"):
        return _("confianza %(score)s") % {"score": amounts.number(Decimal(str(trust["score"])))}
    if "queue" in answer:
        counts = {name: len(answer[name]) for name in ("holders", "queue", "deadlocks")}
        return _("titulares: %(holders)s · en espera: %(queue)s · interbloqueos: %(deadlocks)s") % counts
    return ""


def _held(answer: Json) -> str:
    wait = amounts.duration(answer["stampede"]["waitMs"])
    if not answer["queued"]:
        return _("sin puesto, vuelve en %(wait)s") % {"wait": wait}
    return _("puesto %(place)s, vuelve en %(wait)s") % {"place": answer["position"], "wait": wait}
