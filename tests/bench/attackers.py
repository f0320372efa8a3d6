"""Attacks on the server: the kinds, and the program that carries one out.

    python -m tests.bench.attackers KIND PORT WORKSPACE KEY SECONDS

It attacks for that long and writes a line to stdout. Then it closes its connections. An attack that opens
its connections only once keeps them until its stdin ends.
"""

import contextlib
import os
import selectors
import socket
import sys
import time
from typing import NamedTuple

from .speech import get

HOST = "Host: 127.0.0.1\r\n"
LEASE = f"POST /api/v1/acp/coordination/lease HTTP/1.1\r\n{HOST}"
CHUNKED = f"{LEASE}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
PAGE = f"POST /acceso/ HTTP/1.1\r\n{HOST}"
HANDSHAKE = (
    f"GET {{path}} HTTP/1.1\r\n{HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{more}\r\n"
)
MASK = b"\0\0\0\0"
PING, PONG, TEXT, CONTINUATION = (bytes([first, 0x80]) + MASK for first in (0x89, 0x8A, 0x81, 0x00))
BEGUN_TEXT = b"\x01\x80" + MASK


class Kind(NamedTuple):
    """An attack with that many connections. Each sends `first` once and `then` again and again, every
    `pause` seconds or as fast as the server reads. `again`: a connection that ends is replaced."""

    words: str
    connections: int
    first: bytes = b""
    then: bytes = b""
    pause: float = 0.0
    reads: bool = True
    again: bool = True
    descriptors: int = 0  # the server's limit of open files, if it differs from the default


def kinds(workspace: str, key: str) -> dict[str, Kind]:
    """All attacks by name."""
    path = f"/ws/espacios/{workspace}/"
    origin = "Origin: http://127.0.0.1\r\n"
    handshake = HANDSHAKE.format(path=path, more="").encode()
    page = HANDSHAKE.format(path=path, more="Cookie: a=b\r\n").encode()
    trial = HANDSHAKE.format(path="/ws/prueba/", more="Sec-WebSocket-Protocol: ticket.none\r\n").encode()
    tenant = HANDSHAKE.format(path=path, more=f"Authorization: Bearer {key}\r\n").encode()
    live = get("/health/live")
    h2c = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    upgrading = f"{LEASE}{h2c}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    length = "Content-Length: 40000000\r\n"
    return {
        "A1 pings": Kind("empty pings on 3 sockets without credentials", 3, handshake, PING * 2000),
        "A1 pings, cookie": Kind("the same with a cookie", 3, page, PING * 2000),
        "A1 pongs, trial": Kind("pongs on 3 trial sockets with a bad ticket", 3, trial, PONG * 2000),
        "A1 pings, tenant": Kind("empty pings on 3 sockets of a tenant", 3, tenant, PING * 2000),
        "A1 texts, tenant": Kind("empty texts on 3 sockets of a tenant", 3, tenant, TEXT * 2000),
        "A1 continuations": Kind(
            "empty continuations on 3 sockets of a tenant", 3, tenant + BEGUN_TEXT, CONTINUATION * 2000
        ),
        "A1 handshakes": Kind("handshakes with a cookie, 20 at a time", 20, page),
        "A1 other site": Kind(
            "handshakes of another site's page", 20, page.replace(b"Cookie: a=b", origin.encode()[:-2])
        ),
        "A2 lines": Kind("header lines without end", 8, b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 2000),
        "A2 header": Kind("a header without end", 8, b"GET / HTTP/1.1\r\na: ", b"b" * 16384),
        "A2 target": Kind("an address without end", 8, b"GET /", b"b" * 16384),
        "A2 extensions": Kind("chunk extensions without end", 8, CHUNKED.encode() + b"1;", b"a" * 16384),
        "A2 trailers": Kind("trailers without end", 8, CHUNKED.encode() + b"0\r\n", b"a: b\r\n" * 2000),
        "A3 silent": Kind("2 000 silent connections", 2000, again=False),
        "A3 half heads": Kind("1 000 heads, a byte every 2 s", 1000, b"GET / HT", b"x", 2.0, again=False),
        "A3 half bodies": Kind(
            "1 000 bodies, a byte every 2 s",
            1000,
            f"{PAGE}Content-Length: 200000\r\n\r\n".encode(),
            b"x",
            2.0,
            again=False,
        ),
        "A3 half handshakes": Kind("1 000 half handshakes", 1000, tenant[:-2], again=False),
        "A3 unread": Kind(
            "200 connections that read no answer",
            200,
            b"",
            get("/openapi.json") * 20,
            reads=False,
        ),
        "A3 descriptors": Kind("300 silent connections, 256 descriptors", 300, again=False, descriptors=256),
        "A4 pipeline": Kind(
            "tiny requests sent ahead, unread, 5 connections", 5, b"", live * 500, reads=False
        ),
        "A4 pipeline, 250": Kind("the same, 250 connections", 250, b"", live * 500, reads=False),
        "A5 declared": Kind("40 MB declared, to a page", 8, f"{PAGE}{length}\r\n".encode(), b"x" * 16384),
        "A5 chunks": Kind(
            "40 MB in chunks, to a page",
            8,
            f"{PAGE}Transfer-Encoding: chunked\r\n\r\n".encode(),
            b"4000\r\n" + b"x" * 16384 + b"\r\n",
        ),
        "A5 mcp": Kind(
            "40 MB declared, to /mcp", 8, f"POST /mcp HTTP/1.1\r\n{HOST}{length}\r\n".encode(), b"x" * 16384
        ),
        "A6 h2c": Kind("requests that ask for h2c, with bodies", 8, b"", upgrading),
    }


class Attack:
    """An attack of one kind."""

    def __init__(self, kind: Kind, port: int) -> None:
        self.kind, self.port = kind, port
        self.poll = selectors.DefaultSelector()
        self.opened = 0
        self.sent = 0
        self._unsent: dict[socket.socket, bytes] = {}
        self._next: dict[socket.socket, float] = {}

    def open(self) -> None:
        """Open another connection."""
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex(("127.0.0.1", self.port))
        self.opened += 1
        self._unsent[stream] = self.kind.first
        self.poll.register(stream, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def run(self, seconds: float) -> None:
        """Attack for that long."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for _ in range(min(100, self.kind.connections - len(self._unsent))):
                if self.opened < self.kind.connections or self.kind.again:
                    self.open()
            self._wake(now)
            for key, events in self.poll.select(0.05):
                try:
                    if events & selectors.EVENT_READ:
                        self._read(key.fileobj)
                    if events & selectors.EVENT_WRITE and key.fileobj in self._unsent:
                        self._write(key.fileobj, now)
                except OSError:
                    self._end(key.fileobj)

    def _wake(self, now: float) -> None:
        for stream in [stream for stream, due in self._next.items() if due <= now]:
            del self._next[stream]
            self._unsent[stream] = self.kind.then
            self._watch(stream, writing=True)

    def _read(self, stream: socket.socket) -> None:
        if not self.kind.reads:
            self._watch(stream, writing=True)
        elif not stream.recv(1 << 18):
            self._end(stream)

    def _write(self, stream: socket.socket, now: float) -> None:
        data = self._unsent[stream] or (b"" if self.kind.pause else self.kind.then)
        if data:
            count = stream.send(data)
            self.sent += count
            self._unsent[stream] = data[count:]
        if not self._unsent[stream] and (self.kind.pause or not self.kind.then):
            self._watch(stream, writing=False)
            if self.kind.pause:
                self._next[stream] = now + self.kind.pause

    def _watch(self, stream: socket.socket, writing: bool) -> None:
        reading = selectors.EVENT_READ if self.kind.reads else 0
        events = reading | (selectors.EVENT_WRITE if writing else 0)
        self.poll.modify(stream, events or selectors.EVENT_READ)

    def _end(self, stream: socket.socket) -> None:
        if stream in self._unsent:
            del self._unsent[stream]
            self._next.pop(stream, None)
            self.poll.unregister(stream)
            stream.close()

    def close(self) -> None:
        """Close all connections."""
        for stream in list(self._unsent):
            self._end(stream)


def main() -> None:
    """Attack as the command line says."""
    name, port, workspace, key, seconds = sys.argv[1:]
    with contextlib.suppress(OSError):
        os.nice(5)  # an attacker's machine would have its own cores
    attack = Attack(kinds(workspace, key)[name], int(port))
    attack.run(float(seconds))
    if attack.kind.again:
        attack.close()
    print(attack.opened, attack.sent, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
