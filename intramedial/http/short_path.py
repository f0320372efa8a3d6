"""The short ASGI path of the JSON API.

Theory of operation
===================

Django's handler costs a JSON call several times what the call itself costs: signals that hop between threads,
a body spooled to a file, a task that waits for the disconnect. The API needs none of these. So `/api/`, the
API's description, the health checks and the published keys are answered here, in one coroutine:

    path and method (404, 405) -> body (413) -> media type (415) -> credentials (401, 403, 429)
        -> JSON (400) -> shape (422) -> the operation -> head and body in one piece

The operations are those registered with django-ninja, and requests are validated by the shapes of their
signatures. Ninja's own machinery for arguments and its renderer are not used.

Every failure is a problem (RFC 9457). Pages of other origins may read the answers to signed requests,
refusals included, and the published documents; see `intramedial.http.origins`.
"""

import time

from intramedial.http import origins, routing
from intramedial.http.calls import Call, Reply, join_fields
from intramedial.http.problems import Problem
from intramedial.http.serving import (
    KNOWN,
    ClientGone,
    Message,
    Receive,
    Send,
    begin,
    encoded,
    finish,
    problem_reply,
    read_call,
    unforeseen,
)


class ShortPath:
    """The ASGI application that serves `table`: path -> method -> route."""

    def __init__(self, table: dict[str, dict[str, routing.Route]]) -> None:
        self._table = table
        self._same_origin_paths = _same_origin_paths(table)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        begun = begin()
        try:
            reply = await self._answer(scope, receive)
        except ClientGone:
            return
        await finish(scope, send, reply, begun)

    async def _answer(self, scope: Message, receive: Receive) -> Reply:
        call = None
        try:
            method, table = scope["method"], self._table
            if method == "OPTIONS" and (by_method := routing.at(table, scope["path"])) is not None:
                return self._options(scope, routing.allowed(by_method))
            route = routing.find(table, method, scope["path"])
            call = await read_call(scope, receive)
            reply = await (
                route.run(call) if route.credentials is None else _run_for_caller(scope, route, call)
            )
        except Problem as problem:
            reply = problem_reply(problem)
        except ClientGone:
            raise
        except Exception as error:
            reply = problem_reply(unforeseen(error))
        fields = call.parts.headers if call is not None else join_fields(scope["headers"])
        if origins.is_signed_alone(fields) and self._is_shared(scope["path"]):
            reply.headers += origins.READABLE
        return reply

    def _options(self, scope: Message, allow: str) -> Reply:
        fields = join_fields(scope["headers"])
        shared = origins.preflight(fields, allow) if self._is_shared(scope["path"]) else ()
        return Reply(204, b"", ((b"allow", allow.encode()), *shared), media_type=b"")

    def _is_shared(self, path: str) -> bool:
        """Whether pages of other origins may read the answer to a signed request for this path."""
        return path.startswith(origins.PREFIX) and path.rstrip("/") not in self._same_origin_paths


def _same_origin_paths(table: dict[str, dict[str, routing.Route]]) -> frozenset[str]:
    """The paths whose answers pages of other origins may not read."""
    return frozenset(
        path
        for path, by_method in table.items()
        if any(
            route.credentials is not None and not route.credentials.cross_origin
            for route in by_method.values()
        )
    )


async def _run_for_caller(scope: Message, route: routing.Route, call: Call) -> Reply:
    assert route.credentials is not None
    principal = call.principal = await route.credentials(call.parts)
    scope[KNOWN] = True
    try:
        if call.parts.method not in ("GET", "HEAD"):
            principal.require_write()
        reply = await route.run(call)
    except Problem as problem:
        reply = problem_reply(problem)
    except Exception as error:
        reply = problem_reply(unforeseen(error))
    if principal.trial is not None:
        reply.headers += encoded(principal.trial.headers(time.time()))
    return reply
