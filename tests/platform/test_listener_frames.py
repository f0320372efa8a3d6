"""Frames that nobody asked for: whatever they are and whoever sends them, a socket may send only so many."""

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
def strangers(bootstrapped: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server whose strangers have not failed yet."""
    with serving(bootstrapped, tmp_path / "data") as running:
        yield running


def closed_with(heard: bytes) -> list[int]:
    """The codes of the close frames among what was heard after the handshake (RFC 6455, 5.5.1)."""
    after = heard.partition(b"\r\n\r\n")[2]
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


SOON_S = 20.0  # on a machine that is busy with other work


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_a_tenants_socket_ends_it_soon(server: ServerProcess, flood: str) -> None:
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    begun = time.monotonic()
    for _ in range(50):
        client.send(FLOODS[flood])
    client.ends()
    assert time.monotonic() - begun < SOON_S
    assert set(closed_with(client.heard)) <= {1008, 4429}
    leased(server)


def test_who_is_over_the_limit_is_told_so(server: ServerProcess) -> None:
    """A client that reads gets the code, and has a second to close."""
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    for _ in range(60):
        client.send(frame(PING))
    assert client.ends() < SOON_S
    assert closed_with(client.heard) == [1008]
    assert b"too_many_frames" in client.heard


def test_a_client_with_ordinary_habits_stays(server: ServerProcess) -> None:
    """Forty frames at once, and five a second after that."""
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"101 Switching Protocols")
    for number in range(30):
        client.send(frame(PING, b"%d." % number))
    client.until(b"29.")
    time.sleep(1.5)  # the bucket fills by what a second brings
    for number in range(30, 40):
        client.send(frame(PING, b"%d." % number))
    client.until(b"39.")
    assert closed_with(client.heard) == []


def test_sockets_that_were_refused_are_not_listened_to(strangers: ServerProcess) -> None:
    """With an Origin, a cookie or a bad ticket: the code comes, and no frame is answered for long."""
    origin = PAGE % strangers.url.encode()
    for path, fields in (
        (board(strangers), origin),
        (board(strangers), origin + b"Cookie: a=b\r\n"),
        (board(strangers), b"Authorization: Bearer imk_nonsense\r\n"),
        (TRIAL, b"Sec-WebSocket-Protocol: ticket.none\r\n"),
    ):
        client = Client(strangers, handshake(path, fields))
        client.until(b"101 Switching Protocols")
        begun = time.monotonic()
        for _ in range(50):
            client.send(FLOODS["pings"])
        client.ends()
        assert time.monotonic() - begun < SOON_S
        assert client.heard.count(b"\x8a\x00") <= 200  # pongs
        assert set(closed_with(client.heard)) <= {4401, 1008}
    leased(strangers)


def test_a_page_hears_why_it_is_refused(strangers: ServerProcess) -> None:
    client = Client(strangers, handshake(board(strangers), PAGE % strangers.url.encode()))
    assert client.ends() < SOON_S
    assert closed_with(client.heard) == [4401]


def test_without_a_credential_there_is_no_socket(strangers: ServerProcess) -> None:
    for path in (board(strangers), TRIAL, "/ws/none/"):
        client = Client(strangers, handshake(path) + frame(PING) * 100)
        refused(client.answer(), 401, "unauthenticated")
        client.ends(5)


def test_handshakes_that_fail_have_a_rate(strangers: ServerProcess) -> None:
    statuses = []
    for _ in range(100):
        client = Client(strangers, handshake(board(strangers)))
        statuses.append(client.answer()[0])
        client.close()
    assert statuses[:20] == [401] * 20
    assert statuses.count(429) > 30
    client = Client(strangers, handshake(board(strangers)))
    answer = client.answer()
    refused(answer, 429, "rate_limited")
    assert int(answer[1]["retry-after"]) > 0
    leased(strangers)


def test_frames_ahead_of_the_answer_to_the_handshake_wait(server: ServerProcess) -> None:
    client = Client(server, handshake(board(server), bearer(server)) + frame(PING, b"early"))
    client.until(b"\x8a\x05early")
    assert client.heard.startswith(b"HTTP/1.1 101 ")


def test_a_text_that_is_no_utf8_ends_the_socket_without_a_traceback(server: ServerProcess) -> None:
    client = Client(server, handshake(board(server), bearer(server)))
    client.until(b"snapshot")
    client.send(frame(TEXT, b"\xff\xfe"))
    assert client.ends() < SOON_S
    assert closed_with(client.heard) == [1007]
    assert "Traceback" not in server.log
