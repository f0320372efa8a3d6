"""A real server refuses heads, bodies and upgrades over a limit, and still serves a tenant."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.listening import (
    HOST,
    LEASE,
    Client,
    ask,
    bearer,
    board,
    get,
    handshake,
    leased,
    post,
    refused,
    serving,
)
from tests.server import ServerProcess

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
PAGES = ["/", "/acceso/", "/admin/login/", "/no/such/page/"]
API = [LEASE, "/api/none", "/mcp", "/mcp/compat", "/health/live"]


@pytest.fixture(scope="module")
def server(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(bootstrapped, tmp_path_factory.mktemp("listener") / "data") as running:
        yield running


def chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000, 431, "too_large"),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 100_000, 431, "too_large"),
        (b"GET / HTTP/1.1\r\n" + b"a" * 100_000, 431, "too_large"),
        (get(fields=b"a: b\r\n" * 100), 431, "too_large"),
        (get(fields=b"a: %b\r\n" % (b"b" * 33_000)), 431, "too_large"),
        (b"GET /" + b"a" * 100_000, 414, "too_large"),
        (b"GET /?" + b"a" * 40_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "too_large"),
        (post(LEASE, CHUNKED) + b"1;" + b"a" * 100_000, 413, "too_large"),
        (post(LEASE, CHUNKED) + chunk(b"{", b";" + b"a" * 50) * 2000, 413, "too_large"),
        (post(LEASE, CHUNKED) + b"0" * 100_000, 413, "too_large"),
        (post(LEASE, CHUNKED) + b"0\r\n" + b"a: b\r\n" * 20_000, 413, "too_large"),
        (post(LEASE, CHUNKED) + b"0\r\na: " + b"b" * 100_000, 413, "too_large"),
        (b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 501, "not_found"),
        (post(LEASE, b"Transfer-Encoding: gzip, chunked\r\n") + b"0\r\n\r\n", 501, "not_found"),
        (post(LEASE, CHUNKED, 5) + b"0\r\n\r\n", 400, "invalid_request"),
        (post(LEASE, b"Content-Length: 4\r\n", 5) + b"abcde", 400, "invalid_request"),
        (post(LEASE, b"Content-Length: +4\r\n") + b"abcd", 400, "invalid_request"),
        (get(fields=b"a: b\r\n c\r\n"), 400, "invalid_request"),
        (get().replace(b"\r\n", b"\n"), 400, "invalid_request"),
        (get(fields=b"a : b\r\n"), 400, "invalid_request"),
        (b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid_request"),
        (b"GET http://[::1 HTTP/1.1\r\n" + HOST + b"\r\n", 400, "invalid_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "invalid_request"),
    ],
)
def test_requests_over_a_limit_and_bytes_without_http_are_refused(
    server: ServerProcess, sent: bytes, status: int, reason: str
) -> None:
    """The answer arrives although the client is still sending. Then the connection ends."""
    client = Client(server, sent)
    refused(client.answer(), status, reason)
    client.ends(5)
    leased(server)


def test_requests_within_the_limits_are_served(server: ServerProcess) -> None:
    client = Client(server)
    for request in (
        get(fields=b"a: b\r\n" * 99),
        get(fields=b"a: %b\r\n" % (b"b" * 32_000)),
        get("/llms.txt?" + "a" * 30_000),
        b"\r\n\r\n" + get(),
        b"GET http://127.0.0.1/health/live HTTP/1.1\r\n" + HOST + b"\r\n",
    ):
        client.send(request)
        assert client.answer()[0] == 200


def test_trailers_are_not_fields_of_the_request(server: ServerProcess) -> None:
    """RFC 9110, 6.5.1. A credential in trailers is ignored, and trailers do not reach the next request."""
    body = json.dumps({"resource": "lock:t", "actorDid": "did:example:a"}).encode()
    for fields, status in ((bearer(server), 200), (b"Content-Type: application/json\r\n", 401)):
        trailers = b"0\r\n" + bearer(server) + b"Host: example.com\r\n\r\n"
        client = Client(server, post(LEASE, fields + CHUNKED) + chunk(body) + trailers)
        assert client.answer()[0] == status
        client.send(ask(server))
        assert client.answer()[0] == 200


def test_a_body_in_any_parts_is_one_request(server: ServerProcess) -> None:
    """The body has empty lines in a chunk and a trailer, and the client sends it in pieces of each size."""
    body = json.dumps({"resource": "lock:c", "actorDid": "did:example:a"}).encode() + b"\r\n\r\n\r\n"
    whole = post(LEASE, bearer(server) + CHUNKED) + chunk(body[:30]) + chunk(body[30:], b";a=b")
    whole += b"0\r\nx: y\r\n\r\n"
    following = get()
    client = Client(server)
    for size in (1, 2, 3, 7, 4096):
        both = whole + following
        client.send(*(both[at : at + size] for at in range(0, len(both), size)))
        assert client.answer()[0] == 200
        assert client.answer()[0] == 200


@pytest.mark.parametrize("path", PAGES + API)
@pytest.mark.parametrize("expects", [b"", b"Expect: 100-continue\r\n"])
def test_a_large_body_is_refused_by_its_declared_length(
    server: ServerProcess, path: str, expects: bytes
) -> None:
    limit = 262_144 if path in PAGES else 16_384
    client = Client(server, post(path, expects, limit + 1))
    answer = client.answer()
    refused(answer, 413, "too_large")
    assert answer[2]["detail"] == f"The body may have at most {limit} bytes."
    client.ends(5)


@pytest.mark.parametrize("path", PAGES + API)
def test_a_large_body_is_refused_while_it_arrives(server: ServerProcess, path: str) -> None:
    limit = 262_144 if path in PAGES else 16_384
    client = Client(server, post(path, CHUNKED), *[chunk(b"x" * 4096)] * (limit // 4096), chunk(b"x"))
    refused(client.answer(), 413, "too_large")
    client.ends(5)
    leased(server)


def test_a_body_at_the_limit_reaches_the_application(server: ServerProcess) -> None:
    for path, limit in (("/acceso/", 262_144), (LEASE, 16_384)):
        client = Client(server, post(path, b"Content-Type: application/json\r\n", limit) + b"x" * limit)
        assert client.answer()[0] in (401, 403)


def test_a_client_that_expects_100_continue_receives_it(server: ServerProcess) -> None:
    request = ask(server, fields=b"Expect: 100-continue\r\n")
    head, _, body = request.partition(b"\r\n\r\n")
    client = Client(server, head + b"\r\n\r\n")
    assert client.answer()[0] == 100
    client.send(body)
    assert client.answer()[0] == 200


# --- upgrades -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        H2C,
        H2C.replace(b"h2c", b"h2c, websocket"),
        b"Connection: upgrade\r\nUpgrade: TLS/1.3\r\n",
        b"Connection: keep-alive, Upgrade\r\nUpgrade: foo/2\r\n",
        b"Connection: upgrade\r\nConnection: keep-alive\r\nUpgrade: a\r\nUpgrade: b\r\n",
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
        b"Connection: upgrade\r\nUpgrade: \r\n",
        b"Upgrade: h2c\r\n",
    ],
)
def test_an_upgrade_that_is_not_served_is_ignored(server: ServerProcess, fields: bytes) -> None:
    """RFC 9110, 7.8. The request keeps its body, and the connection continues as HTTP/1.1."""
    client = Client(server, ask(server, fields=fields))
    assert client.answer()[0] == 200
    client.send(ask(server, "release"))
    assert client.answer()[0] == 200


def test_the_body_of_a_request_for_an_upgrade_is_never_the_next_request(server: ServerProcess) -> None:
    """The request is divided at any byte. Its body is a whole release, but the lease stays held."""
    inner = ask(server, "release", "lock:smuggled")
    outer = post(LEASE, bearer(server) + H2C, len(inner)) + inner
    client = Client(server, ask(server, resource="lock:smuggled"))
    assert client.answer()[0] == 200
    head = outer.index(b"\r\n\r\n")
    for at in [*range(1, head, 17), *range(head - 3, head + 12), *range(head + 20, len(outer), 23)]:
        client.send(outer[:at], outer[at:])
        status, _, body = client.answer()
        assert (status, body["reason"]) == (400, "malformed_json")
    client.send(ask(server, "release", "lock:smuggled"))
    assert client.answer()[0] == 200


def test_a_request_may_be_divided_at_any_byte_while_it_asks_for_an_upgrade(server: ServerProcess) -> None:
    whole = ask(server, fields=H2C)
    client = Client(server)
    for at in range(1, len(whole), 5):
        client.send(whole[:at], whole[at:])
        assert client.answer()[0] == 200


def test_a_request_for_an_upgrade_has_the_usual_limits(server: ServerProcess) -> None:
    client = Client(server, post("/", H2C, 40_000_000))
    refused(client.answer(), 413, "too_large")
    client = Client(server, get(fields=H2C + b"a: b\r\n" * 100))
    refused(client.answer(), 431, "too_large")


@pytest.mark.parametrize(
    ("fields", "version", "status", "reason"),
    [
        (b"Cookie: %b\r\n" % (b"a" * 9_000), b"13", 431, "too_large"),
        (b"Cookie: a=b\r\n" * 200, b"13", 431, "too_large"),
        (b"Cookie: a=b\r\nContent-Length: 3\r\n", b"13", 400, "invalid_request"),
        (b"Cookie: a=b\r\nTransfer-Encoding: chunked\r\n", b"13", 400, "invalid_request"),
        (b"Cookie: a=b\r\nSec-WebSocket-Key: AAAA\r\n", b"13", 400, "invalid_request"),
        (b"Cookie: a=b\r\n", b"8", 426, "invalid_request"),
        (b"", b"13", 401, "unauthenticated"),
    ],
)
def test_a_malformed_handshake_is_refused(
    server: ServerProcess, fields: bytes, version: bytes, status: int, reason: str
) -> None:
    client = Client(server, handshake(board(server), fields, version) + b"abc")
    answer = client.answer()
    refused(answer, status, reason)
    if status == 426:  # RFC 6455, 4.4
        assert answer[1]["sec-websocket-version"] == "13"
    client.ends(5)


def test_websocket_may_be_one_of_several_requested_upgrades(server: ServerProcess) -> None:
    for upgrade in (b"websocket", b"WebSocket", b"h2c, websocket"):
        client = Client(server, handshake(board(server), bearer(server), upgrade=upgrade))
        client.until(b"HTTP/1.1 101 ")
        client.close()


def test_a_flood_of_refusals_is_a_few_lines_in_the_log(server: ServerProcess) -> None:
    before = server.log.count("before it reached the application")
    for _ in range(100):
        client = Client(server, b"nonsense\r\n\r\n")
        assert client.answer()[0] == 400
        client.close()
    assert server.log.count("before it reached the application") - before <= 3
    assert server.secrets["apiKey"] not in server.log
