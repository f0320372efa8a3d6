"""What every page shares: the other languages' addresses and the pages for what went wrong."""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse, translate_url
from django.utils.translation import get_language, get_language_info

from intramedial.http.problems import Problem
from intramedial.web.negotiation import problem_response, varied, wants_json


def site(request: HttpRequest) -> dict[str, Any]:
    """Context of every template: `languages`, `home_path`, `base_url`.

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
    }


def _in_language(path: str, code: str) -> str:
    """The address of the same page in another language; of one that does not exist, likewise."""
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
    """403 for a form whose token is missing or old (`CSRF_FAILURE_VIEW`)."""
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
    """405, as a page or a problem; `allow` is the value of the header of that name."""
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
    """Gives the answers of views that do not have a method (405) a body: Django's own have none."""

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
        # A page asks the database who is logged in, which must not be done on the event loop.
        answer = await response
        return await sync_to_async(_with_body)(request, answer) if answer.status_code == 405 else answer


def _with_body(request: HttpRequest, response: Any) -> Any:
    if response.status_code != 405 or response.streaming or response.content:
        return response
    return method_not_allowed(request, response.headers.get("Allow", ""))


def server_error(request: HttpRequest) -> HttpResponse:
    """500, as a page that needs nothing which may be broken: no session, no database."""
    return HttpResponse(render_to_string("500.html", site(request)), status=500)
