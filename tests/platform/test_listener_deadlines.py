"""Half heads, half bodies, half handshakes and unread answers end at a deadline. What is slow but goes on
does not. The limits are short here. `test_listener_sweep.py` tests that they are counted in sweeps."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.listening import (
    LEASE,
    Client,
    ask,
    bearer,
    board,
    frame,
    get,
    handshake,
    leased,
    post,
    refused,
    serving,
    small_window,
    sockets_of,
    unread,
    wait_for_sockets,
)
from tests.server import ServerProcess

HEAD_S, BODY_S, UNREAD_S = 2, 3, 3
LATE_S = 20.0
"""A connection may end so much later than its limit: after a sweep, a poll, and on a busy machine."""
SURELY_S = 2.5
"""After this time beyond a limit all its connections have ended, if the process runs."""


BESIDES = 3
"""Sockets of the process that are not connections: one listens, and two belong to the event loop."""


@pytest.fixture(scope="module")
def server(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    short = {"HEAD": HEAD_S, "BODY": BODY_S, "UNREAD": UNREAD_S}
    env = {f"INTRAMEDIAL_{name}_SECONDS": str(seconds) for name, seconds in short.items()}
    with serving(bootstrapped, tmp_path_factory.mktemp("listener") / "data", **env) as running:
        yield running


def test_silent_and_half_requests_end(server: ServerProcess) -> None:
    """All run at once, so that the test takes as long as one of them."""
    half = ask(server)
    begun = {
        "silent": Client(server),
        "half a line": Client(server, b"GET / HT"),
        "half a head": Client(server, half[:60]),
        "half a handshake": Client(server, handshake(board(server), bearer(server))[:-2]),
        "half a body": Client(server, half[:-5]),
        "half a page": Client(server, post("/acceso/", length=1000) + b"x"),
        "half a chunk": Client(server, post(LEASE, b"Transfer-Encoding: chunked\r\n") + b"5\r\nab"),
    }
    answered = {"silent": 0.0}
    started = time.monotonic()
    for name, client in begun.items():
        if name == "silent":
            client.ends()
            assert client.received == b""
        else:
            refused(client.answer(), 408, "invalid_request")
            client.ends()
        answered[name] = time.monotonic() - started
    assert HEAD_S - 0.5 <= answered["silent"] <= HEAD_S + LATE_S
    assert answered["half a chunk"] <= BODY_S + 2 + LATE_S  # a refused connection stays for 2 s
    leased(server)


def test_a_byte_now_and_then_does_not_extend_a_deadline(server: ServerProcess) -> None:
    for sent, limit in ((b"GET / HTTP/1.1\r\na: ", HEAD_S), (post("/acceso/", length=1000), BODY_S)):
        client = Client(server, sent)
        begun = time.monotonic()
        client.socket.settimeout(0.2)
        while b"408" not in client.received:
            assert time.monotonic() - begun < limit + LATE_S
            client.send(b"x")
            try:
                client.received += client.socket.recv(65536)
            except TimeoutError:
                continue
        assert time.monotonic() - begun >= limit - 0.5


def test_a_used_connection_has_a_deadline_for_its_next_head(server: ServerProcess) -> None:
    client = Client(server, get())
    assert client.answer()[0] == 200
    client.send(get()[:20])
    refused(client.answer(), 408, "invalid_request")


def test_a_connection_with_an_unread_answer_is_closed(server: ServerProcess) -> None:
    wait_for_sockets(server, BESIDES, LATE_S)
    for _ in range(5):
        unread(server, get("/openapi.json") * 50)
    leased(server)
    assert sockets_of(server) >= BESIDES + 5
    wait_for_sockets(server, BESIDES, UNREAD_S + LATE_S)


def test_an_answer_that_is_read_slowly_arrives_whole(server: ServerProcess) -> None:
    """It takes longer than the deadline of an unread answer."""
    count = 60
    stream = small_window(server)
    stream.settimeout(30)
    stream.sendall(get("/openapi.json") * (count - 1) + get("/openapi.json", b"Connection: close\r\n"))
    begun, received = time.monotonic(), b""
    while data := stream.recv(65536):
        received += data
        if time.monotonic() - begun < UNREAD_S + 3:
            time.sleep(0.05)
    assert received.count(b"HTTP/1.1 200 OK") == count
    assert time.monotonic() - begun > UNREAD_S


def test_a_live_socket_outlives_every_deadline(server: ServerProcess) -> None:
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching")
    ended = Client(server, get())
    ended.ends()  # the limit of idle connections is the longest but for bodies
    time.sleep(max(0.0, BODY_S + SURELY_S - HEAD_S))
    client.received = b""
    client.send(frame(0x9, b"alive"))
    client.until(b"\x8a\x05alive")


def test_data_that_arrived_while_the_process_was_stopped_are_read_first(server: ServerProcess) -> None:
    """The process is stopped for longer than any deadline, as when a laptop sleeps."""
    assert server.process is not None
    idle = [Client(server, get()) for _ in range(4)]
    assert [client.answer()[0] for client in idle] == [200] * 4
    request = ask(server)
    halves = [Client(server, request[:at]) for at in (5, 40, len(request) - 3)]
    live = Client(server, handshake(board(server), bearer(server)))
    live.until(b"101 Switching")
    leased(server)  # the server has read what was sent before
    server.process.send_signal(signal.SIGSTOP)
    try:
        for client in idle:
            client.send(get())
        for client, at in zip(halves, (5, 40, len(request) - 3), strict=True):
            client.send(request[at:])
        time.sleep(max(HEAD_S, BODY_S, 5) + SURELY_S)
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert [client.answer()[0] for client in (*idle, *halves)] == [200] * 7
    live.received = b""
    live.send(frame(0x9, b"alive"))
    live.until(b"\x8a\x05alive")


def test_the_server_ends_without_waiting_for_silent_clients(bootstrapped: Path, tmp_path: Path) -> None:
    with serving(bootstrapped, tmp_path / "data") as running:
        held = [Client(running), Client(running, b"GET / HT"), Client(running, b"nonsense\r\n\r\n")]
        held += [Client(running, handshake(board(running), b"Origin: http://127.0.0.1\r\n"))]
        unread(running, get("/openapi.json") * 50)
        leased(running)
        begun = time.monotonic()
        assert running.terminate() in (0, -signal.SIGTERM)
        assert time.monotonic() - begun < 30
