"""How speed changes as tables, chains and logs grow. Each part is a table and names the columns to plot."""

import time
from collections.abc import Callable, Sequence
from subprocess import CalledProcessError
from threading import Thread
from typing import Any

from tests.services import ServiceError

from . import fill
from .contestants import Missing
from .figures import percentile
from .lab import Lab, Site
from .load import Step
from .rounds import say
from .speech import Fault
from .standing import Standing
from .workloads import lease

CHAINS = (10, 100, 1_000, 10_000)
SMALL, FILLED = 0, 1  # the measured tenants: a small workspace beside filled ones, and a filled one

EXPIRY_AFTER_MS, FILL_MS = 10_000, 0.3  # for the start of a server, and for each lease to fill in
RECLAIM_S = 0.2

Rows = list[list[Any]]
Part = dict[str, Any]


def measure(lab: Lab, sizes: Sequence[int], seconds: float, only: tuple[str, ...]) -> list[Part]:
    """The parts whose key begins with one of `only`, or all; a part that cannot be measured has the reason
    instead."""
    parts = []
    for key, title, head, plot, rows in PARTS:
        if not key.startswith(only or ""):
            continue
        say(title)
        part = {"key": key, "title": title, "head": head, "plot": plot}
        try:
            parts.append({**part, "rows": rows(lab, sizes, seconds)})
        except (Missing, Fault, ServiceError, CalledProcessError, AssertionError) as reason:
            parts.append({**part, "rows": [], "missing": str(reason).splitlines()[-1]})
    return parts


def many_workspaces(site: Callable[[Lab], Site]) -> Callable[[Lab, Sequence[int], float], Rows]:
    """Leases of others, a thousand in each workspace, and what they cost a tenant that has few."""

    def measure(lab: Lab, sizes: Sequence[int], seconds: float) -> Rows:
        rows: Rows = []
        filled = 0
        with Standing(lab, site(lab)) as ours:
            for size in sizes:
                say(f"  {size}")
                with fill.store_of(ours.copied) as store:
                    fill.leases(store, filled, size - filled)
                filled = size
                per_lease = ours.bytes_of_leases() / size
                with ours.running():
                    ready = ours.read_ms("/health/ready")
                    speed = ours.acquire(SMALL, seconds)
                    rows.append([size, *speed, ours.start_s, ready, ours.memory_mb, per_lease])
        return rows

    return measure


def one_workspace(lab: Lab, sizes: Sequence[int], seconds: float) -> Rows:
    """Leases of one workspace, and what they cost its own agents and boards."""
    rows: Rows = []
    filled = 0
    with Standing(lab, lab.embedded_site) as ours:
        workspace = ours.tenants[FILLED].workspace
        for size in sizes:
            say(f"  {size}")
            with fill.store_of(ours.copied) as store:
                fill.leases(store, filled, size - filled, workspace)
            filled = size
            snapshot = ours.inside("snapshot", workspace)
            with ours.running():
                speed = ours.acquire(FILLED, seconds)
                page = ours.wait_ms(FILLED, "limit=500")
                one = ours.wait_ms(FILLED, f"resource={fill.resource(size // 2)}")
                agent = ours.read_ms(f"/api/v1/acp/agents?did={fill.agent(size // 2)}", FILLED)
                rows.append([size, *speed, page, one, agent, snapshot, ours.memory_mb])
    return rows


def chains(lab: Lab, sizes: Sequence[int], seconds: float) -> Rows:
    """The deadlock check: an acquire that walks a whole chain of waits, and one that would close it."""
    rows: Rows = []
    for length in CHAINS:
        say(f"  {length}")
        with Standing(lab, lab.embedded_site) as ours:
            tenant, first = ours.tenants[SMALL], "lock:chain/00000"
            with fill.store_of(ours.copied) as store:
                fill.chain(store, tenant.workspace, length, "chain")
            alone = ours.inside("chain", str(length))
            walk = lease(tenant, first, 7, "wait=0")
            close = lease(tenant, first, f"{fill.agent(length - 1)}:chain")
            with ours.running():
                first_ms = ours.first_ms(walk)
                walks = ours.alone_ms(Step("acquire", walk, b"409"), seconds)
                closes = ours.alone_ms(Step("acquire", close, b"409"), seconds)
                queue = ours.wait_ms(SMALL, "resource=lock:chain/00001")
                rows.append([length, alone, walks, first_ms, closes, queue])
    return rows


def expiry(lab: Lab, sizes: Sequence[int], seconds: float) -> Rows:
    """Leases that all expire at the same instant, and what they cost an agent that asks meanwhile."""
    rows: Rows = []
    for size in sizes:
        say(f"  {size}")
        with Standing(lab, lab.embedded_site) as ours:
            ends_at = int(time.time() * 1000 + EXPIRY_AFTER_MS + size * FILL_MS)
            with fill.store_of(ours.copied) as store:
                fill.leases(store, 0, size, ends_at=ends_at)
            with ours.running():
                late = ends_at / 1000 - time.time()
                if late < 0:
                    raise Missing(f"{size} leases ran out {-late:.0f} s before the server was ready")
                time.sleep(late)
                reclaiming = Thread(target=ours.wait_until_reclaimed, args=(ends_at,))
                reclaiming.start()
                took: list[float] = []
                while reclaiming.is_alive():
                    took += ours.acquires_ms(SMALL, RECLAIM_S)
                reclaiming.join()
                rows.append(
                    [size, ours.reclaimed_s, *(percentile(took, share) for share in (0.5, 0.99, 1.0))]
                )
    return rows


def ledger(lab: Lab, sizes: Sequence[int], seconds: float) -> Rows:
    """Appends to the ledger."""
    with Standing(lab, lab.embedded_site) as ours:
        rows: Rows = ours.inside("ledger", *map(str, sizes))
    return rows


_SPEED = ["acquire p50 ms", "acquire p99 ms", "cycles/s, 32 connections"]
_MANY = ["live leases", *_SPEED, "start s", "ready ms", "server MB", "bytes/lease"]
PARTS = (
    (
        "many",
        "Live leases in many workspaces, SQLite",
        _MANY,
        [1, 2],
        many_workspaces(lambda lab: lab.embedded_site),
    ),
    (
        "postgres",
        "Live leases in many workspaces, PostgreSQL",
        _MANY,
        [1, 2],
        many_workspaces(lambda lab: lab.postgres_site),
    ),
    (
        "one",
        "Live leases in one workspace, SQLite",
        [
            "live leases",
            *_SPEED,
            "GET wait, 500, ms",
            "GET wait, one resource, ms",
            "GET agents ms",
            "board's snapshot ms",
            "server MB",
        ],
        [1, 4, 5, 7],
        one_workspace,
    ),
    (
        "chains",
        "Deadlock check over a chain of waits, SQLite",
        [
            "waits",
            "check in memory ms",
            "acquire that walks it ms",
            "its first after a start ms",
            "acquire that closes it ms",
            "GET wait, one resource, ms",
        ],
        [1, 2, 4],
        chains,
    ),
    (
        "expiry",
        "Leases that run out at the same instant, SQLite",
        ["leases", "reclaimed after s", "acquire meanwhile, p50 ms", "p99 ms", "longest ms"],
        [1, 3],
        expiry,
    ),
    ("ledger", "Ledger, SQLite", ["entries", "appends/s", "bytes/entry"], [1], ledger),
)
