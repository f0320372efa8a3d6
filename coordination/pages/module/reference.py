"""The operations, tools and limits, read from the routes, the tools and the settings that serve them."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel

from coordination.api.schemas import MAX_PAGE
from coordination.core.names import MAX_NAME
from coordination.pages.texts import Text
from intramedial import api
from intramedial.http import routing
from intramedial.identity.did import MAX_DID_LENGTH
from intramedial.web import amounts
from intramedial.web.pretty_json import pretty
from intramedial.web.ready_to_paste import mcp_server
from intramedial.workspaces.authentication.callers import COUNTED

WORDS: Mapping[str, Text] = {
    "acquireLease": _("Pedir un recurso, o renovar el que ya se tiene."),
    "releaseLease": _("Devolverlo antes de que caduque."),
    "seeWaits": _("Quién tiene qué, quién espera y en qué puesto, y qué interbloqueos se han evitado."),
    "leaveQueue": _("Dejar la cola de un recurso."),
    "seeAgent": _("La confianza de un agente, lo que tiene y lo que espera."),
    "runStampede": _(
        "Cincuenta agentes a por un recurso, en el espacio de una prueba; contesta línea a línea."
    ),
    "beginTrial": _("Empezar una prueba con la clave que firma."),
    "seeTrial": _("Lo que queda de la prueba."),
    "addTrialAgent": _("Añadir otro agente a la prueba."),
    "issueTicket": _("Un billete de un solo uso para abrir el tablero en vivo."),
    "live": _("Si el proceso responde."),
    "ready": _("Si puede atender peticiones, parte por parte."),
    "jwks": _("Las claves que han firmado recibos, también las retiradas."),
    "didDocument": _("Las mismas claves, como documento did:web."),
    "openapi": _("La descripción completa de esta API (OpenAPI 3.1)."),
}
TOOL_WORDS: Mapping[str, Text] = {
    "coordination.wait": _("Quién tiene qué y quién espera."),
    "coordination.status": _("Cómo estás con un recurso: si lo tienes, en qué puesto, quién va delante."),
    "coordination.lease.acquire": _("Pedir un recurso o renovarlo. ttlMs se acepta y no cambia nada."),
    "coordination.lease.release": _("Devolver lo que tengas de ese recurso; no hace falta leaseId."),
    "coordination.lease.withdraw": _("Dejar la cola."),
}
GROUPS = (
    ("coordination", _("Coordinación")),
    ("trial", _("Pruebas")),
    ("scenarios", _("Escenarios")),
    ("published", _("Documentos públicos")),
    ("health", _("Estado del servicio")),
)


class Operation(NamedTuple):
    """One operation: method, path, what it does, whether it needs credentials, whether a trial pays for
    it."""

    name: str
    method: str
    path: str
    words: Text
    credentials: bool
    counted: bool


class ToolRow(NamedTuple):
    """One tool of MCP: its name at `/mcp/compat` and at `/mcp`, the arguments it takes, what it does."""

    name: str
    dotted: str
    arguments: str
    words: Text


class Limit(NamedTuple):
    """One limit: what is limited, how much, and the reason of the refusal."""

    words: Text
    amount: str
    reason: str


def operations() -> list[tuple[Text, list[Operation]]]:
    """All operations, in groups with their titles."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for path, operation in routing.operations(api.api):
        name = operation.operation_id or ""
        words = WORDS.get(name, operation.summary)
        credentials = next(iter(operation.auth_callbacks), None)
        tag = str((operation.tags or [GROUPS[0][0]])[0])
        found[tag] += [
            Operation(name, method, path, words, credentials is not None, credentials is COUNTED)
            for method in operation.methods
        ]
    return [(title, found[tag]) for tag, title in GROUPS]


def tools() -> list[ToolRow]:
    """The tools that are served over MCP."""
    # Imported here, because the SDK is large and management commands show no page.
    from coordination.mcp.tools import TOOLS

    return [
        ToolRow(
            tool.compatible_name,
            tool.name,
            _arguments(tool.arguments),
            TOOL_WORDS.get(tool.name, tool.title),
        )
        for tool in TOOLS
    ]


class Versions(NamedTuple):
    """The versions of MCP that `MCP-Protocol-Version` may name, oldest first, and the version of a request
    without that field."""

    accepted: tuple[str, ...]
    assumed: str


def mcp_versions() -> Versions:
    """The versions of MCP that this service speaks."""
    from mcp.types import DEFAULT_NEGOTIATED_VERSION
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

    return Versions((*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS), DEFAULT_NEGOTIATED_VERSION)


def _arguments(shape: type[BaseModel]) -> str:
    names = [
        f"{field.alias or name}{'' if field.is_required() else '?'}"
        for name, field in shape.model_fields.items()
    ]
    return f"{{{', '.join(names)}}}"


def mcp_configuration() -> str:
    """The configuration of an MCP client that has no chapter of its own."""
    server = {"type": "http", **mcp_server("imk_…")}
    return pretty({"mcpServers": {"intramedial": server}}, width=60)


def limits() -> list[Limit]:
    """The limits that a caller can reach, from the settings."""
    number, size = amounts.number, amounts.size
    return [
        Limit(_("Cuerpo de una petición"), size(settings.BODY_LIMIT), "too_large"),
        Limit(_("Niveles de un JSON"), number(settings.JSON_DEPTH), "malformed_json"),
        Limit(_("Caracteres del nombre de un recurso"), number(MAX_NAME), "invalid_request"),
        Limit(_("Caracteres de un DID"), number(MAX_DID_LENGTH), "invalid_request"),
        Limit(_("Recursos por página al mirar"), number(MAX_PAGE), "invalid_request"),
        Limit(_("Puestos en la cola de un recurso"), number(settings.QUEUE_LIMIT), "lease_held"),
        Limit(
            _("Recursos concedidos o esperados a la vez en un espacio"),
            number(settings.WORKSPACE_RESOURCES),
            "rate_limited",
        ),
        Limit(_("Lo mismo, en una prueba"), number(settings.TRIAL_RESOURCES), "rate_limited"),
        Limit(
            _("Tableros en vivo abiertos en un espacio"), number(settings.WORKSPACE_SOCKETS), "rate_limited"
        ),
        Limit(_("Lo mismo, en una prueba"), number(settings.TRIAL_SOCKETS), "rate_limited"),
        Limit(_("Llamadas de una prueba"), number(settings.TRIAL_CALLS), "trial_exhausted"),
        Limit(_("Vida de una prueba"), amounts.days(settings.TRIAL_DAYS), "trial_expired"),
        Limit(_("Agentes de una prueba"), number(settings.TRIAL_AGENTS), "rate_limited"),
        Limit(_("Pruebas nuevas por dirección y hora"), number(settings.TRIALS_PER_HOUR), "rate_limited"),
    ]
