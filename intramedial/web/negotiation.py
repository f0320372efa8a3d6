"""Whether what went wrong with a page is answered as a page or as a problem (RFC 9457).

Programs that take a page's address for one of the API read JSON; people read a page (RFC 9110, 12.5.1).
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import MediaType
from django.utils.cache import patch_vary_headers

from intramedial.http import logs
from intramedial.http.problems import Problem, problem_body

PROBLEM = "application/problem+json"
SHOWN_BY_BROWSERS = ("document", "iframe", "frame", "object", "embed")


def wants_json(request: HttpRequest) -> bool:
    """Whether the client is a program: it sent JSON, or prefers JSON to HTML, or takes no HTML and is no
    browser that opens a page. `*/*` is no HTML: browsers that open a page always name it."""
    if _is_json(request.content_type or ""):
        return True
    accepted = request.accepted_types  # the preferred first
    html = next((place for place, given in enumerate(accepted) if _is_html(given)), None)
    if html is not None:
        return any(_is_json(f"{given.main_type}/{given.sub_type}") for given in accepted[:html])
    opens = request.headers.get("sec-fetch-mode") == "navigate"
    return not opens and request.headers.get("sec-fetch-dest") not in SHOWN_BY_BROWSERS


def problem_response(problem: Problem) -> HttpResponse:
    """A problem as the answer to a request for a page."""
    body = problem_body(problem, logs.request_id.get())
    response = JsonResponse(body, status=problem.status, content_type=PROBLEM, headers=problem.headers)
    response["Cache-Control"] = "no-store"
    return response


def varied(response: HttpResponse) -> HttpResponse:
    """The answer, marked as one that another client may get in another form."""
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
