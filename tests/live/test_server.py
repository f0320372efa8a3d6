"""Live sockets over a real server and a real client."""

import asyncio
import base64
import os
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from coordination.live.hub import hub
from coordination.live.room import Pace
from intramedial.workspaces.models import Workspace
from tests.live.browser import acquire
from tests.server import ServerProcess

ServerFactory = Callable[..., ServerProcess]
DID = "did:web:agent.example"


def live(server: ServerProcess, workspace: str | None = None) -> str:
    """The address of the board of a server's own workspace."""
    return f"ws{server.url.removeprefix('http')}/ws/espacios/{workspace or server.secrets['workspace']}/"


def watch(server: ServerProcess, key: str | None = None, **more: Any) -> connect:
    """A client of the workspace's own board."""
    headers = {"Authorization": f"Bearer {key or server.secrets['apiKey']}"}
    return connect(live(server), additional_headers=headers, proxy=None, max_size=None, **more)


async def lease(server: ServerProcess, resource: str, key: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key or server.secrets['apiKey']}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as client:
        body = {"resource": resource, "actorDid": DID}
        return await client.post("/api/v1/acp/coordination/lease", json=body)


async def told(client: ClientConnection, within_s: float = 5) -> dict[str, Any]:
    """The next message that is more than a heartbeat."""
    async with asyncio.timeout(within_s):
        while True:
            message: dict[str, Any] = orjson.loads(await client.recv())
            if message["type"] == "snapshot" or message["events"]:
                return message


def shown(message: dict[str, Any]) -> set[str]:
    """The resources that a message speaks of."""
    return {told["resource"] for told in (*message.get("holders", ()), *message.get("events", ()))}


async def code_of(client: connect) -> int:
    """The code with which the server closes."""
    async with client as connection:
        with pytest.raises(ConnectionClosedError) as closed:
            while True:
                await asyncio.wait_for(connection.recv(), 10)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


async def test_a_grant_is_seen_by_all_and_the_servers_end_too(live_server_process: ServerFactory) -> None:
    server = live_server_process(INTRAMEDIAL_LOG_LEVEL="INFO")
    async with watch(server) as one, watch(server) as other:
        assert (await told(one))["seq"] == (await told(other))["seq"] == 1
        assert (await lease(server, "lock:a")).status_code == 200
        began = time.monotonic()
        for client in (one, other):
            (event,) = (await told(client))["events"]
            assert (event["event"], event["resource"], event["actorDid"]) == ("granted", "lock:a", DID)
        assert time.monotonic() - began < 1
        began = time.monotonic()
        await asyncio.to_thread(server.terminate)
        assert time.monotonic() - began < 5
        for client in (one, other):
            with pytest.raises(ConnectionClosedError) as closed:
                await client.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012
    lines = [orjson.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    closed_lines = [line for line in lines if line["message"] == "live socket closed"]
    assert [line["code"] for line in closed_lines] == [1012, 1012]


async def test_refusals_over_the_wire(live_server_process: ServerFactory) -> None:
    server = live_server_process()
    assert await code_of(watch(server, "imk_nonsense")) == 4401
    headers = {"Authorization": f"Bearer {server.secrets['apiKey']}"}
    assert await code_of(connect(live(server, "ws_other"), additional_headers=headers, proxy=None)) == 4404
    assert await code_of(connect(live(server), origin=server.url, proxy=None)) == 4401
    for origin in (None, "https://evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            await connect(live(server), origin=origin, proxy=None)
        assert refused.value.response.status_code == 403
    async with watch(server) as client:
        await told(client)
        await client.send("x" * 16_385)
        with pytest.raises(ConnectionClosedError) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    async with watch(server) as client:
        await told(client)
        key = await asyncio.to_thread(server.manage, "apikey", "create", server.secrets["workspace"])
        async with watch(server, key["apiKey"]) as other:
            await told(other)
            await asyncio.to_thread(server.manage, "apikey", "revoke", key["prefix"])
            began = time.monotonic()
            with pytest.raises(ConnectionClosedError) as closed:
                await asyncio.wait_for(other.recv(), 6)
            assert time.monotonic() - began < 5
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401


def handshake(port: int, path: str, key: str) -> socket.socket:
    """A client that shakes hands and then reads nothing at all."""
    client = socket.create_connection(("127.0.0.1", port))
    nonce = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {key}",
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        f"Sec-WebSocket-Key: {nonce}",
    ]
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    return client


async def test_a_client_that_never_reads_is_cut_off_and_harms_nobody(
    served: uvicorn.Server, workspace: Workspace, api_key: str
) -> None:
    hub().pace = Pace(interval_s=0.02)
    name, path = workspace.public_id, f"/ws/espacios/{workspace.public_id}/"
    headers = {"Authorization": f"Bearer {api_key}"}
    address = f"ws://127.0.0.1:{served.config.port}{path}"
    async with connect(address, additional_headers=headers, proxy=None, max_size=None) as other:
        hears_the_last = asyncio.create_task(hears_of(other, "lock:last"))
        for number in range(400):
            await acquire(name, f"lock:{number}:" + "x" * 200)
        deaf = handshake(served.config.port, path, api_key)
        try:
            async with asyncio.timeout(60):
                while hub().count(name) < 2:
                    await asyncio.sleep(0.02)
                while hub().count(name) == 2:  # until what it is sent no longer fits between us
                    hub().rooms[name].doubt()
                    await asyncio.sleep(0.02)
                while len(served.server_state.connections) > 1:
                    await asyncio.sleep(0.05)
        finally:
            deaf.close()
        await acquire(name, "lock:last")
        await asyncio.wait_for(hears_the_last, 10)


async def hears_of(client: ClientConnection, resource: str) -> None:
    """Read until an event names the resource."""
    while True:
        message = orjson.loads(await client.recv())
        if message["type"] == "events" and resource in shown(message):
            return


async def test_two_servers_show_the_same_board_and_survive_the_loss_of_redis(
    live_server_process: ServerFactory, postgres_url: str, redis_server: Any
) -> None:
    shared = {"DATABASE_URL": postgres_url, "REDIS_URL": redis_server.url}
    here, there = live_server_process(**shared), live_server_process(**shared)
    created = await asyncio.to_thread(here.manage, "apikey", "create", here.secrets["workspace"])
    key = created["apiKey"]
    async with watch(here) as client:
        assert (await told(client))["type"] == "snapshot"
        await asyncio.sleep(2.5)  # until each has heard of the other
        for number, server in enumerate((here, there, here, there)):
            assert (await lease(server, f"lock:{number}", key)).status_code == 200
            message = await told(client)
            assert [event["resource"] for event in message["events"]] == [f"lock:{number}"]

        await asyncio.to_thread(redis_server.stop)
        delayed = await told(client, 15)
        assert (delayed["type"], delayed["delayed"]) == ("snapshot", True)
        assert (await lease(there, "lock:meanwhile", key)).status_code == 200
        while "lock:meanwhile" not in shown(delayed):
            delayed = await told(client, 15)

        await asyncio.to_thread(redis_server.start)
        message = await told(client, 30)
        while message.get("delayed"):
            message = await told(client, 30)
        assert message["type"] == "snapshot"
        assert (await lease(there, "lock:after", key)).status_code == 200
        while "lock:after" not in shown(message):
            message = await told(client, 15)
