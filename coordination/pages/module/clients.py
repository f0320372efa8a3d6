"""The page that says how MCP clients are connected, with a configuration to paste for each client."""

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from coordination.pages.module import reference
from coordination.pages.texts import Text
from intramedial.web import amounts
from intramedial.web.pretty_json import pretty
from intramedial.web.ready_to_paste import KEY, curl, mcp_address, mcp_server

NARROW = 60
SAMPLE_DID = "did:web:example.com:agents:builder"


class Client(NamedTuple):
    """A client: its name, the anchor of its chapter, why it gets names without dots, where its configuration
    goes, the configuration, and a further remark or "".
    """

    name: str
    anchor: str
    why: Text
    place: Text
    configuration: str
    besides: Text = ""


def clients() -> list[Client]:
    """The clients of the page: programs first, then libraries."""
    return [*_programs(), *_libraries()]


def _programs() -> list[Client]:
    return [
        Client(
            "Claude Code",
            "claude-code",
            _("La API de sus modelos no admite puntos en los nombres."),
            _("En un terminal:"),
            f"claude mcp add --transport http intramedial {mcp_address()} \\\n"
            f'  --header "Authorization: Bearer {KEY}"',
            _("Con <code>--scope project</code> queda en el <code>.mcp.json</code> del proyecto."),
        ),
        Client(
            "Claude Desktop",
            "claude-desktop",
            _("Rechaza la lista entera si un nombre lleva un punto."),
            _("En <code>claude_desktop_config.json</code> (Ajustes → Desarrollador → Editar configuración):"),
            pretty({"mcpServers": {"intramedial": _through_a_bridge()}}, NARROW),
            _("Necesita Node: <code>mcp-remote</code> es el puente entre su entrada estándar y HTTP."),
        ),
        Client(
            "Cursor",
            "cursor",
            _("Solo admite letras, cifras y guiones bajos."),
            _("En <code>.cursor/mcp.json</code> del proyecto, o en <code>~/.cursor/mcp.json</code>:"),
            pretty({"mcpServers": {"intramedial": mcp_server("${env:INTRAMEDIAL_KEY}")}}, NARROW),
        ),
        Client(
            "VS Code",
            "vs-code",
            _("Cambiaría los puntos él mismo: así no tiene nada que cambiar."),
            _("En <code>.vscode/mcp.json</code> del proyecto:"),
            pretty(_of_vs_code(), NARROW),
            _("Pide la clave la primera vez y la guarda él."),
        ),
        Client(
            "Gemini CLI",
            "gemini-cli",
            _("Admite puntos: así los nombres son los mismos que en los demás."),
            _("En <code>.gemini/settings.json</code>, del proyecto o de tu carpeta personal:"),
            pretty({"mcpServers": {"intramedial": mcp_server("${INTRAMEDIAL_KEY}", "httpUrl")}}, NARROW),
            _("<code>httpUrl</code> es Streamable HTTP; con <code>url</code> buscaría otro transporte."),
        ),
    ]


def _libraries() -> list[Client]:
    place = _("En Python, con la clave en <code>INTRAMEDIAL_KEY</code>:")
    return [
        Client(
            "OpenAI Agents SDK",
            "openai-agents",
            _("La API de OpenAI solo admite letras, cifras y guiones en los nombres."),
            place,
            _sample("openai_agents"),
            _("Paquete <code>openai-agents</code>; la clave de OpenAI va en <code>OPENAI_API_KEY</code>."),
        ),
        Client(
            "LangChain",
            "langchain",
            _("Pasa los nombres tal cual a la API del modelo que se elija."),
            place,
            _sample("langchain"),
            _("Paquetes <code>langchain</code> y <code>langchain-mcp-adapters</code>; el modelo, en MODEL."),
        ),
        Client(
            "Pydantic AI",
            "pydantic-ai",
            _("Pasa los nombres tal cual a la API del modelo que se elija."),
            place,
            _sample("pydantic_ai"),
            _("Paquete <code>pydantic-ai</code>, desde la versión 2; el modelo, en MODEL."),
        ),
    ]


def _sample(name: str) -> str:
    """The program that uses the library of that name."""
    return render_to_string(f"docs/clients/{name}.python", {"address": mcp_address(), "did": SAMPLE_DID})


def _through_a_bridge() -> dict[str, Any]:
    public = urlsplit(settings.BASE_URL)
    # The bridge refuses plain HTTP to another machine without this option.
    plain = public.scheme == "http" and public.hostname not in ("localhost", "127.0.0.1")
    # The bridge loses a space within an argument on Windows, so the whole value comes from the environment.
    header = ["--header", "Authorization:${INTRAMEDIAL_AUTH}", *(["--allow-http"] if plain else [])]
    return {
        "command": "npx",
        "args": ["-y", "mcp-remote", mcp_address(), *header],
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
        "servers": {"intramedial": {"type": "http", **mcp_server("${input:intramedial-key}")}},
    }


def check() -> str:
    """A call of a tool as a command for a POSIX shell."""
    arguments = {"resource": "lock:deploy/production", "actorDid": SAMPLE_DID}
    params = {"name": "coordination_status", "arguments": arguments}
    body = pretty({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, NARROW)
    return curl(mcp_address(), body=body)


@require_safe
def connecting(request: HttpRequest) -> HttpResponse:
    """The page: the tools, and how to connect a client."""
    context = {
        "dotted_url": f"{settings.BASE_URL}/mcp",
        "compatible_url": mcp_address(),
        "clients": clients(),
        "check": check(),
        "tools": reference.tools(),
        "versions": reference.mcp_versions(),
        "ttl": amounts.duration(settings.LEASE_TTL_MS),
        "sample_did": SAMPLE_DID,
    }
    return render(request, "docs/mcp.html", context)


urlpatterns = [path("docs/mcp/", connecting, name="mcp")]
