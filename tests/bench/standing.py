"""One of our servers whose data stay from one start to the next, and measurements of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.server import ROOT

from . import fill
from .contestants import Ours
from .figures import percentile
from .lab import Copy, Lab, Site
from .load import Connection, Sample, Step, run, say
from .machine import memory_mb, pinned
from .speech import get, http_reply
from .workloads import API, cycle

READ_S = 1.0


class Standing(Ours):
    """A context for the data; `running()` is a context for the server over them."""

    def __init__(self, lab: Lab, site: Site) -> None:
        super().__init__(lab)
        self.copied = self.copy = Copy(lab, site)
        self.env = fill.SERVER
        self.start_s = self.reclaimed_s = 0.0

    def __enter__(self) -> "Standing":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @contextmanager
    def running(self) -> Iterator[None]:
        """The server runs inside the context; `start_s` is the time until it was ready."""
        begun = time.monotonic()
        self.server = self.copied.server(self.cores.server, self.env)
        self.start_s = time.monotonic() - begun
        self.port = self.server.port
        try:
            yield
        finally:
            self.server.terminate()
            self.server = None

    def _speak(self, conversations: list[list[Step]], seconds: float) -> Sample:
        with pinned(self.cores.load):
            connections = [Connection(self.port, steps, http_reply) for steps in conversations]
            sample = run(connections, seconds / 3, seconds)
        self.settle()
        return sample

    def acquire(self, tenant: int, seconds: float) -> tuple[float, float, float]:
        """p50 and p99 in ms of an acquire alone, and cycles/s of 32 connections."""
        alone = self._speak([cycle(self.tenants[tenant], 0)], seconds).latencies["acquire"]
        sample = self._speak([cycle(self.tenants[tenant], number) for number in range(32)], seconds)
        p50, p99 = (percentile(alone, share) / 1e6 for share in (0.5, 0.99))
        return p50, p99, sample.cycles / sample.seconds

    def acquires_ms(self, tenant: int, seconds: float) -> list[float]:
        """How long each acquire of a single agent took."""
        with pinned(self.cores.load):
            connection = Connection(self.port, cycle(self.tenants[tenant], 0), http_reply)
            return [took / 1e6 for took in run([connection], 0.0, seconds).latencies["acquire"]]

    def wait_until_reclaimed(self, ends_at: int) -> None:
        """Return when nothing stored ended at `ends_at` or before; `reclaimed_s` is how late that is."""
        query = f"SELECT 1 FROM lease_resource WHERE due_at <= {int(ends_at)} LIMIT 1"
        with self.copied.leases() as database:
            while database.execute(query).fetchone() is not None:
                time.sleep(0.02)
        self.reclaimed_s = time.time() - ends_at / 1000

    def first_ms(self, request: bytes) -> float:
        """How long one request takes, with any answer."""
        with pinned(self.cores.load):
            begun = time.perf_counter()
            say(self.port, request, http_reply)
            return (time.perf_counter() - begun) * 1000

    def read_ms(self, path: str, tenant: int = 0) -> float:
        """The median time of a GET without other load."""
        request = get(path, f"Authorization: Bearer {self.tenants[tenant].key}")
        return self.alone_ms(Step("get", request), READ_S)

    def alone_ms(self, step: Step, seconds: float) -> float:
        """The median time of one request, repeated without other load."""
        return percentile(self._speak([[step]], seconds).latencies[step.kind], 0.5) / 1e6

    def wait_ms(self, tenant: int, query: str) -> float:
        """The median time of GET wait."""
        return self.read_ms(f"{API}/wait?{query}", tenant)

    @property
    def memory_mb(self) -> float:
        """The server's resident memory."""
        return memory_mb(self.pids)

    def inside(self, *arguments: str) -> Any:
        """What `inside` measures over these data, while no server runs."""
        data = {"INTRAMEDIAL_DATA_DIR": str(self.copied.data_dir)}
        env = {**os.environ, **self.copied.env, **self.env, **data}
        with pinned(self.cores.server):
            output = subprocess.run(
                [sys.executable, "-m", "tests.bench.inside", *arguments],
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        return json.loads(output)

    def bytes_of_leases(self) -> int:
        """The size of the authority's tables and indexes."""
        if "DATABASE_URL" in self.copied.env:
            query = (
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
                " WHERE relkind = 'r' AND relname LIKE 'lease\\_%'"
            )
        else:
            query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        with self.copied.leases() as database:
            return int(database.execute(query).fetchone()[0])
