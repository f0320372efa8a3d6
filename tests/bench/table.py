"""The rows of the table: which server does what; and the targets for them."""

from collections.abc import Callable
from dataclasses import dataclass

from .contestants import (
    Before,
    Contestant,
    Echo,
    Embedded,
    Etcd,
    Filled,
    OnPostgres,
    Redis,
    TwoOnPostgres,
)
from .dashboards import dashboards
from .hand_over import hand_over
from .workloads import (
    Workload,
    alone,
    echo,
    etcd_cycle,
    many_workspaces,
    one_workspace,
    redis_cycle,
    stampede,
)


@dataclass(frozen=True)
class Row:
    """One row. `quick` rows are part of the quick run."""

    key: str
    contestant: type[Contestant]
    what: str
    workload: Workload
    quick: bool = False


# The order of measurement: compared rows are neighbours, because a shared machine changes its pace from
# minute to minute.
ROWS = (
    Row("echo.128", Echo, "128 connections", echo(128)),
    Row("echo.32", Echo, "32 connections", echo(32), quick=True),
    Row("embedded.32", Embedded, "32 connections, one workspace", one_workspace(32), quick=True),
    Row("embedded.128", Embedded, "128 connections, one workspace", one_workspace(128)),
    Row("embedded.many.32", Embedded, "32 connections, many workspaces", many_workspaces(32)),
    Row("embedded.stampede", Embedded, "50 agents on one held resource", stampede, quick=True),
    Row("embedded.alone", Embedded, "1 connection, and durable writes of this disk", alone, quick=True),
    Row("embedded.handover", Embedded, "hand-over to a waiting request", hand_over),
    Row("etcd.32", Etcd, "32 connections", etcd_cycle(32), quick=True),
    Row("etcd.128", Etcd, "128 connections", etcd_cycle(128)),
    Row("postgres.32", OnPostgres, "32 connections, one workspace", one_workspace(32), quick=True),
    Row("postgres.128", OnPostgres, "128 connections, one workspace", one_workspace(128)),
    Row("postgres.many.32", OnPostgres, "32 connections, many workspaces", many_workspaces(32)),
    Row("postgres.many.128", OnPostgres, "128 connections, many workspaces", many_workspaces(128)),
    Row("postgres.stampede", OnPostgres, "50 agents on one held resource", stampede),
    Row("postgres.alone", OnPostgres, "1 connection, and durable writes of this disk", alone),
    Row("postgres2.32", TwoOnPostgres, "32 connections, one workspace", one_workspace(32)),
    Row("postgres2.128", TwoOnPostgres, "128 connections, one workspace", one_workspace(128)),
    Row("postgres2.many.32", TwoOnPostgres, "32 connections, many workspaces", many_workspaces(32)),
    Row("postgres2.many.128", TwoOnPostgres, "128 connections, many workspaces", many_workspaces(128)),
    Row("postgres2.handover", TwoOnPostgres, "hand-over to a waiting request", hand_over),
    Row("embedded.boards", Embedded, "32 connections, 1 000 live sockets, 1 000 events/s", dashboards),
    Row("filled.boards", Filled, "32 connections, 1 000 live sockets, 1 000 events/s", dashboards),
    Row("redis.32", Redis, "32 connections", redis_cycle(32), quick=True),
    Row("redis.128", Redis, "128 connections", redis_cycle(128)),
    Row("before.32", Before, "32 connections, one workspace", one_workspace(32), quick=True),
)

APART = 4
"""So many cores keep two servers, their database and the load apart."""

Value = Callable[[str, str], float]
"""The figure of a row by name, in one round."""


@dataclass(frozen=True)
class Target:
    """A ratio or a figure of one round, and its target: `least` means at least, otherwise at most.

    `cores`: on fewer cores, the figure shows how cores are shared and not how fast the server is.
    """

    words: str
    unit: str
    bound: float
    least: bool
    value: Callable[[Value], float]
    cores: int = 2


def _ratio(row: str, other: str, name: str = "cycles_s") -> Callable[[Value], float]:
    return lambda value: value(row, name) / value(other, name)


TARGETS = (
    Target("embedded, 32: cycles, of etcd's", "×", 2.5, True, _ratio("embedded.32", "etcd.32")),
    Target(
        "embedded, 32: requests, of the bare echo's",
        "×",
        0.3,
        True,
        _ratio("embedded.32", "echo.32", "requests_s"),
    ),
    Target("PostgreSQL, 32: cycles, of etcd's", "×", 2.0, True, _ratio("postgres.32", "etcd.32")),
    Target("PostgreSQL, 128: cycles, of etcd's", "×", 2.4, True, _ratio("postgres.128", "etcd.128")),
    Target(
        "two processes, many workspaces, 128: cycles, of one's",
        "×",
        1.6,
        True,
        _ratio("postgres2.many.128", "postgres.many.128"),
        cores=APART,
    ),
    Target(
        "two processes, one workspace, 128: cycles, of one's",
        "×",
        0.9,
        True,
        _ratio("postgres2.128", "postgres.128"),
        cores=APART,
    ),
    Target(
        "embedded, stampede: refusals, of grants",
        "×",
        1.0,
        True,
        lambda value: value("embedded.stampede", "refusals_s") / value("embedded.32", "cycles_s"),
    ),
    Target(
        "embedded, alone: acquire p50, of a durable commit",
        "×",
        3.0,
        False,
        lambda value: value("embedded.alone", "p50_ms") / value("embedded.alone", "commit_p50_ms"),
    ),
    Target(
        "embedded, alone: acquire p99, of a durable commit",
        "×",
        3.0,
        False,
        lambda value: value("embedded.alone", "p99_ms") / value("embedded.alone", "commit_p99_ms"),
    ),
    Target(
        "hand-over, embedded: p99",
        "ms",
        10,
        False,
        lambda value: value("embedded.handover", "p99_ms"),
    ),
    Target(
        "hand-over, across processes: p99",
        "ms",
        30,
        False,
        lambda value: value("postgres2.handover", "p99_ms"),
    ),
    Target(
        "1 000 sockets at 1 000 events/s: cost of acquire",
        "%",
        15,
        False,
        lambda value: value("embedded.boards", "cost_percent"),
    ),
    Target(
        "100 000 live leases and 1 000 sockets: memory of the process",
        "MB",
        200,
        False,
        lambda value: value("filled.boards", "memory_mb"),
    ),
)
