"""Answers in one piece or in parts: none is lost, and all come in order."""

import asyncio
import json
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from intramedial.http.calls import JSON, Reply
from intramedial.http.serving import WHOLE, begin, finish
from intramedial.server.protocol import Protocol
from tests.server import ServerProcess

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Transport:
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.append("close")

    def is_closing(self) -> bool:
        return "close" in self.written

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


async def test_nothing_is_written_to_a_closed_connection() -> None:
    """uvloop refuses writes between `abort` and `connection_lost`."""
    own = Transport()
    protocol = _protocol(own)
    protocol.data_received(b"GET /api/v1/x HTTP/1.1\r\nHost: x\r\n\r\n")
    own.close()
    await asyncio.sleep(0)
    assert own.written == ["close"]
    assert protocol.cycle.disconnected
    protocol.connection_lost(None)


async def _ok(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": WHOLE, "status": 200, "head": b"content-length: 2\r\n", "body": b"ok"})


def _protocol(own: Any) -> Protocol:
    """A connection on this transport to a server that answers `ok`."""
    config = uvicorn.Config(_ok, log_config=None, timeout_keep_alive=0)
    config.load()
    protocol = Protocol(config, ServerState(), {})
    protocol.connection_made(own)
    return protocol


async def test_only_an_idle_connection_is_closed() -> None:
    """A connection that waits for the rest of a request stays open."""
    own = Transport()
    protocol = _protocol(own)
    request = b"POST /api/v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
    protocol.data_received(request)
    await asyncio.sleep(0)
    protocol.data_received(request[:-1])
    protocol.listener.expire(protocol.listener.sweep())
    assert own.written == [ANSWER]
    protocol.data_received(request[-1:])
    protocol.listener.expire(protocol.listener.sweep())
    await asyncio.sleep(0)
    assert own.written == [ANSWER, ANSWER]
    protocol.listener.expire(protocol.listener.sweep())
    assert own.written == [ANSWER, ANSWER, "close"]
    protocol.connection_lost(None)


@pytest.fixture
def server(shared_server: ServerProcess) -> ServerProcess:
    """The shared server, on which `lock:a` is free."""
    with socket.create_connection(("127.0.0.1", shared_server.port), 10) as connection:
        connection.sendall(_lease(shared_server, "release"))
        assert _answers(connection, 1)[0][0] in (200, 409)
    return shared_server


def test_a_request_that_arrives_when_the_server_ends_is_answered(
    live_server_process: Callable[..., ServerProcess],
) -> None:
    server = live_server_process()
    assert server.process is not None
    request = _lease(server, "lease")
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(request[:-5])
        assert server.ready()  # the server has read what was sent before
        server.process.terminate()
        with pytest.raises(OSError):
            while True:
                socket.create_connection(("127.0.0.1", server.port), 1).close()
        connection.sendall(request[-5:])
        assert _answers(connection, 1)[0][0] == 200
        assert connection.recv(1) == b""
    assert server.process.wait(20) in (0, -signal.SIGTERM)


def test_requests_sent_together_are_answered_in_order(
    server: ServerProcess,
) -> None:
    """HTTP/1.1 pipelining, RFC 9112, 9.3.2."""
    paths = ["/health/live", "/api/v1/nothing", "/openapi.json", "/health/live"]
    lines = "".join(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" for path in paths[:-1])
    lines += f"GET {paths[-1]} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(lines.encode())
        received = b""
        while data := connection.recv(65536):
            received += data
    statuses = [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 404, 200, 200]


async def _sent(reply: Reply, method: str, whole: bool) -> tuple[str, int, list[tuple[str, str]], bytes]:
    """Send a reply; returns whole or parts, the status, the fields and the body."""
    messages: list[Any] = []

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == WHOLE:
            lines = message["head"].removesuffix(b"\r\n").split(b"\r\n")
            message["headers"] = [tuple(line.split(b": ", 1)) for line in lines]
        messages.append(message)

    scope: dict[str, Any] = {"type": "http", "method": method, "path": "/health/live"}
    if whole:
        scope["extensions"] = {WHOLE: {}}
    await finish(scope, send, reply, begin())
    fields = sorted(
        (name.decode(), value.decode("latin-1"))
        for name, value in messages[0]["headers"]
        if name not in (b"x-request-id", b"server-timing")
    )
    way = "whole" if messages[0]["type"] == WHOLE else "parts"
    return way, messages[0]["status"], fields, messages[-1]["body"]


@pytest.mark.parametrize(
    ("reply", "method", "way"),
    [
        (Reply(200, b"{}"), "POST", "whole"),
        (Reply(409, b'{"ok":false}', ((b"retry-after", b"1"),)), "POST", "whole"),
        (Reply(200, b"", media_type=JSON, public=True), "GET", "whole"),
        (Reply(200, b"{}"), "HEAD", "parts"),
        (Reply(204, b"", ((b"allow", b"GET"),), media_type=b""), "OPTIONS", "parts"),
        (Reply(413, b"{}", ((b"connection", b"close"),)), "POST", "parts"),
        (Reply(200, b"{}", ((b"x-name", b"a\r\nset-cookie: b=c"),)), "GET", "parts"),
    ],
)
async def test_an_answer_in_one_piece_equals_one_in_parts(reply: Reply, method: str, way: str) -> None:
    """A reply that could end a head early, or the connection, is sent in parts for the server to check."""
    found, *sent = await _sent(reply, method, whole=True)
    assert found == way
    assert tuple(sent) == (await _sent(reply, method, whole=False))[1:]


def test_the_last_answer_of_a_connection_has_connection_close(server: ServerProcess) -> None:
    """HTTP/1.0 and `Connection: close` (RFC 9112, 9.6). Later requests are not answered."""
    for head in ("GET /health/live HTTP/1.0\r\n", "GET /health/live HTTP/1.1\r\nConnection: close\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
            connection.sendall(f"{head}Host: 127.0.0.1\r\n\r\n".encode())
            received = b""
            while data := connection.recv(65536):
                received += data
        assert received.count(b"HTTP/1.1 200 OK\r\n") == 1
        assert received.count(b"connection: close\r\n") == 1
        assert received.count(b"\r\ndate: ") == 1


def _lease(server: ServerProcess, verb: str, *fields: str, body: bytes | None = None) -> bytes:
    """A request with a key, head and body."""
    body = json.dumps({"resource": "lock:a", "actorDid": "did:example:a"}).encode() if body is None else body
    length = (
        () if any(field.startswith("Transfer") for field in fields) else (f"Content-Length: {len(body)}",)
    )
    lines = [
        f"POST /api/v1/acp/coordination/{verb} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {server.secrets['apiKey']}",
        "Content-Type: application/json",
        *length,
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _answers(connection: socket.socket, answers: int) -> list[tuple[int, Any]]:
    """The next `answers` answers as (status, body). The body of an interim answer is None."""
    received: list[tuple[int, Any]] = []
    with connection.makefile("rb") as stream:
        while len(received) < answers:
            status = int(stream.readline().split()[1])
            length = 0
            while (line := stream.readline()) != b"\r\n":
                name, _, value = line.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
            received.append((status, json.loads(stream.read(length)) if length else None))
    return received


def test_a_request_may_come_in_pieces_or_in_a_row(server: ServerProcess) -> None:
    """TCP may divide a request anywhere. Requests sent together are decided and answered in order."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in _lease(server, "lease"):
            connection.sendall(bytes([byte]))
        [(status, granted)] = _answers(connection, 1)
        assert (status, granted["lease"]["renewed"]) == (200, False)
        verbs = ["lease", "release", "lease", "release", "release"]
        connection.sendall(b"".join(_lease(server, verb) for verb in verbs))
        answers = _answers(connection, len(verbs))
    assert [status for status, _ in answers] == [200, 200, 200, 200, 409]
    assert answers[0][1]["lease"]["renewed"] and not answers[2][1]["lease"]["renewed"]


def test_other_ways_to_send_a_body(server: ServerProcess) -> None:
    """In chunks (RFC 9112, 7.1), after `100 Continue` (RFC 9110, 10.1.1), and too large before a request."""
    whole = _lease(server, "lease").partition(b"\r\n\r\n")[2]
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (10, whole[:10], len(whole) - 10, whole[10:])
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(_lease(server, "lease", "Transfer-Encoding: chunked", body=chunks))
        assert _answers(connection, 1)[0][0] == 200
        head, _, body = _lease(server, "lease", "Expect: 100-continue").partition(b"\r\n\r\n")
        connection.sendall(head + b"\r\n\r\n")
        assert _answers(connection, 1) == [(100, None)]
        connection.sendall(body)
        assert _answers(connection, 1)[0][0] == 200
        connection.sendall(_lease(server, "lease", body=b"x" * 16_385) + _lease(server, "release"))
        [(status, problem)] = _answers(connection, 1)
        assert (status, problem["reason"]) == (413, "too_large")
        assert connection.recv(1) == b""


def test_an_incomplete_request_is_not_decided(
    server: ServerProcess,
) -> None:
    written = len(server.log)
    for sent in (-1, 200, 5):
        with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
            connection.sendall(_lease(server, "lease")[:sent])
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(_lease(server, "release"))
        [(status, refused)] = _answers(connection, 1)
    assert (status, refused["reason"]) == (409, "not_held")
    assert '"level":"error"' not in server.log[written:]
