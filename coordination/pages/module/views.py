"""The module page, the page that verifies receipts, and what their scripts fetch."""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import include, path, reverse
from django.utils.html import strip_tags
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from coordination.pages.module import article, clients, figures, gallery, scenarios
from coordination.pages.texts import module as texts
from coordination.pages.texts import parts as part_texts
from intramedial.web import ready_to_paste
from intramedial.web.markdown import to_markdown

PREFIX = "/api/v1/acp/coordination"
SAMPLE_RESOURCE = "lock:deploy/production"
# Stands for a DID in samples that a reader completes.
SAMPLE_DID = "did:key:z6Mk…"
# A DID for samples that run as they are.
SAMPLE_AGENT = "did:web:agents.example:ana"
PARTS_WITH_STYLES = ("help", "history", "scenarios")


def operations() -> dict[str, dict[str, Any]]:
    """The operations of Lanzar, in the page's language.

    By name: title, words, method, path, sends (`body` or `query`), example (and its text), curl.
    """
    both = {"resource": SAMPLE_RESOURCE, "actorDid": SAMPLE_DID}
    found = {
        "lease": {
            "title": _("Pedir"),
            "words": _("Pide un recurso para un agente. Si ya lo tiene, lo renueva."),
            "method": "POST",
            "path": f"{PREFIX}/lease",
            "sends": "body",
            "example": both,
        },
        "release": {
            "title": _("Soltar"),
            "words": _(
                "Devuelve el recurso antes de que caduque. Suma confianza; dejar que caduque la resta."
            ),
            "method": "POST",
            "path": f"{PREFIX}/release",
            "sends": "body",
            "example": both,
        },
        "wait": {
            "title": _("Mirar"),
            "words": _("Quién tiene qué, quién espera y en qué puesto. Sin resource, todo el espacio."),
            "method": "GET",
            "path": f"{PREFIX}/wait",
            "sends": "query",
            "example": {"resource": SAMPLE_RESOURCE},
        },
        "withdraw": {
            "title": _("Retirarse"),
            "words": _("Saca al agente de la cola del recurso. No cambia su confianza."),
            "method": "DELETE",
            "path": f"{PREFIX}/wait",
            "sends": "query",
            "example": both,
        },
    }
    for operation in found.values():
        operation["curl"] = curl(operation)
        operation["text"] = json.dumps(operation["example"], ensure_ascii=False, indent=2)
    return found


def curl(operation: dict[str, Any]) -> str:
    """An operation's example as a command for a POSIX shell, with the API key of a workspace."""
    address = settings.BASE_URL + operation["path"]
    members = {name: value.replace(SAMPLE_DID, SAMPLE_AGENT) for name, value in operation["example"].items()}
    if operation["sends"] == "body":
        body = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
        return ready_to_paste.curl(address, body=body)
    return ready_to_paste.curl(address, query=members, method=operation["method"])


def parts() -> dict[str, dict[str, str]]:
    """For each part of the page that is fetched when it is first used: the addresses of its texts and
    styles."""
    found = {name: {"texts": reverse("part_texts", args=[name])} for name in part_texts.PARTS}
    for name in PARTS_WITH_STYLES:
        found[name]["styles"] = static(f"css/components/{name}.css")
    return found


@cache
def account(language: str) -> str:
    """The text of the module page as HTML. Nothing in it changes while the process runs."""
    return render_to_string("module/article.html", {**article.context(), "base_url": settings.BASE_URL})


@cache
def account_text(language: str) -> str:
    """The same as Markdown, made from the same templates."""
    page = render_to_string("module/text.html", {**article.context(), "base_url": settings.BASE_URL})
    return to_markdown(page, settings.BASE_URL)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The module page: what a lease is, Lanzar, the live board of the visitor's trial, the text."""
    seconds = settings.LEASE_TTL_MS / 1000
    context = {
        **figures.figures(),
        "article": account(str(get_language())),
        "lease_seconds": int(seconds) if seconds.is_integer() else seconds,
        "operations": operations(),
        "texts": texts.ALL,
        "limits": figures.limits(),
        "parts": parts(),
        "scenarios": scenarios.context(),
    }
    return render(request, "home.html", context)


@require_safe
def module_text(request: HttpRequest) -> HttpResponse:
    """The text of the module page as Markdown."""
    return HttpResponse(account_text(str(get_language())), content_type="text/markdown; charset=utf-8")


@require_safe
def verify(request: HttpRequest) -> HttpResponse:
    """A receipt, checked in the browser with the published keys."""
    return render(request, "verify.html", {"texts": texts.RECEIPT | texts.VERIFY})


def mcp_clients() -> list[dict[str, str]]:
    """The MCP clients: the name, place and configuration of each."""
    return [
        {"name": client.name, "place": strip_tags(str(client.place)), "configuration": client.configuration}
        for client in clients.clients()
    ]


@require_safe
def words(request: HttpRequest, name: str) -> JsonResponse:
    """The texts of a part of the page, in the page's language. Http404 for an unknown part."""
    if name not in part_texts.PARTS:
        raise Http404("no such part")
    found: dict[str, Any] = dict(part_texts.PARTS[name])
    if name == "snippets":
        found["mcp_clients"] = mcp_clients()
    return JsonResponse(found)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The index of the documentation, for people and for programs."""
    return render(request, "docs/index.html")


urlpatterns = [
    path("", home, name="home"),
    path("modulo.md", module_text, name="module_text"),
    path("estilo/", gallery.gallery, name="gallery"),
    path("docs/", docs, name="docs"),
    path("verificar/", verify, name="verify"),
    path("textos/<slug:name>.json", words, name="part_texts"),
    path("", include("coordination.pages.module.scenarios")),
]
