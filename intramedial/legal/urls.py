"""The addresses of the legal pages."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from intramedial.legal import retention

PAGES = ("legal_notice", "legal_privacy", "legal_cookies", "legal_retention")


def _page(template: str, **more: Any) -> Any:
    @require_safe
    def view(request: HttpRequest) -> HttpResponse:
        return render(request, f"legal/{template}.html", {name: found() for name, found in more.items()})

    return view


urlpatterns = [
    path("aviso/", _page("notice"), name="legal_notice"),
    path("privacidad/", _page("privacy", figures=retention.figures), name="legal_privacy"),
    path(
        "cookies/",
        _page("cookies", cookies=retention.cookies, figures=retention.figures),
        name="legal_cookies",
    ),
    path("conservacion/", _page("retention", rows=retention.rows), name="legal_retention"),
]
