"""A client that sends raw bytes, and servers with the limits that a test needs."""

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.server import ServerProcess

PATIENCE_S = 30.0
HOST = b"Host: 127.0.0.1\r\n"
LEASE = "/api/v1/acp/coordination/lease"
MASK = b"\0\0\0\0"


@contextmanager
def serving(bootstrapped: Path, data_dir: Path, descriptors: int = 0, **env: str) -> Iterator[ServerProcess]:
    """Run a server on a copy of a data directory."""
    shutil.copytree(bootstrapped, data_dir)
    server = ServerProcess(data_dir, env)
    server.descriptors = descriptors
    try:
        yield server.start()
    finally:
        server.kill()


_open: list["Client | socket.socket"] = []


def close_all() -> None:
    """Close the connections of all clients."""
    while _open:
        _open.pop().close()


class Client:
    """One connection. `received` are the bytes from the server that no test has used."""

    def __init__(self, server: ServerProcess, *parts: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        _open.append(self)
        self.send(*parts)

    def send(self, *parts: bytes) -> None:
        """Send each part by itself. Stop when the server has closed the connection."""
        for part in parts:
            try:
                self.socket.sendall(part)
            except OSError:
                return

    def answer(self, within_s: float = PATIENCE_S) -> tuple[int, dict[str, str], Any]:
        """The next answer: status, fields by lower-case name, and body, which is decoded if it is JSON."""
        self.until(b"\r\n\r\n", within_s)
        head, _, rest = self.received.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(fields.get("content-length", "0"))
        deadline = time.monotonic() + within_s
        while len(rest) < length:
            rest += self._more(deadline)
        self.received = rest[length:]
        body = rest[:length]
        return (
            int(status.split()[1]),
            fields,
            json.loads(body) if "json" in fields.get("content-type", "") else body,
        )

    def until(self, wanted: bytes, within_s: float = PATIENCE_S) -> None:
        """Receive until `wanted` has come."""
        deadline = time.monotonic() + within_s
        while wanted not in self.received:
            self.received += self._more(deadline)

    def ends(self, within_s: float = PATIENCE_S) -> float:
        """Receive until the server ends the connection; returns the seconds that it took."""
        begun = time.monotonic()
        try:
            while True:
                self.received += self._more(begun + within_s)
        except ConnectionError:
            return time.monotonic() - begun

    def _more(self, deadline: float) -> bytes:
        self.socket.settimeout(max(0.01, deadline - time.monotonic()))
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"the server ended the connection, after {self.received!r}")
        return data

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


def ask(server: ServerProcess, verb: str = "lease", resource: str = "lock:a", fields: bytes = b"") -> bytes:
    """A request with the tenant's key, head and body."""
    body = json.dumps({"resource": resource, "actorDid": "did:example:a"}).encode()
    head = post(f"/api/v1/acp/coordination/{verb}", bearer(server) + fields, len(body))
    return head + body


def bearer(server: ServerProcess) -> bytes:
    """The header field with the tenant's key."""
    return f"Authorization: Bearer {server.secrets['apiKey']}\r\nContent-Type: application/json\r\n".encode()


def post(path: str, fields: bytes = b"", length: int | None = None) -> bytes:
    """The head of a POST."""
    declared = b"" if length is None else b"Content-Length: %d\r\n" % length
    return b"POST %b HTTP/1.1\r\n%b%b%b\r\n" % (path.encode(), HOST, fields, declared)


def get(path: str = "/health/live", fields: bytes = b"") -> bytes:
    """A GET request."""
    return b"GET %b HTTP/1.1\r\n%b%b\r\n" % (path.encode(), HOST, fields)


def handshake(path: str, fields: bytes = b"", version: bytes = b"13", upgrade: bytes = b"websocket") -> bytes:
    """The handshake of a live socket."""
    asked = b"Connection: Upgrade\r\nUpgrade: %b\r\nSec-WebSocket-Version: %b\r\n" % (upgrade, version)
    return get(path, asked + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" + fields)


def board(server: ServerProcess) -> str:
    """The path of the tenant's board."""
    return f"/ws/espacios/{server.secrets['workspace']}/"


def frame(opcode: int, payload: bytes = b"", fin: bool = True) -> bytes:
    """A frame of a client, with less than 126 bytes (RFC 6455, 5.2)."""
    return bytes([opcode | (0x80 if fin else 0), 0x80 | len(payload)]) + MASK + payload


def refused(answer: tuple[int, dict[str, str], Any], status: int, reason: str) -> None:
    """Assert that an answer is a problem from the listener."""
    found, fields, body = answer
    assert (found, body["status"], body["reason"], body["ok"]) == (status, status, reason, False)
    assert fields["content-type"] == "application/problem+json"
    assert fields["x-request-id"] == body["requestId"]
    assert fields["cache-control"] == "no-store"
    assert fields["x-content-type-options"] == "nosniff"
    assert "close" in fields["connection"]


def leased(server: ServerProcess) -> None:
    """Assert that the server answers the tenant's requests."""
    client = Client(server, ask(server))
    assert client.answer()[0] == 200
    client.close()


def small_window(server: ServerProcess) -> socket.socket:
    """A connection with a small receive window."""
    stream = socket.socket()
    _open.append(stream)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.connect(("127.0.0.1", server.port))
    return stream


def unread(server: ServerProcess, request: bytes) -> socket.socket:
    """A connection with a small window that sends many requests and reads nothing."""
    stream = small_window(server)
    stream.setblocking(False)
    try:
        while True:
            stream.send(request)
    except BlockingIOError:
        return stream


def sockets_of(server: ServerProcess) -> int:
    """How many connections the server has."""
    assert server.process is not None
    found = 0
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            found += os.readlink(link).startswith("socket:")
        except OSError:
            continue
    return found


def wait_for_sockets(server: ServerProcess, sockets: int, within_s: float) -> None:
    """Wait until the server has that many connections or fewer."""
    deadline = time.monotonic() + within_s
    while sockets_of(server) > sockets:
        assert time.monotonic() < deadline, f"{sockets_of(server)} sockets, not {sockets}"
        time.sleep(0.05)
