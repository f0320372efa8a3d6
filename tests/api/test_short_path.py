"""The short ASGI path itself: bodies in pieces, clients that disconnect, unexpected failures, the log
line."""

import json
import logging

import pytest
from django.conf import settings
from django.db import OperationalError

from coordination.authority import process as authority
from coordination.read import current
from coordination.storage.engines.base import StorageFault
from intramedial.http import logs, serving
from intramedial.http.problems import Problem
from intramedial.http.strict_json import MalformedJson, parse_object, require_json
from tests.api.client import LEASE, WAIT, did, exchange

A = did("a")
GOOD = json.dumps({"resource": "lock:a", "actorDid": A}).encode()


async def run(messages, *, method="POST", path=LEASE, headers=(), key=None):
    """What the path sends for these messages, and how many of them it has read."""
    fields = [(b"content-type", b"application/json"), *headers]
    if key:
        fields.append((b"authorization", f"Bearer {key}".encode()))
    return await exchange(messages, method=method, path=path, headers=fields)


def piece(body, more=True):
    return {"type": "http.request", "body": body, "more_body": more}


DISCONNECT = {"type": "http.disconnect"}


async def test_a_body_in_pieces_is_one_body(api_key):
    pieces = [piece(GOOD[at : at + 7]) for at in range(0, len(GOOD), 7)]
    sent, read = await run([*pieces, piece(b"", more=False)], key=api_key)
    assert sent[0]["status"] == 200
    assert read == len(pieces) + 1


async def test_a_body_that_grows_too_large_is_read_no_further(api_key):
    pieces = [piece(b"x" * 1024) for _ in range(1000)]
    sent, read = await run(pieces, key=api_key)
    assert sent[0]["status"] == 413
    assert read == settings.BODY_LIMIT // 1024 + 1
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_a_body_with_a_content_length_that_is_too_large_is_not_read():
    sent, read = await run([], headers=[(b"content-length", b"16385")])
    assert (sent[0]["status"], read) == (413, 0)


async def test_a_client_that_disconnects_within_its_request_gets_nothing(api_key, caller):
    for messages in ([DISCONNECT], [piece(GOOD), DISCONNECT]):
        assert (await run(messages, key=api_key))[0] == []
    assert (await caller.wait()).json()["holders"] == []


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (RuntimeError("a bug"), "a call failed in an unforeseen way"),
        (OperationalError("disk I/O"), "a database failed"),
    ],
)
async def test_an_unexpected_failure_is_logged_and_not_shown(caller, monkeypatch, caplog, error, logged):
    async def fail(*_):
        raise error

    monkeypatch.setattr(current, "picture", fail)
    answer = await caller.wait()
    assert (answer.status_code, answer.json()["reason"]) == (503, "authority_unavailable")
    assert answer.headers["retry-after"] == "1"
    assert str(error) not in answer.text
    assert logged in caplog.text


async def test_an_authority_that_does_not_answer(caller, monkeypatch):
    async def fail(*_):
        raise authority.Unavailable("the storage of leases did not answer")

    monkeypatch.setattr(authority.get(), "ask", fail)
    for answer in (await caller.lease("lock:a", A), await caller.release("lock:a", A)):
        assert (answer.status_code, answer.json()["reason"]) == (503, "authority_unavailable")
        assert answer.headers["retry-after"] == "1"


async def test_storage_that_does_not_answer_a_read(caller, monkeypatch):
    async def fail(*_):
        raise StorageFault("could not connect to 10.0.0.7")

    monkeypatch.setattr(current, "picture", fail)
    monkeypatch.setattr(current, "agent", fail)
    for answer in (await caller.wait(), await caller.call("GET", "/api/v1/acp/agents", params={"did": A})):
        assert (answer.status_code, answer.json()["reason"]) == (503, "authority_unavailable")
        assert "10.0.0.7" not in answer.text


async def test_a_request_is_one_log_line_with_its_id_and_no_secret(caller, monkeypatch):
    written = []
    monkeypatch.setattr(serving, "access", logs.AccessLog(written.append))
    logs.access.setLevel(logging.INFO)
    try:
        answer = await caller.call("GET", f"{WAIT}?resource=lock:secret")
        await caller.call("GET", f"/api/{caller.key}/\ud800".encode("utf-8", "replace").decode())
    finally:
        logs.access.setLevel(logging.NOTSET)
        serving.access.flush()
    lines = [json.loads(line) for text in written for line in text.splitlines()]
    first, second = lines
    assert first["requestId"] == answer.headers["x-request-id"]
    assert (first["method"], first["path"], first["status"]) == ("GET", WAIT, 200)
    assert first["ms"] >= 0
    assert second["status"] == 404
    text = "".join(written)
    assert "lock:secret" not in text
    assert caller.key not in text


async def test_a_path_with_lone_surrogates_is_not_found(monkeypatch):
    written = []
    monkeypatch.setattr(serving, "access", logs.AccessLog(written.append))
    logs.access.setLevel(logging.INFO)
    try:
        sent, _ = await run([], path="/api/\ud800\n")
    finally:
        logs.access.setLevel(logging.NOTSET)
        serving.access.flush()
    assert sent[0]["status"] == 404
    assert len(written[0].splitlines()) == 1


async def test_every_answer_has_the_security_headers(anonymous):
    for path in (LEASE, "/health/live", "/api/none", "/openapi.json"):
        headers = (await anonymous.call("GET", path)).headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_json_is_read_once_and_strictly():
    assert parse_object(b'{"a": {"b": [1, {"a": 2}]}, "b": "{[:\\"\\\\"}', 16) == {
        "a": {"b": [1, {"a": 2}]},
        "b": '{[:"\\',
    }
    with pytest.raises(MalformedJson, match="same name twice"):
        parse_object(b'{"a": {}, "a": {"b": 1}}', 16)
    with pytest.raises(MalformedJson, match="nested"):
        parse_object(b'{"a": [[]]}', 2)
    assert parse_object(b'{"a": []}', 2)


def test_media_types_are_compared_by_rfc_9110():
    require_json({"content-type": "Application/JSON ; Charset=UTF-8"})
    with pytest.raises(Problem, match="missing"):
        require_json({})
