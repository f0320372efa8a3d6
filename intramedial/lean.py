"""The short ASGI path of the JSON API.

Theory of operation
===================

Django's handler costs a JSON call several times what the call itself does: signals that hop between threads,
a body spooled to a file, a task that listens for the disconnect. None of it serves the API, so `/api/`, the
API's description, the health checks and the published keys are answered here, in one coroutine:

    path and method (404, 405) -> body (413) -> media type (415) -> who is asking (401, 403, 429)
        -> JSON (400) -> shape (422) -> the operation -> head and body in one piece

The operations are the ones registered with django-ninja (`intramedial.api`), and the shapes that check a
request are those of their signatures; ninja's own argument machinery and renderer are not on the way.

Every failure is a problem (RFC 9457). There are no CORS headers except on the published documents: pages of
other origins have no business with an API whose credentials are keys.
"""

import time

from intramedial import api, routes
from intramedial.calls import Call, Reply
from intramedial.problems import Problem
from intramedial.serving import (
    ClientGone,
    Message,
    Receive,
    Send,
    encoded,
    problem_reply,
    read_call,
    serve,
    unforeseen,
)
from intramedial.whole import KNOWN


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    await serve(scope, send, _answer(scope, receive))


async def _answer(scope: Message, receive: Receive) -> Reply:
    try:
        method, table = scope["method"], api.routes_by_path()
        if method == "OPTIONS" and scope["path"] in table:
            allow = routes.allowed(table[scope["path"]])
            return Reply(204, b"", ((b"allow", allow.encode()),), media_type=b"")
        route = routes.find(table, method, scope["path"])
        call = await read_call(scope, receive)
        if route.credentials is None:
            return await route.run(call)
        return await _run_for_caller(scope, route, call)
    except Problem as problem:
        return problem_reply(problem)
    except ClientGone:
        raise
    except Exception as error:
        return problem_reply(unforeseen(error))


async def _run_for_caller(scope: Message, route: routes.Route, call: Call) -> Reply:
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
