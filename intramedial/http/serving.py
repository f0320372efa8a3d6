"""What all that is answered beside Django's handler has in common: how a request is read, how it is answered.

A shell gives `serve` a coroutine that makes the `Reply`; it reads what it is asked with `read_call`. Every
failure becomes a `Problem`; one that nobody foresaw is logged with its traceback and becomes
`authority_unavailable`: the caller knows as little about the outcome as when storage fails, and asking again
is right in both cases.
"""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.db import Error as DatabaseError

from intramedial.http import logs, security
from intramedial.http.access_log import AccessLog
from intramedial.http.calls import Call, Headers, Reply
from intramedial.http.extensions import WHOLE
from intramedial.http.media import require_json
from intramedial.http.problems import Problem, problem_body
from intramedial.http.requests import RequestParts, join_fields

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PROBLEM = b"application/problem+json"
LOGGED_PATH = 200
SEEN = re.compile(rb"[\x20-\x7e]*")

logger = logging.getLogger(__name__)
access = AccessLog()


class ClientGone(Exception):
    """The connection was closed before the request was read."""


async def serve(scope: Message, send: Send, answer: Coroutine[Any, Any, Reply]) -> None:
    """Answer one HTTP request with what `answer` gives, and log one line for it."""
    started = time.monotonic()
    identifier = logs.new_request_id()
    logs.request_id.set(identifier)
    try:
        reply = await answer
    except ClientGone:
        return
    ms = (time.monotonic() - started) * 1000
    await _send(scope, send, reply, identifier, ms)
    access.add(identifier, scope["method"], scope["path"][:LOGGED_PATH], reply.status, ms)


async def read_call(scope: Message, receive: Receive) -> Call:
    """The request with its whole body. Problem for one that is too large (413) or not JSON (415)."""
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


def unforeseen(error: Exception) -> Problem:
    """The problem of a failure that nobody foresaw, which is logged."""
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
    """A problem as it is answered (RFC 9457)."""
    body = orjson.dumps(problem_body(problem, logs.request_id.get()))
    return Reply(problem.status, body, encoded(problem.headers), PROBLEM)


def encoded(fields: Mapping[str, str]) -> Headers:
    """Header fields as the server takes them."""
    return tuple((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items())


@lru_cache(maxsize=512)
def _fields(own: Headers, media_type: bytes, public: bool) -> tuple[Headers, bytes | None]:
    """The fields that alike answers have alike, and those as they are written: None when they are not to be
    written unseen, since they say something of the connection or could be taken for more than they are."""
    # What is not a page loads nothing and is shown in no frame.
    policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    fields = [*own, *encoded(security.headers() | policy)]
    if media_type:
        fields.append((b"content-type", media_type))
    if not public:
        fields.append((b"cache-control", b"no-store"))
    plain = all(SEEN.fullmatch(name + value) and name != b"connection" for name, value in fields)
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return tuple(fields), lines if plain and media_type else None


async def _send(scope: Message, send: Send, reply: Reply, identifier: str, ms: float) -> None:
    fields, lines = _fields(reply.headers, reply.media_type, reply.public)
    unseen = lines is not None and reply.lines is None and scope["method"] != "HEAD"
    if unseen and WHOLE in scope.get("extensions", ()):
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
