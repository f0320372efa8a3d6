"""A single request, beside the cost of a durable write on the same disk at the same time."""

from . import machine
from .contestants import Contestant
from .figures import percentile
from .machine import pinned
from .workloads import Metrics, Timing, one_workspace

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
