"""Each client of a live socket may send a limited number of frames, of any kind."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.listening import (
    Client,
    bearer,
    board,
    frame,
    handshake,
    leased,
    refused,
    serving,
)
from tests.server import ServerProcess

CONTINUATION, TEXT, BINARY, PING, PONG = 0x0, 0x1, 0x2, 0x9, 0xA
TRIAL = "/ws/prueba/"
PAGE = b"Origin: %b\r\n"
FLOODS = {
    "pings": frame(PING) * 2000,
    "pings with a payload": frame(PING, b"x" * 100) * 500,
    "pongs": frame(PONG) * 2000,
    "texts": frame(TEXT) * 2000,
    "binaries": frame(BINARY) * 2000,
    "continuations": frame(TEXT, fin=False) + frame(CONTINUATION, fin=False) * 2000,
    "pings within a text": frame(TEXT, fin=False) + frame(PING) * 2000,
    "pings and pongs": (frame(PING) + frame(PONG)) * 1000,
}


@pytest.fixture(scope="module")
def server(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(bootstrapped, tmp_path_factory.mktemp("listener") / "data") as running:
        yield running


@pytest.fixture
def fresh_server(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server that has counted no failed handshakes."""
    with serving(bootstrapped, tmp_path / "data") as running:
        yield running


def closed_with(received: bytes) -> list[int]:
    """The codes of the close frames that were received after the handshake (RFC 6455, 5.5.1)."""
    after = received.partition(b"\r\n\r\n")[2]
    codes, at = [], 0
    while at + 2 <= len(after):
        opcode, length, at = after[at] & 0xF, after[at + 1] & 0x7F, at + 2
        if length == 126:
            length, at = int.from_bytes(after[at : at + 2]), at + 2
        elif length == 127:
            length, at = int.from_bytes(after[at : at + 8]), at + 8
        if opcode == 0x8:
            codes.append(int.from_bytes(after[at : at + 2]))
        at += length
    return codes


SOON_S = 20.0  # less, except on a busy machine


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_from_a_tenant_closes_its_socket_soon(server: ServerProcess, flood: str) -> None:
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    begun = time.monotonic()
    for _ in range(50):
        client.send(FLOODS[flood])
    client.ends()
    assert time.monotonic() - begun < SOON_S
    assert set(closed_with(client.received)) <= {1008, 4429}
    leased(server)


def test_a_client_over_the_limit_receives_the_reason(server: ServerProcess) -> None:
    """A client that reads receives the code, and has a second to close."""
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    for _ in range(60):
        client.send(frame(PING))
    assert client.ends() < SOON_S
    assert closed_with(client.received) == [1008]
    assert b"too_many_frames" in client.received


def test_a_client_that_sends_an_ordinary_number_of_frames_stays(server: ServerProcess) -> None:
    """It sends forty frames at once, and then five a second."""
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    for number in range(30):
        client.send(frame(PING, b"%d." % number))
    client.until(b"29.")
    time.sleep(1.5)  # the bucket fills again
    for number in range(30, 40):
        client.send(frame(PING, b"%d." % number))
    client.until(b"39.")
    assert closed_with(client.received) == []


def test_frames_on_refused_sockets_are_not_answered(fresh_server: ServerProcess) -> None:
    """With an Origin, a cookie or a bad ticket, the client receives the code, and few of its frames are
    answered."""
    origin = PAGE % fresh_server.url.encode()
    for path, fields in (
        (board(fresh_server), origin),
        (board(fresh_server), origin + b"Cookie: a=b\r\n"),
        (board(fresh_server), b"Authorization: Bearer imk_nonsense\r\n"),
        (TRIAL, b"Sec-WebSocket-Protocol: ticket.none\r\n"),
    ):
        client = Client(fresh_server, handshake(path, fields))
        client.until(b"101 Switching Protocols")
        begun = time.monotonic()
        for _ in range(50):
            client.send(FLOODS["pings"])
        client.ends()
        assert time.monotonic() - begun < SOON_S
        assert client.received.count(b"\x8a\x00") <= 200  # pongs
        assert set(closed_with(client.received)) <= {4401, 1008}
    leased(fresh_server)


def test_a_page_receives_the_reason_of_its_refusal(fresh_server: ServerProcess) -> None:
    client = Client(fresh_server, handshake(board(fresh_server), PAGE % fresh_server.url.encode()))
    assert client.ends() < SOON_S
    assert closed_with(client.received) == [4401]


def test_without_a_credential_there_is_no_socket(fresh_server: ServerProcess) -> None:
    for path in (board(fresh_server), TRIAL, "/ws/none/"):
        client = Client(fresh_server, handshake(path) + frame(PING) * 100)
        refused(client.answer(), 401, "unauthenticated")
        client.ends(5)


def test_failed_handshakes_have_a_rate_limit(fresh_server: ServerProcess) -> None:
    statuses = []
    for _ in range(100):
        client = Client(fresh_server, handshake(board(fresh_server)))
        statuses.append(client.answer()[0])
        client.close()
    assert statuses[:20] == [401] * 20
    assert statuses.count(429) > 30
    client = Client(fresh_server, handshake(board(fresh_server)))
    answer = client.answer()
    refused(answer, 429, "rate_limited")
    assert int(answer[1]["retry-after"]) > 0
    leased(fresh_server)


def test_frames_ahead_of_the_answer_to_the_handshake_wait(server: ServerProcess) -> None:
    client = Client(server, handshake(board(server), bearer(server)) + frame(PING, b"early"))
    client.until(b"\x8a\x05early")
    assert client.received.startswith(b"HTTP/1.1 101 ")


def test_text_that_is_not_utf8_ends_the_socket_without_a_traceback(server: ServerProcess) -> None:
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"snapshot")
    client.send(frame(TEXT, b"\xff\xfe"))
    assert client.ends() < SOON_S
    assert closed_with(client.received) == [1007]
    assert "Traceback" not in server.log
