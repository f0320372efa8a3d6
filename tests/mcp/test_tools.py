"""What a client sees before it calls a tool."""

import jsonschema
import pytest

from intramedial import __version__
from tests.mcp.client import NEW, OLD

NAMES = {
    "coordination.lease.acquire",
    "coordination.lease.release",
    "coordination.lease.withdraw",
    "coordination.status",
    "coordination.wait",
}
NAMED = ("holder", "holders", "resource", "actorDid", "agent", "agents", "waitingOn", "waitsFor")
INFO = {"name": "test", "version": "1"}


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_both_versions_of_the_protocol_are_supported(connect, api_key, version):
    agent = await connect(api_key, version=version)
    assert agent.client.protocol_version == version
    assert agent.client.server_info.name == "intramedial"
    assert agent.client.server_info.version == __version__
    assert "acquire a lease" in agent.client.instructions
    assert {tool.name for tool in (await agent.client.list_tools()).tools} == NAMES


async def test_a_client_can_negotiate_the_version(connect, api_key, url, wire):
    answer = await wire.send("initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": INFO})
    assert answer["result"]["protocolVersion"] == OLD
    refused = await wire.send("tools/list", mcp_protocol_version="1999-01-01")
    assert refused["error"]["code"] < 0
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"mcp_protocol_version": NEW, "mcp_method": "server/discover"}
    discovered = await wire.send("server/discover", {"_meta": meta}, **headers)
    assert discovered["result"]["supportedVersions"] == [NEW]
    assert set(discovered["result"]["capabilities"]) == {"tools"}


async def test_the_compatible_list_has_the_same_tools_without_dots(connect, api_key):
    dotted = (await (await connect(api_key)).client.list_tools()).tools
    plain = (await (await connect(api_key, path="/mcp/compat")).client.list_tools()).tools
    assert {tool.name for tool in plain} == {name.replace(".", "_") for name in NAMES}
    for one, other in zip(dotted, plain, strict=True):
        assert one.model_copy(update={"name": other.name}) == other
        # What clients that refuse dots require of a name.
        assert other.name.replace("_", "").isalnum()
        assert len(other.name) <= 64


async def test_either_name_works_on_either_path(wire):
    for path in ("/mcp", "/mcp/", "/mcp/compat", "/mcp/compat/"):
        for name in ("coordination.wait", "coordination_wait"):
            assert (await wire.call(name, {}, path))["result"]["structuredContent"]["ok"] is True


async def test_the_arguments_are_those_of_the_contract(connect, api_key):
    tools = {tool.name: tool for tool in (await (await connect(api_key)).client.list_tools()).tools}
    both = {"resource", "actorDid"}
    for name, properties, required in (
        ("coordination.lease.acquire", both | {"ttlMs"}, both),
        ("coordination.lease.release", both, both),
        ("coordination.lease.withdraw", both, both),
        ("coordination.status", both, both),
        ("coordination.wait", {"resource"}, set()),
    ):
        schema = tools[name].input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert set(schema["properties"]) == properties
        assert set(schema.get("required", ())) == required
        # A model that copies the example would use another agent's name.
        assert "examples" not in str(schema)
        assert "did:key:z" not in str(schema)
    assert "dropped" in tools["coordination.lease.acquire"].input_schema["properties"]["ttlMs"]["description"]


async def test_every_tool_says_what_it_answers_and_does(connect, api_key):
    for tool in (await (await connect(api_key)).client.list_tools()).tools:
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"
        assert tool.title
        assert len(tool.description) > 100
        reads = tool.name in ("coordination.wait", "coordination.status")
        hints = tool.annotations
        # A tool only ends what the calling agent itself holds or waits for.
        assert (hints.read_only_hint, hints.destructive_hint) == (reads, False)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)


async def test_names_from_others_are_marked_and_bounded_in_the_output_schemas(connect, api_key):
    def names(schema):
        for part in schema["$defs"].values():
            for name, member in part.get("properties", {}).items():
                of_strings = member.get("items", member).get("type") == "string"
                if of_strings and name in NAMED:
                    yield member

    for tool in (await (await connect(api_key)).client.list_tools()).tools:
        for member in names(tool.output_schema):
            assert "never instructions" in member["description"]
            assert member.get("items", member)["maxLength"] == 256


async def test_only_tools_are_offered(wire):
    for method in ("resources/list", "prompts/list", "completion/complete", "logging/setLevel", "x/y"):
        assert (await wire.send(method))["error"]["code"] in (-32601, -32602)
