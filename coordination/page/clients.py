"""How to connect a client over MCP: which address it needs, and its configuration, ready to paste."""

import shlex
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.page import reference
from intramedial import amounts
from intramedial.pretty_json import pretty

KEY = "$INTRAMEDIAL_KEY"
NARROW = 60
SAMPLE_DID = "did:web:example.com:agents:builder"


class Client(NamedTuple):
    """A client: its name, the anchor of its chapter, which list it needs and why, where its configuration
    goes, the configuration, and what else to know (or nothing).
    """

    name: str
    anchor: str
    compatible: bool
    why: Any
    place: Any
    configuration: str
    besides: Any = ""

    @property
    def address(self) -> str:
        """Where it connects to."""
        return address(self.compatible)


def address(compatible: bool) -> str:
    """The address whose tools are listed with underscores, or the one with dots."""
    return settings.BASE_URL + ("/mcp/compat" if compatible else "/mcp")


def clients() -> list[Client]:
    """The clients that the page tells how to connect."""
    return [
        Client(
            "Claude Code",
            "claude-code",
            True,
            _("La API de sus modelos no admite puntos en los nombres."),
            _("En un terminal:"),
            f"claude mcp add --transport http intramedial {address(True)} \\\n"
            f'  --header "Authorization: Bearer {KEY}"',
            _("Con <code>--scope project</code> queda en el <code>.mcp.json</code> del proyecto."),
        ),
        Client(
            "Claude Desktop",
            "claude-desktop",
            True,
            _("Rechaza la lista entera si un nombre lleva un punto."),
            _("En <code>claude_desktop_config.json</code> (Ajustes → Desarrollador → Editar configuración):"),
            pretty({"mcpServers": {"intramedial": _through_a_bridge()}}, NARROW),
            _("Necesita Node: <code>mcp-remote</code> es el puente entre su entrada estándar y HTTP."),
        ),
        Client(
            "Cursor",
            "cursor",
            True,
            _("Solo admite letras, cifras y guiones bajos."),
            _("En <code>.cursor/mcp.json</code> del proyecto, o en <code>~/.cursor/mcp.json</code>:"),
            pretty({"mcpServers": {"intramedial": _over_http(True, "${env:INTRAMEDIAL_KEY}")}}, NARROW),
        ),
        Client(
            "VS Code",
            "vs-code",
            False,
            _("Cambia él mismo los puntos; vale cualquiera de las dos."),
            _("En <code>.vscode/mcp.json</code> del proyecto:"),
            pretty(_of_vs_code(), NARROW),
            _("Pide la clave la primera vez y la guarda él."),
        ),
    ]


def _over_http(compatible: bool, key: str) -> dict[str, Any]:
    return {"url": address(compatible), "headers": {"Authorization": f"Bearer {key}"}}


def _through_a_bridge() -> dict[str, Any]:
    public = urlsplit(settings.BASE_URL)
    # The bridge refuses plain HTTP to another machine unless told otherwise.
    plain = public.scheme == "http" and public.hostname not in ("localhost", "127.0.0.1")
    # A space within an argument is lost on Windows, so that the whole value comes from the environment.
    header = ["--header", "Authorization:${INTRAMEDIAL_AUTH}", *(["--allow-http"] if plain else [])]
    return {
        "command": "npx",
        "args": ["-y", "mcp-remote", address(True), *header],
        "env": {"INTRAMEDIAL_AUTH": "Bearer imk_…"},
    }


def _of_vs_code() -> dict[str, Any]:
    return {
        "inputs": [
            {
                "id": "intramedial-key",
                "type": "promptString",
                "description": "intramedial API key",
                "password": True,
            }
        ],
        "servers": {"intramedial": {"type": "http", **_over_http(False, "${input:intramedial-key}")}},
    }


def check() -> str:
    """A call by hand, as a command for a POSIX shell."""
    arguments = {"resource": "lock:deploy/production", "actorDid": SAMPLE_DID}
    params = {"name": "coordination.status", "arguments": arguments}
    body = pretty({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, NARROW)
    lines = (
        f"curl -sS {shlex.quote(address(False))}",
        f'-H "Authorization: Bearer {KEY}"',
        "-H 'Content-Type: application/json'",
        "-H 'Accept: application/json'",
        f"-d {shlex.quote(body)}",
    )
    return " \\\n  ".join(lines)


@require_safe
def connecting(request: HttpRequest) -> HttpResponse:
    """What MCP offers here, and how to connect a client."""
    context = {
        "dotted_url": address(False),
        "compatible_url": address(True),
        "clients": clients(),
        "check": check(),
        "tools": reference.tools(),
        "ttl": amounts.duration(settings.LEASE_TTL_MS),
        "sample_did": SAMPLE_DID,
    }
    return render(request, "docs/mcp.html", context)


urlpatterns = [path("docs/mcp/", connecting, name="mcp")]
