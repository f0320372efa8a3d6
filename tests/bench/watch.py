"""Live boards that watch a workspace, and events in it for them, in a process of its own.

    python -m tests.bench.watch PORT WORKSPACE KEY SOCKETS EVENTS_A_SECOND

Prints `ready` once all sockets have their snapshot, goes on until its standard input is closed, and then
prints {"messages", "events"}.
"""

import json
import os
import select
import socket
import sys
import time

from .lab import Tenant
from .load import PATIENCE_S, Connection
from .speech import Fault, http_reply
from .workloads import cycle

SPEAKERS = 16


class Board:
    """One live socket whose frames are counted and thrown away. Like a browser it accepts compressed
    frames."""

    def __init__(self, port: int, tenant: Tenant) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        lines = [
            f"GET /ws/espacios/{tenant.workspace}/ HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            f"Authorization: Bearer {tenant.key}",
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise Fault(f"no socket: {data[:300]!r}")
            data += chunk
        if not data.startswith(b"HTTP/1.1 101"):
            raise Fault(f"no socket: {data[:300]!r}")
        self._rest = data.partition(b"\r\n\r\n")[2]
        self.socket.setblocking(False)

    def receive(self) -> int:
        """Read what has arrived; returns how many messages are complete with it."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise Fault("a live socket was closed")
        self._rest += data
        messages = 0
        while (length := _frame_length(self._rest)) is not None and len(self._rest) >= length:
            if self._rest[0] & 0x0F == 9:
                self._pong()
            messages += self._rest[0] & 0x0F in (1, 2)
            self._rest = self._rest[length:]
        return messages

    def _pong(self) -> None:
        payload = self._rest[2 : 2 + (self._rest[1] & 0x7F)]
        self.socket.send(bytes([0x8A, 0x80 | len(payload), 0, 0, 0, 0]) + payload)


def _frame_length(data: bytes) -> int | None:
    """The length of the frame (RFC 6455, 5.2, not masked) that begins here, None before its head is there."""
    if len(data) < 10:
        return None if len(data) < 2 or data[1] >= 126 else 2 + data[1]
    if data[1] == 126:
        return 4 + int.from_bytes(data[2:4])
    if data[1] == 127:
        return 10 + int.from_bytes(data[2:10])
    return 2 + data[1]


class Speakers:
    """Cycles in the watched workspace at a fixed rate, as long as the server keeps up."""

    def __init__(self, port: int, tenant: Tenant, requests_a_second: float) -> None:
        self._idle = [
            Connection(port, cycle(tenant, 1000 + number), http_reply) for number in range(SPEAKERS)
        ]
        self.by_fd = {connection.socket.fileno(): connection for connection in self._idle}
        self._pause_s = 1 / requests_a_second
        self._next = time.monotonic()
        self.answered = 0

    def speak(self) -> float:
        """Send what is due; returns in how many seconds the next request is due."""
        now = time.monotonic()
        while self._idle and self._next <= now:
            self._idle.pop(0).send()
            self._next += self._pause_s
        if self._next < now - 1:
            self._next = now  # the server does not keep up: missed requests are not sent later
        return max(0.0, self._next - now) if self._idle else 1.0

    def receive(self, fd: int) -> None:
        """Read an answer."""
        connection = self.by_fd[fd]
        if connection.receive() is not None:
            self.answered += 1
            self._idle.append(connection)


def main(port: int, tenant: Tenant, sockets: int, events_a_second: float) -> None:
    """Watch and be watched."""
    boards = [Board(port, tenant) for _ in range(sockets)]
    by_fd = {board.socket.fileno(): board for board in boards}
    speakers = Speakers(port, tenant, events_a_second)
    poll = select.epoll()
    for fd in (*by_fd, *speakers.by_fd):
        poll.register(fd, select.EPOLLIN)
    poll.register(sys.stdin.fileno(), select.EPOLLIN)
    print("ready", flush=True)
    messages, going = 0, True
    while going:
        for fd, _ in poll.poll(speakers.speak()):
            if fd in by_fd:
                messages += by_fd[fd].receive()
            elif fd in speakers.by_fd:
                speakers.receive(fd)
            else:
                going = bool(os.read(fd, 1))
    print(json.dumps({"messages": messages, "events": speakers.answered}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Tenant(sys.argv[2], sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
