"""One write for one answer, whatever it is made of; nothing lost, nothing out of order."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from intramedial.one_write import HELD, OneWrite
from tests.server import ServerProcess


class Transport:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("close")

    def is_closing(self) -> bool:
        return "close" in self.told


async def test_what_is_said_in_one_turn_is_written_at_once() -> None:
    own = Transport()
    transport = OneWrite(own, asyncio.get_running_loop())
    transport.write(b"head ")
    transport.write(b"body")
    assert own.told == []
    await asyncio.sleep(0)
    assert own.told == [b"head body"]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert own.told == [b"head body", b"next"]


async def test_what_is_held_goes_before_the_end() -> None:
    own = Transport()
    transport = OneWrite(own, asyncio.get_running_loop())
    transport.write(b"last words")
    transport.close()
    assert own.told == [b"last words", "close"]
    assert transport.is_closing()
    await asyncio.sleep(0)
    assert own.told == [b"last words", "close"]


async def test_much_is_not_held() -> None:
    own = Transport()
    transport = OneWrite(own, asyncio.get_running_loop())
    transport.write(b"x" * HELD)
    assert own.told == []
    transport.write(b"yz")
    assert [len(data) for data in own.told] == [HELD + 2]


async def test_another_protocol_gets_the_transport_itself() -> None:
    own = Transport()
    transport = OneWrite(own, asyncio.get_running_loop())
    transport.write(b"101")
    assert transport.own() is own
    assert own.told == [b"101"]


def test_requests_sent_together_are_answered_in_order(
    live_server_process: Callable[..., ServerProcess],
) -> None:
    """HTTP/1.1 pipelining, RFC 9112, 9.3.2."""
    paths = ["/health/live", "/api/v1/nothing", "/openapi.json", "/health/live"]
    lines = "".join(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" for path in paths[:-1])
    lines += f"GET {paths[-1]} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    server = live_server_process()
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(lines.encode())
        heard = b""
        while data := connection.recv(65536):
            heard += data
    statuses = [int(part[:3]) for part in heard.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200, 404, 200, 200]
