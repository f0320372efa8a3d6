"""What a tenant notices while others attack.

    python -m tests.bench.attacks [--only A1,A3] [--seconds 8]

For each kind of attack there are the server as an operator starts it, a tenant with 32 connections that
acquires and releases in its own process, and the attacker in another, all on this machine. Prints the
tenant's times before and during the attack; the server's memory before, at most during and 10 s after it;
and how many of the attacker's connections the server still has then. `nice` lowers the attacker's
priority, because an attacker's machine would have its own cores.
"""

import argparse
import datetime
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.server import ROOT

from . import machine
from .attackers import Kind, kinds
from .figures import percentile
from .lab import Copy, Lab, Tenant
from .load import Connection, run
from .speech import http_reply
from .workloads import cycle

CONNECTIONS = 32
AFTER_S = 10
BEFORE_S = 3.0
P99_MS, MORE_MB = 250, 100
"""The limits during an attack."""


class Measured(NamedTuple):
    """Milliseconds, megabytes and counts of one attack."""

    name: str
    words: str
    before: dict[str, float]
    during: dict[str, float]
    memory: tuple[float, float, float]
    left: int
    opened: int
    sent_mb: float

    def kept(self) -> bool:
        """Whether the limits were kept."""
        before, most, after = self.memory
        grown = max(most, after) - before
        return self.during["p99"] < P99_MS and grown < MORE_MB and self.left == 0


def tenant(port: int, workspace: str, key: str, seconds: float) -> None:
    """The tenant's process: prints its times as JSON. A closed connection ends it with a Fault."""
    who = Tenant(workspace, key)
    connections = [Connection(port, cycle(who, number), http_reply) for number in range(CONNECTIONS)]
    sample = run(connections, 0.2, seconds - 0.2)
    took = [taken for kind in sample.latencies.values() for taken in kind]
    times = {"p50": percentile(took, 0.5) / 1e6, "p99": percentile(took, 0.99) / 1e6, "max": max(took) / 1e6}
    print(json.dumps({**times, "rate": sample.requests / sample.seconds}))


class Server:
    """The server of one attack, on a copy of a prepared site."""

    def __init__(self, lab: Lab, kind: Kind) -> None:
        self.copy = Copy(lab, lab.embedded_site)
        self.tenant = self.copy.tenants[0]
        self.process = self.copy.server(frozenset(range(machine.count())), {}, kind.descriptors)
        assert self.process.process is not None
        self.pid = self.process.process.pid
        self.most = 0.0
        self._watching = True
        self._watch = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while self._watching:
            self.most = max(self.most, self.memory())
            time.sleep(0.1)

    def memory(self) -> float:
        """Resident memory in MB."""
        return machine.memory_mb([self.pid])

    def sockets(self) -> int:
        """How many sockets the process has."""
        found = 0
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                found += str(link.readlink()).startswith("socket:")
            except OSError:
                continue
        return found

    def run_tenant(self, seconds: float) -> dict[str, float]:
        """The tenant's times."""
        arguments = ["tenant", str(self.process.port), *self.tenant, str(seconds)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.attacks", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=seconds + 60,
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1]
            print(f"  the tenant failed: {last}", file=sys.stderr)
            return {"p50": float("inf"), "p99": float("inf"), "max": float("inf"), "rate": 0.0}
        times: dict[str, float] = json.loads(done.stdout)
        return times

    def measure(self, name: str, kind: Kind, seconds: float) -> Measured:
        """Attack the server; returns what was measured."""
        before = self.run_tenant(BEFORE_S)
        sockets, memory = self.sockets(), self.memory()
        self._watch.start()
        attacker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.bench.attackers",
                name,
                str(self.process.port),
                *self.tenant,
                str(seconds),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert attacker.stdout is not None and attacker.stdin is not None
        try:
            time.sleep(1)
            during = self.run_tenant(seconds - 1)
            opened, sent = attacker.stdout.readline().split()
            time.sleep(AFTER_S)
            self._watching = False
            left = max(0, self.sockets() - sockets)
            figures = (memory, self.most, self.memory())
        finally:
            attacker.stdin.close()
            attacker.wait(30)
        return Measured(name, kind.words, before, during, figures, left, int(opened), int(sent) / 1e6)

    def stop(self) -> None:
        """Stop the server."""
        self._watching = False
        self.process.kill()
        self.copy.remove()


def row(measured: Measured) -> str:
    """One line of the table."""
    before, most, after = measured.memory
    cells = [
        measured.name,
        measured.words,
        f"{measured.sent_mb:.0f}",
        str(measured.opened),
        *(f"{measured.before[at]:.0f} / {measured.during[at]:.0f}" for at in ("p50", "p99")),
        f"{before:.0f} / {most:.0f} / {after:.0f}",
        str(measured.left),
        "✓" if measured.kept() else "✗",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| attack | what | MB sent | connections opened | p50 ms, before / during | p99 ms, before / during "
    "| memory MB, before / at most / after | left after 10 s | |\n|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Attack, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.attacks", description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose name begins so: A1,A3 half,…")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each attack lasts, at most 20")
    options = parser.parse_args()
    seconds = min(20.0, options.seconds)
    wanted = tuple(options.only.split(",")) if options.only else ("",)
    rows = []
    with Lab() as lab:
        for name, kind in kinds("", "").items():
            if not name.startswith(wanted):
                continue
            print(f"{name}: {kind.words}", file=sys.stderr, flush=True)
            server = Server(lab, kind)
            try:
                rows.append(row(server.measure(name, kind, seconds)))
            finally:
                server.stop()
            print(rows[-1], file=sys.stderr, flush=True)
    host: dict[str, Any] = machine.describe()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    print(HEAD, *rows, sep="\n")
    print(f"\n{today}, {host['cpu']}, {host['cores']} cores, {host['memoryGb']} GB, Python {host['python']}.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["tenant"]:
        tenant(int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5]))
    else:
        main()
