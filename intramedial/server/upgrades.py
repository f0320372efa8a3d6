"""Requests that ask for another protocol (RFC 9110, 7.8).

One protocol is served: `websocket`, by GET and without a body. A request for any other one is served as if it
had no `Upgrade`. Java's HTTP client, for example, asks for `h2c` with the first request of each connection.
For the parser such a request ends with its head, and its body would be read as the next request. So the head
is parsed again without the fields that ask for the upgrade.
"""

import base64
import binascii

from intramedial.http.problems import Problem
from intramedial.server.refusals import refusal

Fields = list[tuple[bytes, bytes]]

HOP = (b"upgrade", b"http2-settings")
MAX_LINE = 8190
"""Bytes that a field of a handshake may have. The WebSocket library reads lines of at most 8 192."""

CREDENTIALS = (b"authorization", b"cookie", b"origin", b"sec-websocket-protocol")


def tokens(fields: Fields, wanted: bytes) -> list[bytes]:
    """The comma-separated words of every field named `wanted`, in lower case."""
    values = b",".join(value for name, value in fields if name == wanted)
    return [word for part in values.lower().split(b",") if (word := part.strip())]


def is_handshake(method: bytes, version: str, fields: Fields) -> bool:
    """Whether a request with an upgrade asks for a live socket."""
    return method == b"GET" and version == "1.1" and b"websocket" in tokens(fields, b"upgrade")


def plain_head(method: bytes, target: bytes, version: str, fields: Fields) -> bytes:
    """The head of a request without the fields that ask for an upgrade."""
    kept = [(name, value) for name, value in fields if name not in (*HOP, b"connection")]
    about = [word for word in tokens(fields, b"connection") if word not in HOP]
    if about:
        kept.append((b"connection", b", ".join(about)))
    return _head(method, target, version.encode(), kept)


def handshake_head(target: bytes, fields: Fields) -> bytes:
    """The head of a handshake for the WebSocket library: `websocket` is the only protocol that it names."""
    kept = [(name, value) for name, value in fields if name not in (*HOP, b"connection", b"content-length")]
    return _head(b"GET", target, b"1.1", [*kept, (b"connection", b"upgrade"), (b"upgrade", b"websocket")])


def _head(method: bytes, target: bytes, version: bytes, fields: Fields) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return b"%b %b HTTP/%b\r\n%b\r\n" % (method, target, version, lines)


def handshake_fault(target: bytes, fields: Fields) -> Problem | None:
    """Why a handshake is refused before its credentials are checked (RFC 6455, 4.2), or None."""
    if max(len(target), *(len(name) + len(value) for name, value in fields)) > MAX_LINE:
        return refusal(431, f"A field of a WebSocket handshake may have at most {MAX_LINE} bytes.")
    named: dict[bytes, list[bytes]] = {}
    for name, value in fields:
        named.setdefault(name, []).append(value.strip())
    if b"transfer-encoding" in named or set(named.get(b"content-length", ())) - {b"0"}:
        return refusal(400, "A WebSocket handshake has no body.")
    if named.get(b"sec-websocket-version") != [b"13"]:
        return refusal(426, "Only version 13 of the WebSocket protocol is spoken.", **VERSION)
    if not _is_key(named.get(b"sec-websocket-key", [])):
        return refusal(400, "Sec-WebSocket-Key must be 16 bytes in base64, once.")
    if not any(name in named for name in CREDENTIALS):
        # It could not be admitted. A browser always sends an Origin and gets a close code as the reason
        # instead.
        return refusal(401, "A live socket takes an API key, a session or a ticket.")
    return None


VERSION = {"sec_websocket_version": "13", "upgrade": "websocket", "connection": "upgrade, close"}


def _is_key(values: list[bytes]) -> bool:
    try:
        return len(values) == 1 and len(base64.b64decode(values[0], validate=True)) == 16
    except binascii.Error:
        return False
