"""`/mcp` and `/mcp/compat` as ASGI: what a request must pass before the SDK answers it.

    host (421) and origin (403) -> method (405) -> body (413) -> media type (415) -> API key (401)
        -> JSON and JSON-RPC (400) -> the SDK

A refusal here is a JSON-RPC error. Its `data` is the problem that REST would answer.
"""

from collections.abc import MutableMapping
from typing import Any

import orjson
from django.conf import settings
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from coordination.mcp import json_rpc, protocol
from intramedial.http import logs, origins
from intramedial.http.calls import Call, Principal, Reply, RequestParts, join_fields
from intramedial.http.problems import Problem, problem_body
from intramedial.http.serving import (
    KNOWN,
    ClientGone,
    Message,
    Receive,
    Send,
    begin,
    encoded,
    finish,
    read_call,
    unforeseen,
)
from intramedial.http.strict_json import MEDIA_TYPE
from intramedial.identity import signatures
from intramedial.workspaces.authentication import callers

PATHS = {"/mcp": False, "/mcp/": False, "/mcp/compat": True, "/mcp/compat/": True}
"""The paths, and whether tools are listed there by names without dots."""

VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
"""The versions of MCP that this service speaks, oldest first."""
VERSION_FIELD = "mcp-protocol-version"
ENVELOPE = b"io.modelcontextprotocol/protocolVersion"
SHOWN_VERSION = 40

USE_REST = (
    "MCP takes API keys, as `Authorization: Bearer imk_…`. Trials and agents that sign their requests use "
    "the REST API, described at /openapi.json."
)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    begun = begin()
    try:
        reply = await _answer(scope, receive)
    except ClientGone:
        return
    await finish(scope, send, reply, begun)


async def _answer(scope: Message, receive: Receive) -> Reply:
    try:
        call = await _admitted(scope, receive)
        _require_known_version(call.parts)
        return await _sdk_answer(scope, call, json_rpc.read(call.parts.body), receive)
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
    return await callers.authenticate(parts)


def _version(parts: RequestParts) -> str:
    """The version of the protocol that the request names, or "". The first of several fields counts."""
    return parts.headers.get(VERSION_FIELD, "").partition(",")[0].strip()


def _require_known_version(parts: RequestParts) -> None:
    """Raises Problem (400) for an unknown version of the protocol, of which the SDK would demand what only
    newer versions send. It leaves a body that names its version itself to the SDK, which answers with the
    known versions in the form that such clients read."""
    version = _version(parts)
    if version and version not in VERSIONS and ENVELOPE not in parts.body:
        problem = Problem(
            "invalid_request",
            f"MCP-Protocol-Version {version[:SHOWN_VERSION]!r} is not served. Leave the header out, or name "
            f"one of: {', '.join(VERSIONS)}.",
        )
        problem.status = 400
        raise problem


async def _sdk_answer(scope: Message, call: Call, message: json_rpc.ReadMessage, receive: Receive) -> Reply:
    """The SDK's answer as one status and one body: every answer is JSON, none is a stream."""
    manager = await protocol.sessions.start()
    inner = {
        **scope,
        "headers": _fields(call.parts, len(message.body)),
        protocol.CALL: call,
        protocol.FAULT: message.fault,
        protocol.COMPATIBLE: PATHS[scope["path"]],
    }
    start: Message = {}
    chunks: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            chunks.append(message.get("body", b""))

    await manager.handle_request(inner, _replay(message.body, receive), send)
    if not start:
        raise ClientGone
    fields = {bytes(name).lower(): bytes(value) for name, value in start.get("headers", ())}
    media_type = fields.pop(b"content-type", b"")
    fields.pop(b"content-length", None)
    return Reply(start["status"], b"".join(chunks), tuple(fields.items()), media_type)


def _fields(parts: RequestParts, length: int) -> list[tuple[bytes, bytes]]:
    """The header fields for the SDK, each in one line, because it reads only the first line of a field.

    A field without a value is left out. A request without `Accept` accepts any media type (RFC 9110, 12.5.1),
    which the SDK does not know. The media type was checked before and is replaced, because the SDK compares
    its case. `length`: bytes of the body for the SDK.
    """
    given = {**parts.headers, VERSION_FIELD: _version(parts)}
    fields = {name: value for name, value in given.items() if value}
    fields = {
        "accept": "application/json",
        **fields,
        "content-type": MEDIA_TYPE,
        "content-length": str(length),
    }
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body again, which was read already."""
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
