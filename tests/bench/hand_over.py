"""How long a resource is free in a hand-over: from sending a release to the answer of the agent that waits
for it with its request open (`Prefer: wait`)."""

import select
import socket
import time

from .contestants import Contestant, Missing
from .figures import percentile
from .load import PATIENCE_S
from .machine import pinned
from .speech import Fault, Reply, http_reply
from .workloads import Metrics, Timing, lease, release

PAIRS = 4  # so that with several processes some hand over across them
REST_S = 0.01  # after this time the wait is surely in the queue


class Agent:
    """One agent on its own connection."""

    def __init__(self, server: Contestant, resource: str, number: int) -> None:
        tenant = server.tenants[0]
        self._ask = lease(tenant, resource, number, "wait=10")
        self._give = release(tenant, resource, number)
        self._socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self) -> None:
        """Acquire the resource; the answer may take a while."""
        self._socket.sendall(self._ask)

    def give(self) -> None:
        """Release the resource; the answer must be read."""
        self._socket.sendall(self._give)

    def is_answered(self, within_s: float) -> bool:
        """Whether an answer begins to arrive within that time."""
        return bool(select.select([self._socket], [], [], within_s)[0])

    def answer(self) -> Reply:
        """The answer, once it is there. Raises Fault unless it is a success."""
        data = b""
        while (reply := http_reply(data)) is None:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise Fault("the server closed a connection")
            data += chunk
        if reply.status != b"200":
            raise Fault(f"{reply.status.decode()} {reply.body[:300]!r}")
        return reply

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def hand_over(server: Contestant, timing: Timing) -> Metrics:
    """p50 and p99 of a hand-over. Raises Missing where the server does not hold requests open."""
    took: list[float] = []
    with pinned(server.cores.load):
        pairs = [
            [Agent(server, f"lock:bench/handed/{number}", 2 * number + side) for side in range(2)]
            for number in range(PAIRS)
        ]
        try:
            for holder, _ in pairs:
                holder.ask()
                holder.answer()
            for pair in pairs:
                _turn(pair, rest_s=1.0)
            until = time.monotonic() + timing.measure_s
            while time.monotonic() < until:
                took += [_turn(pair) for pair in pairs]
        finally:
            for agent in (agent for pair in pairs for agent in pair):
                agent.close()
    return {"p50_ms": percentile(took, 0.5) * 1e3, "p99_ms": percentile(took, 0.99) * 1e3}


def _turn(pair: list[Agent], rest_s: float = REST_S) -> float:
    """Hand over within a pair, and swap its order; returns the seconds it took.

    Raises Missing when the waiter is answered within `rest_s`, before the release.
    """
    holder, waiter = pair
    waiter.ask()
    if waiter.is_answered(rest_s):
        raise Missing("the server does not hold requests open (Prefer: wait)")
    begun = time.perf_counter()
    holder.give()
    waiter.answer()
    took = time.perf_counter() - begun
    holder.answer()
    pair.reverse()
    return took
