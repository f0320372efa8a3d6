"""The catalogue of reasons: a page for each `reason` that a call can be refused for or fail with.

A problem's `type` is the address of its page. The platform has its problems here; a module adds the refusals
that are answers of its own. `urls.py` puts both together.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from intramedial.web.pretty_json import pretty

Json = dict[str, Any]


class Explained(NamedTuple):
    """One reason: what happened, in a sentence, and an answer as it would come. The rest of the words stand
    in the template `errors/<reason>.html`.

    `refusal`: an answer of the module (409, with a receipt), not a problem. `example` is made when shown, so
    that its figures are those of the settings.
    """

    reason: str
    status: int
    what: Any
    example: Callable[[], Json]
    refusal: bool = False


def urlpatterns(entries: Iterable[Explained], figures: Callable[[], Json]) -> list[URLPattern]:
    """The catalogue's pages: all reasons listed, and one for each; `figures` are what their words name."""
    known = {entry.reason: entry for entry in entries}
    groups = [
        (_("Rechazos"), [entry for entry in known.values() if entry.refusal]),
        (_("Problemas"), [entry for entry in known.values() if not entry.refusal]),
    ]

    @require_safe
    def listed(request: HttpRequest) -> HttpResponse:
        """Every reason, refusals first."""
        return render(request, "errors/index.html", {"groups": groups})

    @require_safe
    def explained(request: HttpRequest, reason: str) -> HttpResponse:
        """One reason; 404 for one that does not exist."""
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
