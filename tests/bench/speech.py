"""The bytes on a connection: requests, and where an answer ends. HTTP/1.1 and RESP (Redis)."""

import base64
import json
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """`status`: b"200" for HTTP, the first byte for RESP."""

    status: bytes
    body: bytes


class Fault(Exception):
    """A server gave a wrong answer: nothing that was measured counts."""


def post(path: str, body: Any, *headers: str) -> bytes:
    """A POST of `body` as JSON on a kept connection."""
    return _request("POST", path, json.dumps(body, separators=(",", ":")).encode(), headers)


def get(path: str, *headers: str) -> bytes:
    """A GET on a kept connection."""
    return _request("GET", path, None, headers)


def _request(method: str, path: str, body: bytes | None, headers: tuple[str, ...]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def http_reply(data: bytes) -> Reply | None:
    """The answer in `data`, or None while it is incomplete. Raises Fault for an answer without a length."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = data[: end + 2]
    at = head.find(b"content-length: ")
    if at < 0:
        at = head.lower().find(b"content-length: ")
        if at < 0:
            raise Fault(f"an answer without a length: {head[:200]!r}")
    length = int(head[at + 16 : head.find(b"\r\n", at)])
    if len(data) < end + 4 + length:
        return None
    return Reply(data[9:12], data[end + 4 :])


def resp(*words: str) -> bytes:
    """A Redis command."""
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words]
    return b"".join(parts)


def resp_reply(data: bytes) -> Reply | None:
    """A one-line answer of Redis (+, -, :), or a bulk string."""
    if not data.endswith(b"\r\n"):
        return None
    if data[:1] == b"$" and data.count(b"\r\n") < 2 and data != b"$-1\r\n":
        return None
    return Reply(data[:1], data[1:-2])


def base64_text(text: str) -> str:
    """Text in the form of etcd's HTTP gateway."""
    return base64.b64encode(text.encode()).decode()
