"""Live sockets between a real server and real clients."""

import asyncio
import base64
import os
import socket
import time

import orjson
import pytest
import uvicorn
from django.conf import settings
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from coordination.live.hub import hub
from coordination.live.room import Pace
from intramedial.management.commands.serve import GRACE_S
from intramedial.workspaces.models import Workspace
from tests.live.browser import acquire
from tests.live.wire import DID, ServerFactory, closed, lease, live, next_message, shown, watch


async def code_of(client: connect) -> int:
    """The code with which the server closes the socket."""
    async with client as connection:
        return await closed(connection)


async def test_all_clients_receive_a_grant_and_the_end_of_the_server(
    live_server_process: ServerFactory,
) -> None:
    server = live_server_process(INTRAMEDIAL_LOG_LEVEL="INFO")
    async with watch(server) as one, watch(server) as other:
        assert (await next_message(one))["seq"] == (await next_message(other))["seq"] == 1
        assert (await lease(server, "lock:a")).status_code == 200
        began = time.monotonic()
        for client in (one, other):
            (event,) = (await next_message(client))["events"]
            assert (event["event"], event["resource"], event["actorDid"]) == ("granted", "lock:a", DID)
        assert time.monotonic() - began < 10  # neither a heartbeat nor a resync brought it
        began = time.monotonic()
        await asyncio.to_thread(server.terminate)
        assert time.monotonic() - began < GRACE_S  # the server does not wait for sockets
        for client in (one, other):
            assert await closed(client) == 1012
    lines = [orjson.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    closed_lines = [line for line in lines if line["message"] == "live socket closed"]
    assert [line["code"] for line in closed_lines] == [1012, 1012]


async def test_refusals_over_the_wire(live_server_process: ServerFactory) -> None:
    server = live_server_process()
    assert await code_of(watch(server, "imk_nonsense")) == 4401
    headers = {"Authorization": f"Bearer {server.secrets['apiKey']}"}
    assert await code_of(connect(live(server, "ws_other"), additional_headers=headers, proxy=None)) == 4404
    assert await code_of(connect(live(server), origin=server.url, proxy=None)) == 4401
    with pytest.raises(InvalidStatus) as refused:  # no credential, and no page that could show a reason
        await connect(live(server), proxy=None)
    assert refused.value.response.status_code == 401
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}=any"}
    for given in ({"additional_headers": cookie}, {"origin": "https://evil.example"}):
        with pytest.raises(InvalidStatus) as refused:
            await connect(live(server), proxy=None, **given)
        assert refused.value.response.status_code == 403
    async with watch(server) as client:
        await next_message(client)
        await client.send("x" * 16_385)
        assert await closed(client) == 1009
    async with watch(server) as client:
        await next_message(client)
        key = await asyncio.to_thread(server.manage, "apikey", "create", server.secrets["workspace"])
        async with watch(server, key["apiKey"]) as other:
            await next_message(other)
            await asyncio.to_thread(server.manage, "apikey", "revoke", key["prefix"])
            assert await closed(other) == 4401


def handshake(port: int, path: str, key: str) -> socket.socket:
    """A client that sends a handshake and then reads nothing."""
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


async def test_a_client_that_never_reads_is_cut_off_and_delays_no_other(
    served: uvicorn.Server, workspace: Workspace, api_key: str
) -> None:
    hub().pace = Pace(interval_s=0.02)
    name, path = workspace.public_id, f"/ws/espacios/{workspace.public_id}/"
    headers = {"Authorization": f"Bearer {api_key}"}
    address = f"ws://127.0.0.1:{served.config.port}{path}"
    async with connect(address, additional_headers=headers, proxy=None, max_size=None) as other:
        last_is_received = asyncio.create_task(wait_for_resource(other, "lock:last"))
        for number in range(400):
            await acquire(name, f"lock:{number}:" + "x" * 200)
        unread = handshake(served.config.port, path, api_key)
        try:
            async with asyncio.timeout(60):
                while hub().count(name) < 2:
                    await asyncio.sleep(0.02)
                while hub().count(name) == 2:  # until the buffers of the connection are full
                    hub().rooms[name].doubt()
                    await asyncio.sleep(0.02)
                while len(served.server_state.connections) > 1:
                    await asyncio.sleep(0.05)
        finally:
            unread.close()
        await acquire(name, "lock:last")
        await asyncio.wait_for(last_is_received, 10)


async def wait_for_resource(client: ClientConnection, resource: str) -> None:
    """Read messages until an event names the resource."""
    while True:
        message = orjson.loads(await client.recv())
        if message["type"] == "events" and resource in shown(message):
            return
