"""The short ASGI path of the JSON API.

Theory of operation
===================

Django's handler costs a JSON call several times what the call itself does: signals that hop between threads,
a body spooled to a file, a task that listens for the disconnect. None of it serves the API, so `/api/`, the
API's description, the health checks and the published keys are answered here, in one coroutine:

    path and method (404, 405) -> body (413) -> media type (415) -> who is asking (401, 403, 429)
        -> JSON (400) -> shape (422) -> the operation -> one message with the head, one with the body

The operations are the ones registered with django-ninja (`intramedial.api`), and the shapes that check a
request are those of their signatures; ninja's own argument machinery and renderer are not on the way.

Every failure is a problem (RFC 9457). One that nobody foresaw is logged with its traceback and answered as
`authority_unavailable`: the caller knows as little about the outcome as when storage fails, and asking again
is right in both cases. There are no CORS headers except on the published documents: pages of other origins
have no business with an API whose credentials are keys.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from django.db import Error as DatabaseError

from intramedial import api, logs, routes, security
from intramedial.access_log import AccessLog
from intramedial.calls import Call, Headers, Reply
from intramedial.identity.requests import RequestParts, join_fields
from intramedial.media import require_json
from intramedial.problems import Problem, problem_body

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PROBLEM = b"application/problem+json"
LOGGED_PATH = 200

logger = logging.getLogger(__name__)
access = AccessLog()


class ClientGone(Exception):
    """The connection was closed before the request was read."""


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    started = time.monotonic()
    identifier = logs.new_request_id()
    logs.request_id.set(identifier)
    try:
        reply = await _answer(scope, receive)
    except ClientGone:
        return
    await _send(scope, send, reply, identifier)
    access.add(identifier, scope["method"], scope["path"][:LOGGED_PATH], reply.status, started)


async def _answer(scope: Message, receive: Receive) -> Reply:
    try:
        method, table = scope["method"], api.routes_by_path()
        if method == "OPTIONS" and scope["path"] in table:
            allow = routes.allowed(table[scope["path"]])
            return Reply(204, b"", ((b"allow", allow.encode()),), media_type=b"")
        route = routes.find(table, method, scope["path"])
        call = await _read_call(scope, receive, method)
        if route.credentials is None:
            return await route.run(call)
        return await _run_for_caller(route, call)
    except Problem as problem:
        return _problem_reply(problem)
    except ClientGone:
        raise
    except Exception as error:
        return _problem_reply(_unforeseen(error))


async def _run_for_caller(route: routes.Route, call: Call) -> Reply:
    assert route.credentials is not None
    principal = call.principal = await route.credentials(call.parts)
    try:
        if call.parts.method not in ("GET", "HEAD"):
            principal.require_write()
        reply = await route.run(call)
    except Problem as problem:
        reply = _problem_reply(problem)
    except Exception as error:
        reply = _problem_reply(_unforeseen(error))
    if principal.trial is not None:
        reply.headers += _encoded(principal.trial.headers(time.time()))
    return reply


async def _read_call(scope: Message, receive: Receive, method: str) -> Call:
    headers = join_fields(scope["headers"])
    body = await _read_body(headers.get("content-length", ""), receive)
    if body and method == "POST":
        require_json(headers)
    peer = scope.get("client")
    return Call(
        RequestParts(
            method=method,
            raw_path=scope.get("raw_path") or scope["path"].encode(),
            query=scope["query_string"],
            headers=headers,
            body=body,
            client=peer[0] if peer else "",
        )
    )


async def _read_body(declared: str, receive: Receive) -> bytes:
    """The whole body; as soon as it is known to be too large, no more of it is read."""
    limit = settings.BODY_LIMIT
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > limit):
        raise _too_large(limit)
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limit: int) -> Problem:
    # The rest of the body is not read, so the connection cannot carry another request.
    return Problem("too_large", f"The body may have at most {limit} bytes.", headers={"connection": "close"})


def _unforeseen(error: Exception) -> Problem:
    if isinstance(error, DatabaseError):
        logger.error("a database failed: %s", error)
    else:
        logger.error("a call failed in an unforeseen way", exc_info=error)
    return Problem(
        "authority_unavailable",
        "The service could not answer; whether it did what was asked is not known. Ask again.",
        headers={"retry-after": "1"},
    )


def _problem_reply(problem: Problem) -> Reply:
    body = orjson.dumps(problem_body(problem, logs.request_id.get()))
    return Reply(problem.status, body, _encoded(problem.headers), PROBLEM)


def _encoded(fields: Mapping[str, str]) -> Headers:
    return tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items())


@cache
def _fixed_headers() -> Headers:
    # What is not a page loads nothing and is shown in no frame.
    own = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    return _encoded(security.headers() | own)


async def _send(scope: Message, send: Send, reply: Reply, identifier: str) -> None:
    headers = [(b"x-request-id", identifier.encode()), *reply.headers, *_fixed_headers()]
    if reply.media_type:
        headers.append((b"content-type", reply.media_type))
        headers.append((b"content-length", b"%d" % len(reply.body)))
    if not reply.public:
        headers.append((b"cache-control", b"no-store"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})
