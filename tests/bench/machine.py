"""The machine: its cores, its description, and what a durable write costs on it."""

import os
import platform
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tests.server import ROOT
from tests.services import ServiceError, postgres_program

PACKAGES = ("django", "django-ninja", "uvicorn", "uvloop", "httptools", "orjson", "pynacl", "psycopg")
LOG_BYTES = 6_000_000  # more than SQLite's automatic checkpoint
IN_MEMORY = ("tmpfs", "ramfs")


class Cores(NamedTuple):
    """The cores of the servers and of the load; `note` is empty when they are apart, as they should be."""

    server: frozenset[int]
    load: frozenset[int]
    note: str = ""


def count() -> int:
    """How many cores can be used."""
    return len(os.sched_getaffinity(0))


def cores(servers: int = 1) -> Cores:
    """One core for each server process and the rest for the load, where there are enough."""
    there = sorted(os.sched_getaffinity(0))
    if len(there) > servers + (servers > 1):
        return Cores(frozenset(there[:servers]), frozenset(there[servers:]))
    return Cores(frozenset(there), frozenset(there), f"load and servers share {len(there)} cores")


@contextmanager
def pinned(to: frozenset[int]) -> Iterator[None]:
    """Inside the context, this thread and every process that it starts run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def work_directory() -> Path:
    """A new directory on a disk: in memory, a durable write would cost nothing."""
    for parent in (Path(tempfile.gettempdir()), ROOT / "var"):
        if parent.is_dir() and file_system(parent) not in IN_MEMORY:
            return Path(tempfile.mkdtemp(prefix="intramedial-bench-", dir=parent))
    raise ServiceError("no directory on a disk: set TMPDIR to one")


def file_system(directory: Path) -> str:
    """The type of a directory's file system, `?` where it is not known."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "?"
    inside = [(len(m[1]), m[2]) for m in mounts if directory.resolve().is_relative_to(m[1])]
    return max(inside, default=(0, "?"))[1]


def describe() -> dict[str, Any]:
    """What is needed to compare figures: hardware and versions, without names and paths."""
    return {
        "cpu": _cpu(),
        "cores": count(),
        "memoryGb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "fileSystem": file_system(Path(tempfile.gettempdir())),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: version(name) for name in PACKAGES},
        "programs": {name: found for name in ("etcd", "redis-server", "postgres") if (found := _says(name))},
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _says(program: str) -> str | None:
    """A program's own version number, None if it is not installed."""
    try:
        found = postgres_program(program) if program == "postgres" else shutil.which(program)
    except ServiceError:
        return None
    if found is None:
        return None
    output = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=10).stdout
    words = output.replace("v=", " ").split()
    return next((word for word in words if word[:1].isdigit()), None)


def sqlite_commits_s(directory: Path, count: int) -> list[float]:
    """How long each of `count` durable commits of one small row took (WAL, synchronous=FULL).

    The log has its full size before: a server that has run for a while overwrites its log and does not
    extend it.
    """
    database = sqlite3.connect(directory / "commit.sqlite3", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT)")
    database.execute("INSERT INTO row (text) VALUES (?)", ("x" * LOG_BYTES,))
    database.execute("PRAGMA wal_checkpoint(RESTART)")
    took = []
    for number in range(count):
        begun = time.perf_counter()
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO row (text) VALUES (?)", (f"a small row {number}",))
        database.execute("COMMIT")
        took.append(time.perf_counter() - begun)
    database.close()
    return took


def fsyncs_s(directory: Path, count: int) -> list[float]:
    """How long each of `count` appends of 100 bytes with an fsync took."""
    took = []
    with (directory / "fsync").open("ab", buffering=0) as file:
        for _ in range(count):
            begun = time.perf_counter()
            file.write(b"x" * 100)
            os.fsync(file.fileno())
            took.append(time.perf_counter() - begun)
    return took


def memory_mb(pids: list[int]) -> float:
    """The largest resident memory of some processes, in MB."""
    sizes = []
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                sizes.append(int(line.split()[1]) / 1024)
    return max(sizes)


def cpu_s(pids: list[int]) -> float:
    """The CPU time that some processes have used so far."""
    ticks = 0
    for pid in pids:
        # The second field, a name, may contain spaces.
        after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(after[11]) + int(after[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def process_and_children(pid: int) -> list[int]:
    """A process and its own child processes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]
