"""`/mcp` and `/mcp/compat`: who is let in, before the protocol is spoken.

    host (421) and origin (403) -> method (405) -> body (413) -> media type (415) -> whose key (401)
        -> JSON and JSON-RPC (400) -> the SDK

What is refused here is answered as JSON-RPC errors, whose `data` is the problem that REST would answer.
"""

from collections.abc import MutableMapping
from typing import Any

import orjson
from django.conf import settings
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

from coordination.mcp import protocol
from intramedial import logs, origins
from intramedial.calls import Call, Reply
from intramedial.identity import auth, signatures
from intramedial.identity.principal import Principal
from intramedial.identity.requests import RequestParts, join_fields
from intramedial.problems import Problem, problem_body
from intramedial.serving import (
    ClientGone,
    Message,
    Receive,
    Send,
    encoded,
    read_call,
    serve,
    unforeseen,
)
from intramedial.strict_json import MalformedJson, parse
from intramedial.whole import KNOWN

PATHS = {"/mcp": False, "/mcp/": False, "/mcp/compat": True, "/mcp/compat/": True}
"""What is served here, and whether its tools are listed by names without dots."""

USE_REST = (
    "MCP takes API keys, as `Authorization: Bearer imk_…`. Trials and agents that sign their requests use "
    "the REST API, described at /openapi.json."
)
NOT_JSON_RPC = (
    "The body must be one JSON-RPC 2.0 message, such as "
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}; an id is a whole number or a text, '
    "and several messages at once are not taken."
)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    await serve(scope, send, _answer(scope, receive))


async def _answer(scope: Message, receive: Receive) -> Reply:
    try:
        call = await _admitted(scope, receive)
        return await _spoken(scope, call, receive)
    except Problem as problem:
        return _refusal(problem)
    except ClientGone:
        raise
    except Exception as error:
        return _refusal(unforeseen(error))


async def _admitted(scope: Message, receive: Receive) -> Call:
    headers = join_fields(scope["headers"])
    origins.require_host(headers)
    origins.require_same_origin(headers)
    if scope["method"] != "POST":
        raise _only_post()
    call = await read_call(scope, receive)
    call.principal = await _caller(call.parts)
    scope[KNOWN] = True
    _require_json_rpc(call.parts.body)
    return call


def _only_post() -> Problem:
    problem = Problem(
        "not_found",
        "Only POST is answered: there are no sessions to end and no streams to open. "
        f"How to connect a client: {settings.BASE_URL}/docs/mcp/",
        headers={"allow": "POST"},
    )
    problem.status, problem.title = 405, "Method not allowed"
    return problem


async def _caller(parts: RequestParts) -> Principal:
    if signatures.is_signed(parts) or "authorization" not in parts.headers:
        raise Problem("unauthenticated", USE_REST)
    return await auth.authenticate(parts)


def _require_json_rpc(body: bytes) -> None:
    try:
        message = parse(body, settings.JSON_DEPTH)
    except MalformedJson as error:
        raise Problem("malformed_json", str(error)) from None
    if not (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and type(message.get("id", "")) in (int, str)
    ):
        problem = Problem("invalid_request", NOT_JSON_RPC)
        problem.status = 400
        raise problem


async def _spoken(scope: Message, call: Call, receive: Receive) -> Reply:
    """The SDK's answer: one status and one body, since every answer is JSON and not a stream."""
    manager = await protocol.sessions.start()
    inner = {
        **scope,
        # RFC 9110, 5.5: white space around a value is no part of it. Some servers leave it there.
        "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]],
        protocol.CALL: call,
        protocol.COMPATIBLE: PATHS[scope["path"]],
    }
    start: Message = {}
    chunks: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            chunks.append(message.get("body", b""))

    await manager.handle_request(inner, _replay(call.parts.body, receive), send)
    if not start:
        raise ClientGone
    fields = {bytes(name).lower(): bytes(value) for name, value in start.get("headers", ())}
    media_type = fields.pop(b"content-type", b"")
    fields.pop(b"content-length", None)
    return Reply(start["status"], b"".join(chunks), tuple(fields.items()), media_type)


def _replay(body: bytes, receive: Receive) -> Receive:
    """`receive` as it was before the body was read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _refusal(problem: Problem) -> Reply:
    if problem.reason == "malformed_json":
        code = PARSE_ERROR
    else:
        code = INTERNAL_ERROR if problem.status >= 500 else INVALID_REQUEST
    data = problem_body(problem, logs.request_id.get())
    error: dict[str, Any] = {"code": code, "message": problem.detail, "data": data}
    body = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return Reply(problem.status, body, encoded(problem.headers))
