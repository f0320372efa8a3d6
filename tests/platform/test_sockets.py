"""The server's WebSocket protocol, which receives bytes in an order that the test chooses."""

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from intramedial.server.websocket import BROKEN, SocketProtocol

HANDSHAKE = (
    b"GET /ws/prueba/ HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
NO_FRAME = b"\xff\xfe\xfd no frame"


class Wire(asyncio.Transport):
    """A transport that keeps what is written, and whether it was closed."""

    def __init__(self):
        super().__init__({"sockname": ("127.0.0.1", 80), "peername": ("127.0.0.1", 50_000)})
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


def opened(application):
    """A protocol that runs `application`, and the wire it writes to."""
    config = uvicorn.Config(application, ws=SocketProtocol, log_config=None, lifespan="off")
    config.load()
    protocol, wire = SocketProtocol(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    return protocol, wire


async def test_a_malformed_frame_with_the_handshake_closes_the_connection():
    async def application(scope, receive, send):
        pytest.fail("the application runs for a client that does not wait for the answer")

    protocol, wire = opened(application)
    protocol.data_received(HANDSHAKE + NO_FRAME)
    assert wire.closed
    protocol.connection_lost(None)


@pytest.mark.parametrize(("then", "code"), [("accept", 1002), ("close", BROKEN)])
async def test_bytes_before_the_answer_are_parsed_after_it(then, code):
    received, done = [], asyncio.Event()

    async def application(scope, receive, send):
        received.append(await receive())
        assert not wire.closed
        await send({"type": f"websocket.{then}"})
        received.append(await receive())
        done.set()

    protocol, wire = opened(application)
    protocol.data_received(HANDSHAKE)
    protocol.data_received(NO_FRAME)  # before the application runs
    protocol.data_received(NO_FRAME)
    async with asyncio.timeout(5):
        await asyncio.sleep(0)
        while not wire.closed:
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        await done.wait()
    assert [message["type"] for message in received] == ["websocket.connect", "websocket.disconnect"]
    assert received[1]["code"] == code
