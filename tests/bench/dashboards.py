"""What live boards cost agents that acquire: the same load without and with a thousand live sockets."""

import json
import subprocess
import sys
import time

from tests.server import ROOT

from . import machine
from .contestants import Contestant, Missing
from .machine import pinned
from .workloads import Metrics, Timing, one_workspace

SOCKETS = 1000
EVENTS_S = 1000
CONNECTIONS = 32


class Watchers:
    """`watch` in its own process, on the load's cores."""

    def __init__(self, server: Contestant, sockets: int) -> None:
        tenant = server.tenants[-1]
        arguments = [str(server.port), *tenant, str(sockets), str(EVENTS_S)]
        with pinned(server.cores.load):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.watch", *arguments],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            output = self._process.communicate()[1].strip().splitlines()
            raise Missing(f"no live sockets: {output[-1] if output else 'no message'}")

    def stop(self) -> dict[str, int]:
        """Stop the process; returns the numbers of messages on the sockets and of events that it caused."""
        output, trouble = self._process.communicate(timeout=30)
        if self._process.returncode:
            raise Missing(f"the watchers failed: {trouble.strip().splitlines()[-1]}")
        seen: dict[str, int] = json.loads(output)
        return seen


def dashboards(server: Contestant, timing: Timing) -> Metrics:
    """Acquire's rate in one workspace beside a thousand events a second in another, without and with live
    sockets; and the CPU that the events and the sockets take alone."""
    rates, cpu_percent, seen, took = [], [], {"messages": 0, "events": 0}, 1.0
    for sockets in (0, SOCKETS):
        watchers = Watchers(server, sockets)
        begun = time.monotonic()
        try:
            cpu_percent.append(_cpu_percent(server, timing.measure_s))
            rates.append(one_workspace(CONNECTIONS)(server, timing)["requests_s"])
            memory = machine.memory_mb(server.pids)
        finally:
            took = time.monotonic() - begun
            seen = watchers.stop()
    return {
        "unwatched_requests_s": rates[0],
        "requests_s": rates[1],
        "cost_percent": 100 * (1 - rates[1] / rates[0]),
        "unwatched_cpu_percent": cpu_percent[0],
        "cpu_percent": cpu_percent[1],
        "messages_s": seen["messages"] / took,
        "events_s": seen["events"] / took,
        "memory_mb": memory,
    }


def _cpu_percent(server: Contestant, seconds: float) -> float:
    """The share of one core that the server uses."""
    before = machine.cpu_s(server.pids)
    time.sleep(seconds)
    return 100 * (machine.cpu_s(server.pids) - before) / seconds
