"""Boards over the network: a real server and a real client."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

from tests.server import ServerProcess

ServerFactory = Callable[..., ServerProcess]
DID = "did:web:agent.example"
PATIENCE_S = 30.0  # what a test waits for comes at once, except on a busy machine


def live(server: ServerProcess, workspace: str | None = None) -> str:
    """The address of a board, by default of the workspace that `bootstrap` made."""
    return f"ws{server.url.removeprefix('http')}/ws/espacios/{workspace or server.secrets['workspace']}/"


def watch(server: ServerProcess, key: str | None = None, workspace: str | None = None) -> connect:
    """A client of a board, by default of the workspace that `bootstrap` made."""
    headers = {"Authorization": f"Bearer {key or server.secrets['apiKey']}"}
    return connect(live(server, workspace), additional_headers=headers, proxy=None, max_size=None)


async def lease(server: ServerProcess, resource: str, key: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key or server.secrets['apiKey']}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as client:
        body = {"resource": resource, "actorDid": DID}
        return await client.post("/api/v1/acp/coordination/lease", json=body)


async def next_message(client: ClientConnection, within_s: float = PATIENCE_S) -> dict[str, Any]:
    """The next message that is not a heartbeat."""
    async with asyncio.timeout(within_s):
        while True:
            message: dict[str, Any] = orjson.loads(await client.recv())
            if message["type"] == "snapshot" or message["events"]:
                return message


async def closed(client: ClientConnection, within_s: float = PATIENCE_S) -> int:
    """The code with which the server closes the socket. Messages before that are skipped."""
    with pytest.raises(ConnectionClosedError) as end:
        async with asyncio.timeout(within_s):
            while True:
                await client.recv()
    assert end.value.rcvd is not None
    return end.value.rcvd.code


def shown(message: dict[str, Any]) -> set[str]:
    """The resources that a message names."""
    return {item["resource"] for item in (*message.get("holders", ()), *message.get("events", ()))}
