"""What other frameworks send: header fields in any case and number, any protocol version."""

import json

import pytest

from tests.mcp.client import NEW, OLD

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


@pytest.mark.parametrize("path", ["/mcp", "/mcp/compat"])
@pytest.mark.parametrize(
    "content_type",
    ["APPLICATION/JSON", "Application/Json; Charset=UTF-8", "application/json ; charset=utf-8"],
)
async def test_the_case_of_a_media_type_does_not_matter(wire, path, content_type):
    answer = await wire.post(LIST, path, content_type=content_type)
    assert answer.status_code == 200, answer.text


async def test_accept_may_come_in_several_lines(wire):
    """RFC 9110, 5.3: several lines of a field are one list."""
    lines = [("accept", "text/event-stream"), ("accept", "application/json")]
    lines += [("authorization", f"Bearer {wire.key}"), ("content-type", "application/json")]
    answer = await wire.http.post("/mcp", content=LIST, headers=lines)
    assert answer.status_code == 200, answer.text


async def test_an_unknown_version_is_refused_with_the_supported_ones(wire):
    for version in ("2024-10-07", "2030-01-01", "latest", "x" * 500):
        answer = await wire.post(LIST, mcp_protocol_version=version)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == -32600
        assert version[:40] in error["message"]
        assert "2025-06-18" in error["message"]
        assert NEW in error["message"]
        assert "x" * 41 not in answer.text


async def test_an_empty_version_is_ignored_and_the_first_of_several_counts(wire):
    for version in ("", OLD, f"{OLD}, {OLD}", f"{OLD} ,x"):
        assert (await wire.post(LIST, mcp_protocol_version=version)).status_code == 200, version


async def test_a_newer_client_is_answered_in_its_own_form(wire):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2030-01-01",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    answer = await wire.post(json.dumps(message), mcp_protocol_version="2030-01-01", mcp_method="tools/list")
    assert answer.json()["error"]["data"]["supported"] == [NEW]
