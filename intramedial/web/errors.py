"""The catalogue of reasons: a page for each `reason` of a refusal or a problem.

The `type` of a problem is the address of its page. The platform's problems are here; a module adds its
refusals. `urls.py` combines both.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from intramedial.http.formats import Json
from intramedial.http.problems import REASONS, Problem, problem_body
from intramedial.web.pretty_json import pretty


class Explained(NamedTuple):
    """One reason: a sentence that says what happened, and an example of an answer. The rest of its page is
    the template `errors/<reason>.html`.

    `refusal` marks an answer of the module (409, with a receipt) instead of a problem. `example` is called
    when the page is shown, so that its figures are those of the settings.
    """

    reason: str
    status: int
    what: Any
    example: Callable[[], Json]
    refusal: bool = False


def urlpatterns(entries: Iterable[Explained], figures: Callable[[], Json]) -> list[URLPattern]:
    """The addresses of the catalogue: a list and a page for each. `figures` are the numbers in the texts."""
    known = {entry.reason: entry for entry in entries}
    groups = [
        (_("Rechazos"), [entry for entry in known.values() if entry.refusal]),
        (_("Problemas"), [entry for entry in known.values() if not entry.refusal]),
    ]

    @require_safe
    def listed(request: HttpRequest) -> HttpResponse:
        """The list of all reasons, refusals first."""
        return render(request, "errors/index.html", {"groups": groups})

    @require_safe
    def explained(request: HttpRequest, reason: str) -> HttpResponse:
        """The page of one reason; 404 if there is no such reason."""
        entry = known.get(reason)
        if entry is None:
            raise Http404("no such reason")
        example = pretty(entry.example())
        context = {**figures(), "entry": entry, "example": example, "groups": groups}
        return render(request, f"errors/{entry.reason}.html", context)

    return [
        path("errores/", listed, name="errors"),
        path("errores/<slug:reason>/", explained, name="error"),
    ]


REQUEST_ID = "req_4f1c2a9be07d53a86c1f0b2e"
AGENT = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"

WHAT: Mapping[str, Any] = {
    "malformed_json": _("El cuerpo de la petición no es un JSON que se pueda leer."),
    "unauthenticated": _("No sabemos quién pregunta."),
    "trial_expired": _("La prueba ha terminado."),
    "bad_signature": _("La firma de la petición no se acepta."),
    "replayed": _("Esta petición firmada ya se usó."),
    "actor_mismatch": _("Estas credenciales no pueden hablar por ese agente."),
    "forbidden": _("Estas credenciales no permiten hacer esto."),
    "not_found": _("No hay nada en esa dirección, o no con ese método."),
    "too_large": _("La petición es demasiado grande."),
    "unsupported_media_type": _("El cuerpo no viene como JSON."),
    "invalid_request": _("El JSON se lee, pero algún campo falta o no vale."),
    "trial_exhausted": _("La prueba ha gastado todas sus llamadas."),
    "rate_limited": _("Has llegado a un límite."),
    "authority_unavailable": _("La autoridad no contesta, y sin ella no hay concesión."),
}
# The details as the service writes them. A test provokes each problem and compares.
DETAILS: Mapping[str, Callable[[], str]] = {
    "malformed_json": lambda: "The body has an object with the same name twice.",
    "unauthenticated": lambda: "The API key is unknown, revoked or expired.",
    "trial_expired": lambda: "This trial has expired: create an account to go on.",
    "bad_signature": lambda: (
        "The signature was not accepted: "
        "the signature does not match the request, or was made by another key."
    ),
    "replayed": lambda: "This nonce was already used by this key: sign each request anew.",
    "actor_mismatch": lambda: f"These credentials can only act for {AGENT}.",
    "forbidden": lambda: "This API key can only read.",
    "not_found": lambda: "There is nothing at this path. The API is described at /openapi.json.",
    "too_large": lambda: f"The body may have at most {settings.BODY_LIMIT} bytes.",
    "unsupported_media_type": lambda: "The body must come without a Content-Encoding.",
    "invalid_request": lambda: "/actorDid: Field required",
    "trial_exhausted": lambda: (
        f"The {settings.TRIAL_CALLS} calls of this trial are used up: create an account to go on."
    ),
    "rate_limited": lambda: f"An address may begin {settings.TRIALS_PER_HOUR} trials an hour.",
    "authority_unavailable": lambda: "Nothing was decided, or it is not known: there is no lease. Ask again.",
}


def platform_entries() -> list[Explained]:
    """The entries of the platform's problems, in the order of `REASONS`."""
    return [
        Explained(reason, status, WHAT[reason], partial(_platform_example, reason))
        for reason, (status, _title) in REASONS.items()
    ]


def _platform_example(reason: str) -> Json:
    errors = [{"pointer": "/actorDid", "detail": "Field required"}] if reason == "invalid_request" else []
    return problem_body(Problem(reason, DETAILS[reason](), errors=errors), REQUEST_ID)
