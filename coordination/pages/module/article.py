"""The text of the module page below Lanzar: its sections in order, and the context of their templates."""

from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from coordination.api import schemas
from coordination.core.messages import Reason
from coordination.pages.module import fields, figures, promises, reference, samples
from coordination.pages.texts import Text
from coordination.pages.texts.problems import REFUSALS
from intramedial.web import amounts, errors, ready_to_paste
from intramedial.web.errors import Explained
from intramedial.web.pretty_json import pretty

REQUEST_ID = errors.REQUEST_ID


class Part(NamedTuple):
    """A part of a section, for the table of contents."""

    id: str
    title: Text


class Section(NamedTuple):
    """A section: its anchor, which is the same in every language, its title and its template."""

    id: str
    title: Text
    template: str
    parts: tuple[Part, ...] = ()


SECTIONS = (
    Section("registro", _("Qué queda registrado"), "module/record.html"),
    Section("mecanismo", _("Cómo funciona"), "module/mechanism.html"),
    Section(
        "situaciones",
        _("Cuatro situaciones"),
        "module/situations.html",
        tuple(Part(*pair) for pair in (promises.LOCK, promises.CRASH, promises.CYCLE, promises.STAMPEDE)),
    ),
    Section("otra-cosa", _("Cuándo usar otra cosa"), "module/elsewhere.html"),
    Section("garantias", _("Qué garantiza"), "module/does.html"),
    Section("no-garantiza", _("Qué no garantiza"), "module/does-not.html"),
    Section(
        "construccion",
        _("Cómo está hecho"),
        "module/construction.html",
        (
            *(Part(*pair) for pair in (promises.READS, promises.TRUST, promises.RECEIPTS, promises.STORAGE)),
            Part("construccion-limites", _("Límites")),
            Part("construccion-cobro", _("Qué se cobra")),
        ),
    ),
    Section("ejemplo", _("Una petición y su respuesta"), "module/exchange.html"),
    Section("rest", _("REST"), "module/rest.html"),
    Section("mcp", _("MCP"), "module/mcp.html"),
    Section("errores", _("Errores"), "module/errors.html"),
)


def reasons() -> list[Explained]:
    """All reasons that the API can give: the module's refusals, then the platform's problems."""
    return [*refusals(), *errors.platform_entries()]


def refusals() -> list[Explained]:
    """The refusals of a lease and of a release, in the order of the core's `Reason`."""
    return [
        Explained(reason, 409, REFUSALS[reason], partial(_example, reason), refusal=True) for reason in Reason
    ]


def _example(reason: Reason) -> dict[str, Any]:
    return {**samples.refusals()[reason].answer, "receipt": samples.RECEIPT}


def context() -> dict[str, Any]:
    """The context of the sections' templates, in the active language."""
    stampede, crashed = samples.stampede(), samples.crashed_holder()
    entries = reasons()
    return {
        **figures.figures(),
        "sections": SECTIONS,
        "fields": {
            "request": fields.of(schemas.LeaseRequest),
            "lease": fields.of(schemas.Lease),
            "held": fields.of(schemas.LeaseHeld),
            "deadlock": fields.of(schemas.Deadlock),
            "claims": fields.claims(),
        },
        "one_lock": samples.one_lock(),
        "crashed": crashed,
        "trust_after_expiry": amounts.number(Decimal(str(crashed[3].answer["trust"]["score"]))),
        "deadlock": samples.broken_deadlock(),
        "first": samples.FIRST,
        "second": samples.SECOND,
        "stampede": stampede,
        "stampede_others_wait": amounts.duration(stampede.others_wait_ms),
        "reads": samples.shared_reads(),
        "manual": samples.MANUAL,
        "does": promises.DOES,
        "does_not": promises.DOES_NOT,
        "limits_table": reference.limits(),
        "operation_groups": reference.operations(),
        "tools": reference.tools(),
        "mcp_configuration": reference.mcp_configuration(),
        "exchange": exchange(),
        "refusals": [entry for entry in entries if entry.refusal],
        "problems": [entry for entry in entries if not entry.refusal],
        "unavailable_url": reverse("error", args=["authority_unavailable"]),
        "mismatch_url": reverse("error", args=["actor_mismatch"]),
    }


def plain() -> dict[str, Any]:
    """The context of `llms.txt`: figures, three answers, operations, reasons."""
    granted, held = samples.one_lock()[:2]
    return {
        **figures.figures(),
        "read_classes_plain": ", ".join(f"`{name}`" for name in figures.CLASSES),
        "exchange_body": granted.body,
        "granted": granted.text,
        "held": held.text,
        "deadlocked": samples.broken_deadlock()[-2].text,
        "operation_groups": reference.operations(),
        "tools": reference.tools(),
        "reasons": reasons(),
    }


def exchange() -> dict[str, str]:
    """One request and its answer as on the wire: `request`, `answer`, `curl`, `claims`, `launch`."""
    sample = samples.one_lock()[0]
    host = settings.BASE_URL.partition("://")[2]
    path = sample.line.partition(" ")[2]
    head = ["HTTP/1.1 200 OK", "content-type: application/json", f"x-request-id: {REQUEST_ID}"]
    answer = {**sample.answer, "receipt": samples.RECEIPT}
    return {
        "request": "\n".join(
            (
                f"{sample.line} HTTP/1.1",
                f"Host: {host}",
                "Authorization: Bearer imk_…",
                "Content-Type: application/json",
                "",
                sample.body,
            )
        ),
        "answer": "\n".join((*head, "cache-control: no-store", "", pretty(answer))),
        "curl": ready_to_paste.curl(settings.BASE_URL + path, body=sample.body),
        "claims": pretty(fields.example_claims(sample.answer, sample.body.encode())),
        "launch": sample.launch,
    }
