"""Clients of the tests: the official one, as an agent, and one that sends any bytes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

OLD, NEW = "2025-11-25", "2026-07-28"
# The newer version is negotiated, as clients do by default.
MODES = {OLD: "legacy", NEW: "auto"}


@dataclass
class Agent:
    """The official client, connected. `sent` are the bodies of its requests, in order."""

    client: Client
    did: str
    path: str
    sent: list[bytes] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def connected(
        cls, url: str, key: str, *, did: str = "did:web:a.example", version: str = NEW, path: str = "/mcp"
    ) -> AsyncIterator["Agent"]:
        """Connect to `path` with the given version of the protocol, and list the tools."""
        sent: list[bytes] = []

        async def keep(request: httpx2.Request) -> None:
            sent.append(await request.aread())

        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(
            headers=headers, trust_env=False, event_hooks={"request": [keep]}
        ) as http_client:
            transport = streamable_http_client(url + path, http_client=http_client)
            async with Client(transport, mode=MODES[version]) as client:
                # The client only validates listed tools: from here on it checks every result against its
                # output schema.
                await client.list_tools()
                yield cls(client, did, path, sent)

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool as this agent, by the end of its name (`lease.acquire`)."""
        given = arguments if tool == "wait" else {"actorDid": self.did, **arguments}
        name = f"coordination.{tool}"
        result = await self.client.call_tool(name.replace(".", "_") if "compat" in self.path else name, given)
        assert isinstance(result, CallToolResult)
        return result

    async def body(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a successful call."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, result
        assert isinstance(result.structured_content, dict)
        return result.structured_content


@dataclass
class Wire:
    """Sends any bytes to MCP."""

    http: httpx.AsyncClient
    key: str | None

    async def post(self, content: bytes | str, path: str = "/mcp", **headers: str) -> httpx.Response:
        """POST these bytes with a client's headers and the given ones (`content_type` means content-type)."""
        fields = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self.key is not None:
            fields["authorization"] = f"Bearer {self.key}"
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(path, content=content, headers=fields)

    async def send(self, method: str, params: Any = None, path: str = "/mcp", **headers: str) -> Any:
        """Send a request of the older version; returns the answer's JSON."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = await self.post(json.dumps(message), path, **headers)
        return answer.json()

    async def call(self, tool: str, arguments: Any, path: str = "/mcp", **headers: str) -> Any:
        """Call a tool; returns the answer's JSON."""
        return await self.send("tools/call", {"name": tool, "arguments": arguments}, path, **headers)


def text_of(result: CallToolResult) -> str:
    """The words of a result, without the JSON after them."""
    return _text(result).rpartition("\n")[0]


def json_of(result: CallToolResult) -> Any:
    """The JSON after the words of a result."""
    return json.loads(_text(result).rpartition("\n")[2])


def _text(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text
