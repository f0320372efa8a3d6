"""Bad messages: hostile pages, other hosts, malformed bodies, wrong arguments."""

import json

from coordination.mcp import transport
from intramedial.http import logs, serving
from tests.mcp.client import NEW

A = "did:web:a.example"
GOOD = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "coordination.wait"}}
)
ACQUIRE = "coordination.lease.acquire"
BOTH = {"resource": "lock:a", "actorDid": A}


VERSIONS = ({}, {"mcp_protocol_version": NEW})


async def test_a_page_of_another_site_gets_403(wire):
    for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example", "file://"):
        for version in VERSIONS:
            answer = await wire.post(GOOD, origin=origin, **version)
            assert answer.status_code == 403, origin
            assert answer.json()["error"]["data"]["reason"] == "forbidden"
            assert "access-control-allow-origin" not in answer.headers


async def test_another_host_gets_421_with_a_key_or_without(wire):
    for key in (wire.key, None):
        wire.key = key
        for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:8000", "", "a b"):
            answer = await wire.post(GOOD, host=host)
            assert answer.status_code == 421, host
            assert "answers at" in answer.json()["error"]["message"]
        # A name rebound to this machine gives its page the same origin.
        rebound = await wire.post(GOOD, host="evil.example:8000", origin="http://evil.example:8000")
        assert rebound.status_code == 421


async def test_our_own_hosts_and_pages_are_served(wire):
    for host in ("127.0.0.1:8000", "localhost:9999", "[::1]:8000", "LOCALHOST"):
        assert (await wire.post(GOOD, host=host)).status_code == 200, host
        for origin in (f"http://{host.lower()}", "http://127.0.0.1:8000"):
            assert (await wire.post(GOOD, host=host, origin=origin)).status_code == 200, (host, origin)


async def test_there_are_no_streams_or_sessions(wire):
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = await wire.http.request(method, "/mcp")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert method == "HEAD" or "/docs/mcp/" in answer.json()["error"]["message"]


async def test_a_body_that_is_too_large_is_refused(wire, settings):
    big = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": "a" * settings.BODY_LIMIT}})
    answer = await wire.post(big)
    assert answer.status_code == 413
    assert "at most 16384 bytes" in answer.json()["error"]["message"]


NO_JSON_RPC = (
    (b"", -32700, "is empty"),
    (b"{", -32700, "not JSON"),
    (b'{"jsonrpc": "2.0", "jsonrpc": "2.0", "id": 1, "method": "ping"}', -32700, "same name twice"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": NaN}}', -32700, "not JSON"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', -32700, "not JSON"),
    (b'{"a":' * 20 + b"1" + b"}" * 20, -32700, "nested more than 16 deep"),
    (b"\xff\xfe", -32700, "not JSON"),
    (b"[]", -32600, "one JSON-RPC 2.0 message"),
    (b"[" + GOOD.encode() + b"]", -32600, "several messages at once"),
    (b"1", -32600, "one JSON-RPC 2.0 message"),
    (b'"a"', -32600, "one JSON-RPC 2.0 message"),
    (b"{}", -32600, "one JSON-RPC 2.0 message"),
    (b'{"resource": "lock:a", "actorDid": "did:web:a"}', -32600, "one JSON-RPC 2.0 message"),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, "one JSON-RPC 2.0 message"),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', -32600, "one JSON-RPC 2.0 message"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600, "one JSON-RPC 2.0 message"),
    *(
        (
            b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}' % number,
            -32600,
            "an id is a whole number or a text",
        )
        for number in (b"null", b"1.5", b"true", b"{}", b"[1]")
    ),
)


async def test_a_body_that_is_no_json_rpc_is_refused(wire):
    for content, code, words in NO_JSON_RPC:
        for version in VERSIONS:
            answer = await wire.post(content, **version)
            assert (answer.status_code, answer.json()["id"]) == (400, None), content
            error = answer.json()["error"]
            assert error["code"] == code, content
            assert words in error["message"], content


async def test_a_body_of_another_media_type_is_refused(wire):
    for content_type in ("", "text/plain", "application/json; charset=latin-1"):
        answer = await wire.post(GOOD, content_type=content_type)
        assert answer.status_code == 415, content_type
        assert "Content-Type: application/json" in answer.json()["error"]["message"]


async def test_a_client_that_accepts_json_is_answered(wire):
    for accept in (
        None,  # RFC 9110, 12.5.1: any media type will do
        "",
        "*/*",
        "application/*",
        "application/json",
        "text/event-stream, application/json;q=0.5",
        "text/html, */*;q=0.1",
        "APPLICATION/JSON",
    ):
        request = wire.http.build_request("POST", "/mcp", content=GOOD)
        request.headers.update({"authorization": f"Bearer {wire.key}", "content-type": "application/json"})
        del request.headers["accept"]
        if accept is not None:
            request.headers["accept"] = accept
        answer = await wire.http.send(request)
        assert answer.status_code == 200, accept
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["result"]["structuredContent"]["ok"] is True


async def test_a_client_that_does_not_accept_json_gets_406(wire):
    for accept in ("text/html", "text/event-stream", "image/*"):
        answer = await wire.post(GOOD, accept=accept)
        assert answer.status_code == 406
        assert "application/json" in answer.json()["error"]["message"]


async def test_an_unknown_tool_is_an_error(wire):
    for name in ("coordination.lease.steal", "", "x" * 9000):
        error = (await wire.call(name, BOTH))["error"]
        assert error["code"] == -32602
        assert error["message"].startswith(f"There is no tool {name[:80]!r}. The tools are: coordination.")
    compatible = (await wire.call("steal", BOTH, "/mcp/compat"))["error"]
    assert "coordination_lease_acquire" in compatible["message"]


async def test_ttl_ms_is_ignored(wire):
    for ttl in (1, -1, 10**30, 1.5, None, "60s", {"a": []}, True):
        answer = await wire.call(ACQUIRE, BOTH | {"ttlMs": ttl})
        assert answer["result"]["structuredContent"]["lease"]["ttlMs"] == 30_000, ttl


async def test_unknown_members_are_ignored(wire):
    await wire.call(ACQUIRE, BOTH)
    arguments = BOTH | {"leaseId": "lse_of_somebody", "force": True}
    answer = await wire.call("coordination.lease.release", arguments)
    assert answer["result"]["structuredContent"]["ok"] is True


async def test_a_call_of_the_wrong_shape_is_refused(wire):
    for params in ([], "a", 1, {}, {"name": 5}, {"name": ["coordination.wait"]}):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await wire.post(json.dumps(message))
        assert answer.status_code in (200, 400), params
        assert answer.json()["error"]["code"] in (-32600, -32602), params


async def test_a_notification_is_accepted_and_not_answered(wire):
    for version in VERSIONS:
        answer = await wire.post('{"jsonrpc": "2.0", "method": "notifications/initialized"}', **version)
        assert (answer.status_code, answer.content) == (202, b"")


async def test_every_answer_has_the_security_headers_and_is_not_cached(wire):
    for answer in (await wire.post(GOOD), await wire.post(b"{}"), await wire.http.get("/mcp")):
        headers = answer.headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["content-type"] == "application/json"
        assert headers["x-request-id"].startswith("req_")
        assert "mcp-session-id" not in headers


async def test_a_call_is_one_log_line_without_its_key(wire, monkeypatch):
    written = []
    monkeypatch.setattr(serving, "access", logs.AccessLog(written.append))
    logs.access.setLevel("INFO")
    try:
        answer = await wire.post(GOOD)
    finally:
        logs.access.setLevel("NOTSET")
        serving.access.flush()
    (line,) = [json.loads(line) for text in written for line in text.splitlines()]
    assert (line["method"], line["path"], line["status"]) == ("POST", "/mcp", 200)
    assert line["requestId"] == answer.headers["x-request-id"]
    assert wire.key not in "".join(written)


def test_paths_are_served_with_and_without_their_slash():
    assert transport.PATHS == {"/mcp": False, "/mcp/": False, "/mcp/compat": True, "/mcp/compat/": True}
