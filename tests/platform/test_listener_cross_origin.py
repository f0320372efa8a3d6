"""A page of another origin can read why the listener refused its signed request, and no other answer."""

import httpx
import pytest

from intramedial.server.bounded_parser import HEAD_FIELDS
from tests.platform.listening import LEASE, Client, serving
from tests.server import ServerProcess
from tests.signing import Agent

TRIAL_KEYS = "/api/v1/trial/keys"
ORIGIN = {"origin": "https://agents.example"}
TOO_LONG = b'{"a": "' + b"a" * 20_000 + b'"}'


@pytest.fixture(scope="module")
def server(bootstrapped, tmp_path_factory):
    """A server that waits one second for a body."""
    directory = tmp_path_factory.mktemp("cross-origin") / "data"
    with serving(bootstrapped, directory, INTRAMEDIAL_BODY_SECONDS="1") as server:
        yield server


def signed(server: ServerProcess, path: str = LEASE) -> dict[str, str]:
    """The header fields of a signed request from a page of another origin."""
    return Agent().sign("POST", server.url + path, TOO_LONG) | ORIGIN


def shared(answer: httpx.Response) -> bool:
    """Whether a page of any origin may read the answer."""
    assert "access-control-allow-credentials" not in answer.headers
    return answer.headers.get("access-control-allow-origin") == "*"


@pytest.mark.parametrize("path", [LEASE, LEASE + "/", "/api/v1/acp/agents", TRIAL_KEYS, "/api/none"])
def test_the_refusal_of_a_too_large_body_can_be_read(server, path):
    answer = httpx.post(server.url + path, content=TOO_LONG, headers=signed(server, path))
    assert answer.status_code == 413
    assert shared(answer)
    assert "x-request-id" in answer.headers["access-control-expose-headers"]


def test_the_refusal_of_a_too_large_body_in_chunks_can_be_read(server):
    answer = httpx.post(server.url + LEASE, content=iter([TOO_LONG]), headers=signed(server))
    assert answer.status_code == 413
    assert shared(answer)


def test_the_refusal_of_a_body_that_does_not_arrive_can_be_read(server):
    fields = signed(server) | {"host": f"127.0.0.1:{server.port}", "content-length": "100"}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    status, headers, _body = Client(server, f"POST {LEASE} HTTP/1.1\r\n{head}\r\n".encode()).answer()
    assert status == 408
    assert headers["access-control-allow-origin"] == "*"


def test_the_refusal_of_too_many_fields_can_be_read(server):
    fields = signed(server) | {f"x-{number}": "a" for number in range(HEAD_FIELDS)}
    answer = httpx.post(server.url + LEASE, content=b"{}", headers=fields)
    assert answer.status_code == 431
    assert shared(answer)


def test_an_answer_to_a_request_with_a_key_cannot_be_read(server):
    key = {"authorization": f"Bearer {server.secrets['apiKey']}"}
    for fields in (ORIGIN | key, signed(server) | key, ORIGIN):
        answer = httpx.post(server.url + LEASE, content=TOO_LONG, headers=fields)
        assert answer.status_code == 413
        assert not shared(answer)


def test_other_answers_of_the_service_cannot_be_read(server):
    for path, limit in (("/mcp", 4), ("/acceso/", 20), ("/health/live", 1)):
        answer = httpx.post(server.url + path, content=TOO_LONG * limit, headers=signed(server, path))
        assert answer.status_code == 413
        assert not shared(answer)


def test_a_request_after_a_signed_one_cannot_be_read(server):
    """Only the fields of the second request decide."""
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/api/none", headers=signed(server)).status_code == 404
        assert not shared(client.post(LEASE, content=TOO_LONG, headers=ORIGIN))
