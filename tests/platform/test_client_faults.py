"""Faults of clients are logged as one WARNING of each kind in ten seconds, without a traceback."""

import contextlib
import json
import logging
import socket
import struct
import time

import pytest
from django.core.exceptions import DisallowedHost
from django.http import UnreadablePostError
from uvicorn.protocols.utils import ClientDisconnected

from intramedial.server.client_faults import LONGEST, REST_S, ClientFaults

TRACEBACK = "Traceback"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def record(name, message, *args, error=None, level=logging.ERROR, **extra):
    exc_info = (type(error), error, None) if error else None
    return logging.getLogger(name).makeRecord(
        name, level, __file__, 1, message, args, exc_info, extra=extra or None
    )


HOST = "Invalid HTTP_HOST header: 'evil.example'. You may need to add 'evil.example' to ALLOWED_HOSTS."
FAULTS = {
    "foreign_host": ("django.security.DisallowedHost", HOST, DisallowedHost(HOST)),
    "refused_csrf": ("django.security.csrf", "Forbidden (CSRF cookie not set.): /acceso/", None),
    "refused_toomanyfieldssent": ("django.security.TooManyFieldsSent", "too many", ValueError("x")),
    "client_gone": ("uvicorn.error", "Exception in ASGI application\n", ClientDisconnected()),
    "bad_http": ("uvicorn.error", "Invalid HTTP request received.", None),
    "bad_frame": ("uvicorn.error", "Invalid UTF-8 sequence received from client.", ValueError("x")),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_one_line_of_a_kind_in_ten_seconds_with_the_number_of_dropped_lines(kind):
    clock = Clock()
    faults = ClientFaults(clock)
    name, message, error = FAULTS[kind]

    def written():
        made = record(name, message, error=error)
        return made if faults.filter(made) else None

    first = written()
    assert (first.levelname, first.exc_info, first.kind, first.leftOut) == ("WARNING", None, kind, 0)
    assert [written() for _ in range(500)] == [None] * 500
    clock.now += REST_S
    assert written().leftOut == 500
    clock.now += REST_S
    assert written().leftOut == 0


def test_kinds_do_not_hide_one_another():
    faults = ClientFaults(Clock())
    records = [record(name, message, error=error) for name, message, error in FAULTS.values()]
    assert all(faults.filter(one) for one in records)


@pytest.mark.parametrize("error", [ConnectionResetError(), BrokenPipeError(), UnreadablePostError()])
@pytest.mark.parametrize("name", ["uvicorn.error", "asyncio", "django.request", "mcp.server.streamable_http"])
def test_a_client_that_disconnects_is_no_error(name, error):
    for one in (error, ExceptionGroup("several", [error, ExceptionGroup("in it", [error])])):
        made = record(name, "Exception in ASGI application", error=one)
        assert ClientFaults(Clock()).filter(made)
        assert (made.levelname, made.kind, made.exc_info) == ("WARNING", "client_gone", None)


@pytest.mark.parametrize(
    "made",
    [
        record(
            "intramedial.http.serving", "a call failed in an unforeseen way", error=ConnectionResetError()
        ),
        record(
            "coordination.authority.outbox", "the ledger does not take receipts now", error=BrokenPipeError()
        ),
        record("uvicorn.error", "Exception in ASGI application\n", error=ValueError("a bug")),
        record("uvicorn.error", "x", error=ExceptionGroup("", [ConnectionResetError(), ValueError("a bug")])),
        record("django.request", "Internal Server Error: /", error=KeyError("a bug"), status_code=500),
    ],
)
def test_faults_of_the_service_stay_errors_with_tracebacks(made):
    faults = ClientFaults(Clock())
    for _ in range(3):
        assert faults.filter(made)
        assert made.levelname == "ERROR"
        assert made.exc_info


def test_a_line_of_the_service_that_names_its_kind_is_limited_and_not_changed():
    clock = Clock()
    faults = ClientFaults(clock)

    def refused(status):
        made = record("intramedial.listener", "refused", level=logging.WARNING, kind=f"refused_{status}")
        return made.kind if faults.filter(made) else None

    assert [refused(431) for _ in range(1000)] == ["refused_431", *[None] * 999]
    assert refused(413) == "refused_413"
    bug = record(
        "intramedial.server.bounded_parser", "parsing", error=ValueError("a bug"), kind="parsing failed"
    )
    assert faults.filter(bug)
    assert bug.exc_info
    assert (bug.levelname, bug.leftOut) == ("ERROR", 0)
    clock.now += REST_S
    again = record("intramedial.listener", "refused", level=logging.WARNING, kind="refused_431")
    assert faults.filter(again)
    assert again.leftOut == 999


def test_refused_pages_are_limited_and_long_messages_are_cut():
    faults = ClientFaults(Clock())
    made = record(
        "django.request", "%s: %s", "Not Found", "/" + "x" * 5000, level=logging.WARNING, status_code=404
    )
    assert faults.filter(made)
    assert made.kind == "refused_page"
    assert len(made.getMessage()) == LONGEST


# --- a server


def sent(server, data, *, reset=True):
    """Send bytes over a new connection and close it, by a reset or in the ordinary way."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(data)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.recv(1)


def head(line, host, *fields):
    return "\r\n".join([line, f"Host: {host}", *fields, "", ""]).encode()


def lines(server):
    return [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]


def wait_for(server, kind):
    deadline = time.monotonic() + 10
    while not any(line.get("kind") == kind for line in lines(server)):
        assert time.monotonic() < deadline, server.log
        time.sleep(0.02)


def test_malformed_frames_before_the_answer_to_the_handshake_are_no_error(live_server_process):
    """The clients have no credentials. The bytes race with the answer, so the test tries many times."""
    server = live_server_process()
    own = f"127.0.0.1:{server.port}"
    upgrade = (
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        *("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: intramedial"),
    )
    for path in ("/ws/prueba/", "/ws/espacios/x/", "/ws/nope/"):
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(head(f"GET {path} HTTP/1.1", own, *upgrade))
                with contextlib.suppress(OSError):
                    connection.sendall(b"\xff\xfe\xfd no frame")
                    connection.recv(4096)  # the answer to the handshake, if there is one
    assert server.ready()
    assert [line for line in lines(server) if line["level"] in ("error", "critical")] == []


def test_clients_without_credentials_cause_no_error_in_the_log(live_server_process):
    server = live_server_process()
    own = f"127.0.0.1:{server.port}"
    form = "Content-Type: application/x-www-form-urlencoded"
    upgrade = (
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        *("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Authorization: Bearer {server.secrets['apiKey']}"),
    )
    live = head(f"GET /ws/espacios/{server.secrets['workspace']}/ HTTP/1.1", own, *upgrade)
    for _ in range(5):
        sent(server, head("GET / HTTP/1.1", "evil.example"), reset=False)
        sent(server, head("GET /acceso/ HTTP/1.1", "a b"), reset=False)
        sent(server, head("GET / HTTP/1.1", own))
        sent(server, head("GET /static/dist/editor.js HTTP/1.1", own))
        sent(server, head("POST /acceso/ HTTP/1.1", own, form, "Content-Length: 5000") + b"a=")
        sent(server, head("POST /acceso/ HTTP/1.1", own, form, "Content-Length: 3") + b"a=1", reset=False)
        sent(server, head("POST /api/v1/acp/coordination/lease HTTP/1.1", own, "Content-Length: 50") + b"{")
        sent(server, head("POST /mcp HTTP/1.1", own, "Content-Length: 50") + b"{")
        sent(server, b"no HTTP\r\n\r\n", reset=False)
        sent(server, live)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(live)
            assert b" 101 " in connection.recv(4096)
            connection.sendall(b"\x81\x82\x00\x00\x00\x00\xff\xff")  # text that is not UTF-8
            while connection.recv(4096):
                pass
    for kind in ("foreign_host", "refused_csrf", "refused_400"):
        wait_for(server, kind)
    found = lines(server)
    assert [line for line in found if line["level"] in ("error", "critical")] == []
    assert TRACEBACK not in server.log
    kinds = [line["kind"] for line in found if "kind" in line]
    assert sorted(kinds) == sorted(set(kinds))
