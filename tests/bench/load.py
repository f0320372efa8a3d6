"""The client: many connections, one thread, one request at a time on each.

Requests are prepared bytes, and of an answer only its end is searched, so that on its own core the client
is faster than everything it measures. `Sample.busy` is the share of that core that it used.
"""

import select
import socket
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .speech import Fault, Reply

PATIENCE_S = 10.0


class Step(NamedTuple):
    """One request of a conversation: its bytes, or a function that makes them from the last answer.
    `expected` is the status that the answer must have."""

    kind: str
    request: bytes | Callable[[bytes], bytes]
    expected: bytes = b"200"


@dataclass
class Sample:
    """What one run measured: `latencies` in nanoseconds by kind of request, `busy` from 0 to 1."""

    seconds: float
    cycles: int
    requests: int
    busy: float
    latencies: dict[str, "array[int]"] = field(default_factory=dict)


class Connection:
    """One conversation: its steps in turn, again and again, as fast as they are answered."""

    __slots__ = ("_frame", "_place", "_rest", "_steps", "sent_at", "socket", "step")

    def __init__(self, port: int, steps: Sequence[Step], frame: Callable[[bytes], Reply | None]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self._steps, self._frame = steps, frame
        self._rest = b""
        self._place = -1
        self.step = steps[0]
        self.sent_at = 0

    def send(self, before: bytes = b"") -> None:
        """Send the next request; `before` is the body of the last answer."""
        self._place = (self._place + 1) % len(self._steps)
        self.step = self._steps[self._place]
        request = self.step.request
        data = request if isinstance(request, bytes) else request(before)
        self.sent_at = time.perf_counter_ns()
        if self.socket.send(data) != len(data):
            raise Fault("a request did not fit into the socket")

    def receive(self) -> Reply | None:
        """The answer, once all of it is there. Raises Fault for an unexpected one."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise Fault(f"the server closed a connection, having sent {self._rest[:300]!r}")
        reply = self._frame(self._rest + data if self._rest else data)
        if reply is None:
            self._rest += data
            return None
        self._rest = b""
        if reply.status != self.step.expected:
            raise Fault(f"{self.step.kind}: {reply.status.decode()} {reply.body[:300]!r}")
        return reply

    @property
    def at_start(self) -> bool:
        """Whether the current step is the first of a cycle."""
        return self._place == 0

    @property
    def at_end(self) -> bool:
        """Whether the current step is the last of a cycle."""
        return self._place == len(self._steps) - 1


def run(connections: Sequence[Connection], warm_up_s: float, measure_s: float) -> Sample:
    """Run all conversations for that long, finish their cycles and close the connections.

    Only the second part counts. Cycles are finished so that nothing is held when the next run begins.
    """
    poll = select.epoll()
    by_fd = {connection.socket.fileno(): connection for connection in connections}
    try:
        for fd, connection in by_fd.items():
            poll.register(fd, select.EPOLLIN)
            connection.send()
        _speak(poll, by_fd, warm_up_s)
        sample = _speak(poll, by_fd, measure_s)
        _finish(poll, by_fd)
        return sample
    finally:
        poll.close()
        for connection in connections:
            connection.socket.close()


def _speak(poll: select.epoll, by_fd: dict[int, Connection], seconds: float) -> Sample:
    clock = time.perf_counter_ns
    latencies: dict[str, array[int]] = defaultdict(lambda: array("q"))
    cycles = 0
    worked, begun = time.process_time_ns(), clock()
    end = begun + int(seconds * 1e9)
    now = begun
    while now < end:
        ready = poll.poll(PATIENCE_S)
        if not ready:
            raise Fault(f"no answer for {PATIENCE_S:.0f} s")
        for fd, _ in ready:
            connection = by_fd[fd]
            reply = connection.receive()
            if reply is None:
                continue
            now = clock()
            latencies[connection.step.kind].append(now - connection.sent_at)
            connection.send(reply.body)
            cycles += connection.at_start
    took = now - begun
    busy = (time.process_time_ns() - worked) / took if took else 0.0
    requests = sum(len(measured) for measured in latencies.values())
    return Sample(took / 1e9, cycles, requests, busy, dict(latencies))


def _finish(poll: select.epoll, by_fd: dict[int, Connection]) -> None:
    going = set(by_fd)
    while going:
        ready = poll.poll(PATIENCE_S)
        if not ready:
            raise Fault(f"no answer for {PATIENCE_S:.0f} s")
        for fd, _ in ready:
            reply = by_fd[fd].receive()
            if reply is None:
                continue
            if by_fd[fd].at_end:
                poll.unregister(fd)
                going.discard(fd)
            else:
                by_fd[fd].send(reply.body)


def say(port: int, request: bytes, frame: Callable[[bytes], Reply | None]) -> Reply:
    """Send one request; returns its answer, whatever it is."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(request)
        data = b""
        while (reply := frame(data)) is None:
            chunk = connection.recv(1 << 18)
            if not chunk:
                raise Fault(f"the server closed a connection, having sent {data[:300]!r}")
            data += chunk
        return reply
