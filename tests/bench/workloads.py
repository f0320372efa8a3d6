"""The requests to a server, and the figures that result.

Each workload gets a running contestant and a timing, and returns its figures by name: rates per second,
times in milliseconds, and `load_busy`, the share of its core that the client used.
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nacl.signing import SigningKey

from intramedial.identity.did import did_key_from_public

from . import machine
from .contestants import Contestant
from .figures import percentile
from .lab import Tenant
from .load import Connection, Sample, Step, run, say
from .machine import pinned
from .speech import Fault, Reply, base64_text, http_reply, post, resp, resp_reply

API = "/api/v1/acp/coordination"
STAMPEDE = 50


class Timing(NamedTuple):
    """How long a run lasts: the part that does not count, and the part that does."""

    warm_up_s: float
    measure_s: float


Metrics = dict[str, float]
Workload = Callable[[Contestant, Timing], Metrics]


def did(number: int) -> str:
    """The did:key of the agent with that number, always the same."""
    return did_key_from_public(bytes(SigningKey(number.to_bytes(32)).verify_key))


def lease(tenant: Tenant, resource: str, agent: int | str, prefer: str = "") -> bytes:
    """An acquire; `agent` is a number or a DID."""
    return _ask(tenant, "lease", resource, agent, prefer)


def release(tenant: Tenant, resource: str, agent: int) -> bytes:
    """A release."""
    return _ask(tenant, "release", resource, agent)


def _ask(tenant: Tenant, verb: str, resource: str, agent: int | str, prefer: str = "") -> bytes:
    headers = [f"Authorization: Bearer {tenant.key}", *([f"Prefer: {prefer}"] if prefer else [])]
    actor = did(agent) if isinstance(agent, int) else agent
    return post(f"{API}/{verb}", {"resource": resource, "actorDid": actor}, *headers)


# --- cycles -------------------------------------------------------------------------------------------------


def cycle(tenant: Tenant, number: int) -> list[Step]:
    """Acquire and release of its own resource by its own agent."""
    resource = f"lock:bench/{number}"
    return [
        Step("acquire", lease(tenant, resource, number)),
        Step("release", release(tenant, resource, number)),
    ]


def one_workspace(connections: int) -> Workload:
    """Cycles on different resources of one workspace."""
    return lambda server, timing: _cycles(
        server, timing, [cycle(server.tenants[0], number) for number in range(connections)]
    )


def many_workspaces(connections: int) -> Workload:
    """Cycles on different resources, spread over all workspaces."""

    def steps(server: Contestant) -> list[list[Step]]:
        tenants = server.tenants
        return [cycle(tenants[number % len(tenants)], number) for number in range(connections)]

    return lambda server, timing: _cycles(server, timing, steps(server))


class _EtcdCycle:
    """Lease, lock, revoke (which unlocks) of its own name."""

    def __init__(self, number: int) -> None:
        self._name = base64_text(f"bench/{number}")
        self._lease = ""

    def steps(self) -> list[Step]:
        grant = post("/v3/lease/grant", {"TTL": 30})
        return [Step("lease", grant), Step("acquire", self._lock), Step("release", self._revoke)]

    def _lock(self, granted: bytes) -> bytes:
        self._lease = json.loads(granted)["ID"]
        return post("/v3/lock/lock", {"name": self._name, "lease": self._lease})

    def _revoke(self, locked: bytes) -> bytes:
        return post("/v3/lease/revoke", {"ID": self._lease})


def etcd_cycle(connections: int) -> Workload:
    """etcd's own way to lock and unlock."""
    return lambda server, timing: _cycles(
        server, timing, [_EtcdCycle(number).steps() for number in range(connections)]
    )


_UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"


def redis_cycle(connections: int) -> Workload:
    """The lock in Redis's own documentation: SET NX PX, and deletion only by the client that set it."""

    def steps(sha: str, number: int) -> list[Step]:
        name, owner = f"bench/{number}", did(number)
        return [
            Step("acquire", resp("SET", name, owner, "NX", "PX", "30000"), b"+"),
            Step("release", resp("EVALSHA", sha, "1", name, owner), b":"),
        ]

    def measure(server: Contestant, timing: Timing) -> Metrics:
        loaded = say(server.port, resp("SCRIPT", "LOAD", _UNLOCK), resp_reply)
        sha = loaded.body.split(b"\r\n")[1].decode()
        every = [steps(sha, number) for number in range(connections)]
        return _cycles(server, timing, every, resp_reply)

    return measure


def echo(connections: int) -> Workload:
    """A request like ours, sent back."""
    steps = [Step("acquire", lease(Tenant("ws_none", "imk_" + "0" * 49), "lock:bench/0", 0))]
    return lambda server, timing: _cycles(server, timing, [steps] * connections)


def _cycles(
    server: Contestant,
    timing: Timing,
    conversations: Sequence[Sequence[Step]],
    frame: Callable[[bytes], Reply | None] = http_reply,
) -> Metrics:
    with pinned(server.cores.load):
        connections = [Connection(server.port, steps, frame) for steps in conversations]
        sample = run(connections, timing.warm_up_s, timing.measure_s)
    return {
        "cycles_s": sample.cycles / sample.seconds,
        "requests_s": sample.requests / sample.seconds,
        "load_busy": sample.busy,
        **_latency(sample, "acquire"),
    }


def _latency(sample: Sample, kind: str) -> Metrics:
    took = sample.latencies[kind]
    return {"p50_ms": percentile(took, 0.5) / 1e6, "p99_ms": percentile(took, 0.99) / 1e6}


# --- a single request ---------------------------------------------------------------------------------------

WRITES_A_SECOND = 100  # of the measured time, so that more time means more writes


def alone(server: Contestant, timing: Timing) -> Metrics:
    """Acquire without other load; SQLite's commit of a small row and a file's fsync, before and after.

    The commits and fsyncs run on the server's core, in the file system of the server's directory.
    """
    half = max(50, int(timing.measure_s * WRITES_A_SECOND))
    commits, syncs = _writes(server, half)
    metrics = one_workspace(1)(server, timing) | server.settle()
    more_commits, more_syncs = _writes(server, half)
    for name, took in (("commit", commits + more_commits), ("fsync", syncs + more_syncs)):
        metrics[f"{name}_p50_ms"] = percentile(took, 0.5) * 1e3
        metrics[f"{name}_p99_ms"] = percentile(took, 0.99) * 1e3
    return metrics


def _writes(server: Contestant, count: int) -> tuple[list[float], list[float]]:
    with pinned(server.cores.server):
        directory = server.lab.directory
        return machine.sqlite_commits_s(directory, count), machine.fsyncs_s(directory, count)


# --- one resource for all -----------------------------------------------------------------------------------


def stampede(server: Contestant, timing: Timing) -> Metrics:
    """Refusals: fifty agents ask without a pause for a resource that another holds."""
    tenant, resource = server.tenants[0], "lock:bench/hot"
    held = say(server.port, lease(tenant, resource, STAMPEDE), http_reply)
    if held.status != b"200":
        raise Fault(f"the hot resource was not granted: {held.body[:300]!r}")
    steps = [[Step("acquire", lease(tenant, resource, agent), b"409")] for agent in range(STAMPEDE)]
    metrics = _cycles(server, timing, steps)
    say(server.port, release(tenant, resource, STAMPEDE), http_reply)
    return {"refusals_s": metrics.pop("cycles_s"), **metrics}
