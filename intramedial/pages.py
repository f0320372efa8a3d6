"""What every page shares: the other languages' addresses and the pages for what went wrong."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse, translate_url
from django.utils.translation import get_language, get_language_info

from intramedial import styles


def site(request: HttpRequest) -> dict[str, Any]:
    """Context of every template: `languages`, `home_path`, `base_url`, `styles`.

    A language is code, name, current, and of this page in it: path, with the query; absolute, without.
    """
    here, query = request.path, request.META.get("QUERY_STRING", "")
    languages = []
    for code, _ in settings.LANGUAGES:
        path = _in_language(here, code)
        languages.append(
            {
                "code": code,
                "name": get_language_info(code)["name_local"].capitalize(),
                "path": f"{path}?{query}" if query else path,
                "absolute": settings.BASE_URL + path,
                "current": code == get_language(),
            }
        )
    return {
        "languages": languages,
        "home_path": reverse("home"),
        "base_url": settings.BASE_URL,
        "styles": styles.addresses(),
    }


def _in_language(path: str, code: str) -> str:
    """The address of the same page in another language; of one that does not exist, likewise."""
    found = translate_url(path, code)
    if found != path or code == get_language():
        return found
    bare = path.removeprefix(f"/{get_language()}")
    return bare if code == settings.LANGUAGE_CODE else f"/{code}{bare}"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, as a page."""
    return render(request, "400.html", status=400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, as a page."""
    return render(request, "403.html", status=403)


def forbidden_csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose token is missing or old (`CSRF_FAILURE_VIEW`)."""
    return render(request, "403.html", {"stale_form": True}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, as a page."""
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, as a page that needs nothing which may be broken: no session, no database."""
    return HttpResponse(render_to_string("500.html", site(request)), status=500)
