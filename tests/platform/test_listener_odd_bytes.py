"""Clients that half-close their connection, and bytes that are nearly HTTP, with a real server."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from intramedial.server.listener import PAGES_AT_ONCE
from tests.platform.listening import LEASE, Client, ask, get, leased, post, refused, serving, small_window
from tests.server import ServerProcess


@pytest.fixture(scope="module")
def server(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(bootstrapped, tmp_path_factory.mktemp("listener") / "data") as running:
        yield running


def half_closed(server: ServerProcess, *parts: bytes) -> Client:
    """A client that has sent its last byte and still reads."""
    client = Client(server, *parts)
    client.socket.shutdown(socket.SHUT_WR)
    return client


def test_a_client_that_half_closes_receives_every_answer(server: ServerProcess) -> None:
    """RFC 9112, 9.6. Then the server closes the connection at once, not when its idle time is over."""
    requests = [ask(server), get(), get("/no/such/page/"), ask(server, "release"), get("/openapi.json")]
    for several in (*([request] for request in requests), requests, requests * 20):
        client = half_closed(server, b"".join(several))
        statuses = [client.answer()[0] for _ in several]
        assert statuses == [200, 200, 404, 200, 200] * (len(several) // 5) or len(several) == 1
        assert client.ends() < 3
        assert client.received == b""


def test_a_client_that_half_closes_and_reads_late_receives_the_whole_answer(server: ServerProcess) -> None:
    stream = small_window(server)
    stream.sendall(get("/openapi.json") * 20 + get())
    stream.shutdown(socket.SHUT_WR)
    stream.settimeout(20)
    received = b""
    while data := stream.recv(4096):
        received += data
    assert received.count(b"HTTP/1.1 200") == 21


@pytest.mark.parametrize("sent", [b"", get()[:-2], b"\r\n"])
def test_a_client_that_half_closes_without_a_whole_request_is_closed(
    server: ServerProcess, sent: bytes
) -> None:
    assert half_closed(server, sent).ends() < 3


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"\r\n" * 20_000, 431, "too_large"),
        (b"\n" * 40_000, 431, "too_large"),
        (b"\r" * 40_000, 431, "too_large"),
        (post(LEASE, b"Content-Length: %b5\r\n" % (b"0" * 5000)) + b"hello", 400, "invalid_request"),
        (post("/", b"Content-Length: %b5\r\n" % (b"0" * 5000)) + b"hello", 400, "invalid_request"),
        (post(LEASE, b"Content-Length: %b5\r\n" % (b"0" * 40_000)) + b"hello", 431, "too_large"),
    ],
)
def test_bytes_that_are_nearly_http_are_refused_without_an_error_in_the_log(
    server: ServerProcess, sent: bytes, status: int, reason: str
) -> None:
    refused(Client(server, sent).answer(), status, reason)
    assert "Traceback" not in server.log
    leased(server)


def threads(server: ServerProcess) -> int:
    """How many threads the server's process has."""
    assert server.process is not None
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def test_few_pages_are_made_at_once_and_none_for_disconnected_clients(server: ServerProcess) -> None:
    """Each page has a thread, and hundreds of threads delay leases for seconds."""
    assert Client(server, get("/acceso/entrar/")).answer()[0]
    before, most = threads(server), 0
    reset = struct.pack("ii", 1, 0)
    for number in range(600):
        client = Client(server, get("/"))
        if number % 4:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            client.close()
        if number % 10 == 0:
            most = max(most, threads(server))
    assert most <= before + 2 * PAGES_AT_ONCE
    leased(server)
    assert Client(server, get("/")).answer()[0] == 200


def test_a_page_that_is_read_slowly_delays_no_other_page(server: ServerProcess) -> None:
    streams = [small_window(server) for _ in range(2 * PAGES_AT_ONCE)]
    for stream in streams:
        stream.sendall(get("/") * 50)
    for _ in range(10):
        assert Client(server, get("/")).answer()[0] == 200


def test_a_body_has_a_limit_of_chunks(server: ServerProcess) -> None:
    """Without it, a page's body could have 262 144 chunks of one byte. 16 384 such chunks are accepted."""
    chunked = b"Transfer-Encoding: chunked\r\n"
    refused(Client(server, post("/", chunked) + b"1\r\nx\r\n" * 16_386).answer(), 413, "too_large")
    for path, status in (("/", 403), (LEASE, 401)):
        body = b"1\r\nx\r\n" * 16_384 + b"0\r\n\r\n"
        fields = chunked + b"Content-Type: application/json\r\n"
        assert Client(server, post(path, fields) + body).answer()[0] == status
    leased(server)
