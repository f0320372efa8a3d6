"""Wrong arguments of every tool: the result says what is wrong, so that a model can read it and correct
itself.

Only an unknown tool or method is an error of the protocol (specification of 2025-11-25, SEP-1303).
"""

import json

import jsonschema
import pytest

from coordination.mcp import tools
from tests.mcp.client import NEW, OLD, json_of

A = "did:web:a.example"
LOCK = "lock:deploy/production"
BOTH = {"resource": LOCK, "actorDid": A}
OWN = ("coordination.lease.acquire", "coordination.lease.release", "coordination.lease.withdraw")
STATUS, WAIT = "coordination.status", "coordination.wait"
ALL = (*OWN, STATUS, WAIT)
CLOSED = ("coordination.lease.withdraw", STATUS, WAIT)

RESOURCES = (
    None,
    5,
    1.5,
    True,
    [],
    [LOCK],
    {"resource": LOCK},
    "",
    "a" * 257,
    "a" * 9000,
    "lock:\x00a",
    "lock:a\u202eb",
    "lock:a\u200bb",
    " lock:a",
    "lock:a\n",
    "lock:a#erase",
)
DIDS = (
    None,
    7,
    False,
    [A],
    {"did": A},
    "",
    "ana",
    "did:",
    "did:web:",
    "did:key:zabc",
    "did:web:" + "a" * 300,
)
NO_OBJECTS = ([], [BOTH], "a", json.dumps(BOTH), 5, 1.5, True, False)

CASES = [
    *((name, {"actorDid": A}, "/resource") for name in (*OWN, STATUS)),
    *((name, {"resource": LOCK}, "/actorDid") for name in (*OWN, STATUS)),
    *((name, {}, "/resource") for name in (*OWN, STATUS)),
    *((name, {"arguments": BOTH}, "/resource") for name in OWN[:2]),
    *((name, BOTH | {"resource": value}, "/resource") for name in (*OWN, STATUS) for value in RESOURCES),
    *((name, BOTH | {"actorDid": value}, "/actorDid") for name in (*OWN, STATUS) for value in DIDS),
    *((WAIT, {"resource": value}, "/resource") for value in RESOURCES),
    *((name, value, "") for name in ALL for value in NO_OBJECTS),
    *((WAIT, {name: LOCK}, f"/{name}") for name in ("resoruce", "actorDid", "limit", "cursor", "Resource")),
    *((name, BOTH | {"leaseId": "lse_1"}, "/leaseId") for name in ("coordination.lease.withdraw", STATUS)),
    *((name, {"arguments": {"resource": LOCK}}, "/arguments") for name in CLOSED),
    *((name, BOTH | {"a/b~c": 1}, "/a~1b~0c") for name in CLOSED),
]


@pytest.fixture
async def sent(wire):
    """`await sent(name, arguments, path)`: the result of a call as it comes over the wire, in one version."""

    async def call(name, arguments, version=OLD, path="/mcp"):
        params = {"name": name, "arguments": arguments}
        headers = {"mcp_protocol_version": version}
        if version == NEW:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": NEW,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers |= {"mcp_method": "tools/call", "mcp_name": name}
        return await wire.send("tools/call", params, path, **headers)

    return call


def check(answer, reason, tool):
    """The problem in a result, as text and as structured content, in the declared shape."""
    assert "error" not in answer, answer
    result = answer["result"]
    body = result["structuredContent"]
    assert result["isError"] is True
    assert (body["ok"], body["reason"]) == (False, reason)
    jsonschema.validate(body, tools.find(tool).listed(tool).output_schema)
    (block,) = result["content"]
    summary, _, text = block["text"].rpartition("\n")
    assert json.loads(text) == body
    assert summary.startswith(f"Failed, {reason}: ")
    assert body["detail"].rstrip(".") + ". Nothing was done: correct the arguments" in summary
    assert len(summary) < 1000
    return body


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_every_wrong_argument_is_a_result_that_is_an_error(sent, version):
    for tool, arguments, pointer in CASES:
        body = check(await sent(tool, arguments, version), "invalid_request", tool)
        assert body["status"] == 422
        assert pointer in {fault["pointer"] for fault in body["errors"]}, (tool, arguments, body)


async def test_the_other_names_and_the_other_address_behave_alike(sent):
    for tool, arguments, _ in CASES[::7]:
        for path in ("/mcp", "/mcp/compat"):
            check(await sent(tool.replace(".", "_"), arguments, path=path), "invalid_request", tool)


async def test_a_misspelt_argument_is_answered_with_the_near_name(sent):
    body = check(await sent(WAIT, {"resorce": LOCK}), "invalid_request", WAIT)
    assert "did you mean resource?" in body["detail"]
    body = check(await sent(STATUS, BOTH | {"x": 1}), "invalid_request", STATUS)
    assert "this tool has resource, actorDid" in body["detail"]
    many = check(await sent(WAIT, {"x" * 500 + str(at): 1 for at in range(20)}), "invalid_request", WAIT)
    assert len(many["errors"]) == 5


async def test_a_tool_that_refuses_unknown_arguments_says_so_beforehand():
    for tool in tools.TOOLS:
        closed = tool.listed(tool.name).input_schema.get("additionalProperties") is False
        assert closed is (tool.name in CLOSED), tool.name


UNREADABLE = (
    '{"resource": "lock:a", "resource": "lock:b", "actorDid": "did:web:a.example"}',
    '{"resource": "lock:\\ud800", "actorDid": "did:web:a.example"}',
    '{"resource": "lock:a", "actorDid": "did:web:a.example", "ttlMs": NaN}',
    '{"resource": "lock:a", "actorDid": "did:web:a.example", "ttlMs": -Infinity}',
    '{"resource": ' + "[" * 20 + "]" * 20 + ', "actorDid": "did:web:a.example"}',
    '{"\\ud800": 1}',
    "[" * 14 + "NaN" + "]" * 14,
)


@pytest.mark.parametrize("arguments", UNREADABLE)
async def test_arguments_that_are_no_strict_json_are_a_result_too(wire, arguments):
    message = (
        '{"jsonrpc": "2.0", "id": "x", "method": "tools/call", '
        f'"params": {{"name": "coordination.lease.acquire", "arguments": {arguments}}}}}'
    )
    answer = await wire.post(message)
    assert answer.status_code == 200
    assert answer.json()["id"] == "x"
    check(answer.json(), "malformed_json", OWN[0])
    assert (await wire.call(WAIT, {}))["result"]["structuredContent"]["holders"] == []


CALL = '"jsonrpc": "2.0", "method": "tools/call"'


@pytest.mark.parametrize(
    "message",
    [
        f'{{{CALL}, "id": 1, "id": 2, "params": {{"name": "coordination.wait"}}}}',
        f'{{{CALL}, "id": 1, "params": {{"name": "x", "name": "coordination.wait"}}}}',
        f'{{{CALL}, "id": 1, "params": {{"name": "coordination.wait", "_meta": NaN}}}}',
        f'{{{CALL}, "id": "\\ud800", "params": {{"name": "coordination.wait"}}}}',
        f'{{{CALL}, "id": 1, "params": {{"name": "no.tool", "arguments": NaN}}}}',
        f'{{{CALL}, "id": 1, "params": {{"name": "coordination.wait", "arguments": {{}}}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "no/method", "params": {"arguments": NaN}}',
    ],
)
async def test_a_fault_elsewhere_in_the_message_is_an_error_of_the_protocol(wire, message):
    answer = await wire.post(message)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/compat"])
async def test_only_an_unknown_tool_or_method_is_an_error_of_the_protocol(wire, path):
    for arguments in (BOTH, [], None, "a"):
        assert (await wire.call("coordination.lease.steal", arguments, path))["error"]["code"] == -32602
    assert (await wire.send("tools/steal", {}, path))["error"]["code"] == -32601


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/compat"])
async def test_the_official_client_passes_the_words_to_its_agent(connect, api_key, version, path):
    agent = await connect(api_key, version=version, path=path)
    for arguments in ({}, {"resource": 5}, {"resource": None}, {"resource": "a" * 300}):
        result = await agent.call("lease.acquire", **arguments)
        assert result.is_error is True
        assert "/resource: " in result.content[0].text
        assert json_of(result) == result.structured_content
    agent.did = "ana"
    result = await agent.call("status", resource=LOCK)
    assert "not a DID: write did:<method>:<id>" in result.content[0].text


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_the_text_of_every_result_has_its_json_after_the_words(connect, api_key, version, rest):
    first = await connect(api_key, version=version, did=A)
    second = await connect(api_key, version=version, did="did:web:b.example")
    results = [
        await first.call("lease.acquire", resource=LOCK),
        await second.call("lease.acquire", resource=LOCK),
        await first.call("status", resource=LOCK),
        await second.call("wait", resource='lock:{"a": 1}'),
        await second.call("wait"),
        await second.call("lease.withdraw", resource=LOCK),
        await first.call("lease.release", resource=LOCK),
        await first.call("lease.release", resource=LOCK),
        await first.call("lease.release", resource=""),
    ]
    for result in results:
        assert json_of(result) == result.structured_content
        assert not result.content[0].text.startswith("{")


# --- near names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["lease.acquire", "lease.release", "lease.withdraw", "status"])
@pytest.mark.parametrize(("right", "given"), [("actorDid", "actor_did"), ("resource", "resourse")])
async def test_the_right_name_is_suggested(wire, tool, right, given):
    arguments = {"resource": "lock:a", "actorDid": "did:web:a.example"}
    arguments[given] = arguments.pop(right)
    answer = await wire.call(f"coordination.{tool}", arguments)
    words = (
        f"did you mean {right}?"
        if f"coordination.{tool}" in CLOSED
        else f"the name is {right}; you sent {given}"
    )
    assert words in json.dumps(answer)


@pytest.mark.parametrize("given", ["resourse", "Resource", "resource_name"])
async def test_a_misspelt_resource_does_not_show_the_whole_workspace(wire, given):
    await wire.call("coordination.lease.acquire", {"resource": "lock:a", "actorDid": "did:web:a.example"})
    answer = json.dumps(await wire.call("coordination.wait", {given: "lock:b"}))
    assert "did you mean resource?" in answer
    assert "lock:a" not in answer
