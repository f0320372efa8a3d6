"""A text is compressed once for all sockets, and each client reads it, whatever it negotiates."""

import asyncio
import os
import zlib
from typing import Any

import orjson
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from coordination.live.hub import hub
from coordination.live.room import Pace
from intramedial.server.websocket import WINDOW_BITS, SharedText
from intramedial.workspaces.models import Workspace
from tests.live.browser import acquire


@given(st.text(max_size=200), st.one_of(st.text(), st.text(max_size=20).map(lambda text: text * 2000)))
def test_any_beginning_and_end_are_read_as_one_text(beginning: str, end: str) -> None:
    payload = b"".join(SharedText(end).compressed_after(beginning)) + b"\x00\x00\xff\xff"
    read = zlib.decompressobj(wbits=-WINDOW_BITS).decompress(payload)
    assert read.decode() == SharedText(end).after(beginning) == beginning + end


OFFERS = {
    "none": None,
    "as browsers do": ClientPerMessageDeflateFactory(client_max_window_bits=True),
    "a wide window": ClientPerMessageDeflateFactory(server_max_window_bits=15),
    "a narrow window": ClientPerMessageDeflateFactory(server_max_window_bits=9),
    "nothing kept": ClientPerMessageDeflateFactory(
        server_no_context_takeover=True, client_no_context_takeover=True
    ),
}


def board(served: uvicorn.Server, workspace: Workspace, key: str, **more: Any) -> connect:
    address = f"ws://127.0.0.1:{served.config.port}/ws/espacios/{workspace.public_id}/"
    headers = {"Authorization": f"Bearer {key}"}
    return connect(address, additional_headers=headers, proxy=None, max_size=None, **more)


@pytest.mark.parametrize("offer", OFFERS)
async def test_every_client_reads_the_same(
    served: uvicorn.Server, workspace: Workspace, api_key: str, offer: str
) -> None:
    """The lengths of the messages' payloads take one, two and eight bytes."""
    hub().pace = Pace(heartbeat_s=0.5)
    factory = OFFERS[offer]
    name = workspace.public_id
    await asyncio.gather(
        *(acquire(name, f"lock:{number} ñ 鉄道 🚂 {os.urandom(100).hex()}") for number in range(700))
    )
    extensions = None if factory is None else [factory]
    async with board(served, workspace, api_key, compression=None, extensions=extensions) as client:
        negotiated = [extension.name for extension in client.protocol.extensions]
        assert negotiated == ([] if factory is None else ["permessage-deflate"])
        snapshot = orjson.loads(await client.recv())
        assert (snapshot["seq"], len(snapshot["holders"])) == (1, 700)
        beat = orjson.loads(await client.recv())
        assert (beat["seq"], beat["events"]) == (2, [])
        await acquire(name, "lock:new 🚃")
        message = await next_message(client)
        assert message["events"][0]["resource"] == "lock:new 🚃"
        await client.send('{"type": "resync"}')
        again = await next_message(client)
        assert (again["type"], len(again["holders"])) == ("snapshot", 701)


async def next_message(client: ClientConnection) -> dict[str, Any]:
    """The next message that is not a heartbeat."""
    while True:
        message: dict[str, Any] = orjson.loads(await client.recv())
        if message["type"] == "snapshot" or message["events"]:
            return message


async def test_a_small_frame_that_decompresses_to_a_large_one_is_refused(
    served: uvicorn.Server, workspace: Workspace, api_key: str
) -> None:
    async with board(served, workspace, api_key) as client:
        assert client.protocol.extensions
        await client.recv()
        await client.send("x" * 10_000_000)
        with pytest.raises(ConnectionClosedError) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
