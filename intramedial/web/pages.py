"""The context that all pages share, and the pages of errors, which are problems (RFC 9457) for programs.

Some programs request a page by mistake instead of the API. They read JSON, people read a page (RFC 9110,
12.5.1).
"""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import MediaType
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse, translate_url
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language, get_language_info

from intramedial.http import logs
from intramedial.http.problems import Problem, problem_body


def site(request: HttpRequest) -> dict[str, Any]:
    """The context of every template: `languages`, `home_path`, `base_url`.

    A language has code, name, current (whether it is the page's), and the page's address in that language:
    path with the query, absolute without it.
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
    }


def _in_language(path: str, code: str) -> str:
    """The address of the same page in another language, also if there is no such page."""
    found = translate_url(path, code)
    if found != path or code == get_language():
        return found
    bare = path.removeprefix(f"/{get_language()}")
    return bare if code == settings.LANGUAGE_CODE else f"/{code}{bare}"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, as a page or a problem."""
    return _failed(
        request, "400.html", _with_status("invalid_request", "The request is not valid HTTP.", 400)
    )


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, as a page or a problem."""
    problem = Problem("forbidden", "This page exists, but not for the account that asked for it.")
    return _failed(request, "403.html", problem)


def forbidden_csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose CSRF token is missing or old (`CSRF_FAILURE_VIEW`)."""
    problem = Problem(
        "forbidden",
        "Only the forms of this site may send something to its pages, with a token that they hold. "
        "Programs use the API, which is described at /openapi.json.",
    )
    problem.title = "This was not sent by a form of this site"
    return _failed(request, "403.html", problem, stale_form=True)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, as a page or a problem."""
    detail = "There is nothing at this path. The API is described at /openapi.json."
    return _failed(request, "404.html", Problem("not_found", detail))


def method_not_allowed(request: HttpRequest, allow: str) -> HttpResponse:
    """405, as a page or a problem; `allow` is the value of the header Allow."""
    problem = _with_status("not_found", f"This page does not have that method, only {allow}.", 405)
    problem.title = "Method not allowed"
    problem.headers["allow"] = allow
    return _failed(request, "405.html", problem)


def _with_status(reason: str, detail: str, status: int) -> Problem:
    problem = Problem(reason, detail)
    problem.status = status
    return problem


def _failed(request: HttpRequest, template: str, problem: Problem, **context: Any) -> HttpResponse:
    if wants_json(request):
        return varied(problem_response(problem))
    page = render(request, template, context, status=problem.status)
    for name, value in problem.headers.items():
        page[name] = value
    return varied(page)


class MethodMiddleware:
    """Adds a body to the answer of a view that does not have the method (405): Django sends none."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._awaited = iscoroutinefunction(get_response)
        if self._awaited:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Answer the request."""
        response = self.get_response(request)
        return self._when_ready(request, response) if self._awaited else _with_body(request, response)

    async def _when_ready(self, request: HttpRequest, response: Awaitable[Any]) -> Any:
        # The page reads the session from the database, which must not happen on the event loop.
        answer = await response
        return await sync_to_async(_with_body)(request, answer) if answer.status_code == 405 else answer


def _with_body(request: HttpRequest, response: Any) -> Any:
    if response.status_code != 405 or response.streaming or response.content:
        return response
    return method_not_allowed(request, response.headers.get("Allow", ""))


def server_error(request: HttpRequest) -> HttpResponse:
    """500, as a page that needs no session and no database, since these may be what fails."""
    return HttpResponse(render_to_string("500.html", site(request)), status=500)


PROBLEM = "application/problem+json"
SHOWN_BY_BROWSERS = ("document", "iframe", "frame", "object", "embed")


def wants_json(request: HttpRequest) -> bool:
    """Whether the client is a program: it sent JSON, or prefers JSON to HTML, or accepts no HTML and is not a
    browser that opens a page. `*/*` does not count as HTML, because browsers name HTML when they open a
    page."""
    if _is_json(request.content_type or ""):
        return True
    accepted = request.accepted_types  # the preferred first
    html = next((place for place, given in enumerate(accepted) if _is_html(given)), None)
    if html is not None:
        return any(_is_json(f"{given.main_type}/{given.sub_type}") for given in accepted[:html])
    opens = request.headers.get("sec-fetch-mode") == "navigate"
    return not opens and request.headers.get("sec-fetch-dest") not in SHOWN_BY_BROWSERS


def problem_response(problem: Problem) -> HttpResponse:
    """The response with a problem, to a request for a page."""
    body = problem_body(problem, logs.request_id.get())
    response = JsonResponse(body, status=problem.status, content_type=PROBLEM, headers=problem.headers)
    response["Cache-Control"] = "no-store"
    return response


def varied(response: HttpResponse) -> HttpResponse:
    """The response, with `Vary: Accept`, because its form depends on that header."""
    patch_vary_headers(response, ("Accept",))
    return response


def _is_html(given: MediaType) -> bool:
    return (given.main_type, given.sub_type) in (
        ("text", "html"),
        ("application", "xhtml+xml"),
        ("text", "*"),
    )


def _is_json(media_type: str) -> bool:
    main, _, sub = media_type.partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))
