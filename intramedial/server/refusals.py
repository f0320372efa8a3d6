"""Answers that the listener gives before the application gets a request, and their log lines.

Each is a problem (RFC 9457) with the members of `problems.py`. The reasons are a closed list, so a status of
HTTP itself (408, 431 …) has the reason that fits it best.
"""

import logging
from http import HTTPStatus

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from intramedial.http import logs, security
from intramedial.http.problems import Problem, problem_body

logger = logging.getLogger("intramedial.listener")

REASONS = {
    400: "invalid_request",
    401: "unauthenticated",
    408: "invalid_request",
    413: "too_large",
    414: "too_large",
    426: "invalid_request",
    429: "rate_limited",
    431: "too_large",
    501: "not_found",
    503: "authority_unavailable",
}

NO_CONTENT = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def refusal(status: int, detail: str, **headers: str) -> Problem:
    """The problem of a status in `REASONS`. The names of `headers` have `_` in the place of `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    problem = Problem(REASONS[status], detail, headers=named)
    if problem.status != status:
        problem.status, problem.title = status, HTTPStatus(status).phrase
    return problem


def too_large(limit: int) -> Problem:
    """The problem of a body of more than `limit` bytes."""
    return refusal(413, f"The body may have at most {limit} bytes.")


def written(problem: Problem, identifier: str, server_lines: bytes) -> bytes:
    """A whole HTTP/1.1 answer that ends the connection. `server_lines` are the header fields of the
    server."""
    body = orjson.dumps(problem_body(problem, identifier))
    fields = {
        "x-request-id": identifier,
        **problem.headers,
        **security.headers(),
        **NO_CONTENT,
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        "connection": problem.headers.get("connection", "close"),
    }
    head = "".join(f"{name.lower()}: {value}\r\n" for name, value in fields.items())
    return b"".join((STATUS_LINE[problem.status], server_lines, head.encode("latin-1"), b"\r\n", body))


def log_refusal(problem: Problem, identifier: str) -> None:
    """Log that a request was refused. `client_faults.py` limits the lines of each status."""
    logger.warning(
        "a request was refused before it reached the application: %s",
        problem.detail,
        extra={"kind": f"refused_{problem.status}", "status": problem.status, "requestId": identifier},
    )


def log_fault(error: BaseException) -> None:
    """Log that parsing a request failed in an unforeseen way, which is our fault. Lines are limited as
    above."""
    logger.error(
        "a request could not be parsed in an unforeseen way",
        exc_info=error,
        extra={"kind": "parsing failed"},
    )


def new_identifier() -> str:
    """The id of a refused request."""
    return logs.new_request_id()
