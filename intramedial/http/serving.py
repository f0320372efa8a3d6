"""How a request of the short path is read and answered.

The short path and MCP call `begin`, read the request with `read_call`, make a `Reply`, and send it with
`finish`. Every failure becomes a `Problem`. An unforeseen one is logged with its traceback and becomes
`authority_unavailable`: the caller knows as little about the outcome as when storage fails, and asking again
is right in both cases.
"""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.db import Error as DatabaseError

from intramedial.http import logs, security
from intramedial.http.calls import Call, Headers, Reply, RequestParts, join_fields
from intramedial.http.problems import Problem, problem_body
from intramedial.http.strict_json import require_json

WHOLE = "intramedial.whole"
"""An ASGI extension of this service's server, and its message: `{"type": WHOLE, "status", "head", "body"}` is
a whole answer. `head` is header fields as bytes, each with its CRLF, with `content-length` and without
`connection`. Behind any other server the extension is missing, and the application answers with ordinary
messages."""

KNOWN = "intramedial.known"
"""The application sets this key of the scope when the caller's credentials were valid. The listener closes
such a connection last when there are too many."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Begun = tuple[str, float]
"""A request's id and the monotonic instant of its start."""

PROBLEM = b"application/problem+json"
LOGGED_PATH = 200
"""Characters of a path that are logged."""
PRINTABLE = re.compile(rb"[\x20-\x7e]*")

logger = logging.getLogger(__name__)
access = logs.AccessLog()


class ClientGone(Exception):
    """The connection was closed before the request was read."""


def begin() -> Begun:
    """Give a request its id and note when it began."""
    identifier = logs.new_request_id()
    logs.request_id.set(identifier)
    return identifier, time.monotonic()


async def finish(scope: Message, send: Send, reply: Reply, begun: Begun) -> None:
    """Send the answer to a request, and log one line for it."""
    identifier, started = begun
    ms = (time.monotonic() - started) * 1000
    await _send(scope, send, reply, identifier, ms)
    access.add(identifier, scope["method"], scope["path"][:LOGGED_PATH], reply.status, ms)


async def read_call(scope: Message, receive: Receive) -> Call:
    """The request with its whole body. Raises Problem for a body that is too large (413) or not JSON (415),
    and ClientGone."""
    method = scope["method"]
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
    """The whole body. A body that turns out too large is not read further."""
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


def unforeseen(error: Exception) -> Problem:
    """Log an unforeseen failure, and return its problem."""
    if isinstance(error, DatabaseError):
        logger.error("a database failed: %s", error)
    else:
        logger.error("a call failed in an unforeseen way", exc_info=error)
    return Problem(
        "authority_unavailable",
        "The service could not answer; whether it did what was asked is not known. Ask again.",
        headers={"retry-after": "1"},
    )


def problem_reply(problem: Problem) -> Reply:
    """A problem as an answer (RFC 9457)."""
    body = orjson.dumps(problem_body(problem, logs.request_id.get()))
    return Reply(problem.status, body, encoded(problem.headers), PROBLEM)


def encoded(fields: Mapping[str, str]) -> Headers:
    """Header fields as ASGI has them: pairs of bytes with lower-case names."""
    return tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items())


@lru_cache(maxsize=512)
def _fields(own: Headers, media_type: bytes, public: bool) -> tuple[Headers, bytes | None]:
    """The header fields that answers of one kind share, and the same as bytes of a head. The bytes are None
    if the server has to check the fields: one is about the connection, or holds a byte that is not printable
    ASCII."""
    # An answer of the API loads nothing and is shown in no frame.
    policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    fields = [*own, *encoded(security.headers() | policy)]
    if media_type:
        fields.append((b"content-type", media_type))
    if not public:
        fields.append((b"cache-control", b"no-store"))
    plain = all(PRINTABLE.fullmatch(name + value) and name != b"connection" for name, value in fields)
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return tuple(fields), lines if plain and media_type else None


async def _send(scope: Message, send: Send, reply: Reply, identifier: str, ms: float) -> None:
    fields, lines = _fields(reply.headers, reply.media_type, reply.public)
    whole = lines is not None and reply.lines is None and scope["method"] != "HEAD"
    if whole and WHOLE in scope.get("extensions", ()):
        head = b"x-request-id: %b\r\nserver-timing: app;dur=%.2f\r\n%bcontent-length: %d\r\n"
        head %= (identifier.encode(), ms, lines, len(reply.body))
        await send({"type": WHOLE, "status": reply.status, "head": head, "body": reply.body})
        return
    headers = [(b"x-request-id", identifier.encode()), (b"server-timing", b"app;dur=%.2f" % ms), *fields]
    if reply.media_type and reply.lines is None:
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.lines is not None:
        async for line in reply.lines:
            await send({"type": "http.response.body", "body": line, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})
