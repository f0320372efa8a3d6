"""What contestants share: a directory on a disk, private services, databases that are prepared once."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg

from tests.server import ROOT, ServerProcess
from tests.services import Postgres, Redis

from . import machine
from .machine import pinned

WORKSPACES = 40


class Tenant(NamedTuple):
    """A workspace and a key for it."""

    workspace: str
    key: str


class Site(NamedTuple):
    """A prepared data directory, its database if it is on PostgreSQL, and its tenants."""

    data_dir: Path
    database_url: str
    tenants: list[Tenant]


class Lab(AbstractContextManager["Lab"]):
    """A context that contains everything that a benchmark makes, and deletes it at its end."""

    def __init__(self) -> None:
        self.directory = machine.work_directory()
        self._count = 0

    def __exit__(self, *exception: object) -> None:
        for service in ("postgres", "redis"):
            if service in self.__dict__:
                self.__dict__[service].remove()
        shutil.rmtree(self.directory, ignore_errors=True)

    def place(self, name: str) -> Path:
        """A new path in the lab."""
        self._count += 1
        return self.directory / f"{name}-{self._count}"

    @cached_property
    def postgres(self) -> Postgres:
        """PostgreSQL with its own defaults, durable, on any core. Raises ServiceError when it is not
        installed."""
        return Postgres(durable=True).start()

    @cached_property
    def redis(self) -> Redis:
        """Redis for the channel layer. Raises ServiceError when it is not installed."""
        return Redis().start()

    @cached_property
    def embedded_site(self) -> Site:
        """Databases in SQLite files."""
        return self._prepare("embedded", "")

    @cached_property
    def postgres_site(self) -> Site:
        """One PostgreSQL database for all."""
        name = self.postgres.create_database()
        return self._prepare("postgres", self.postgres.url(name))

    def _prepare(self, name: str, database_url: str) -> Site:
        data_dir = self.place(name)
        data_dir.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.prepare", str(WORKSPACES)],
            cwd=ROOT,
            env={**os.environ, "INTRAMEDIAL_DATA_DIR": str(data_dir), "DATABASE_URL": database_url},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return Site(data_dir, database_url, [Tenant(*made) for made in json.loads(done.stdout)])


class Copy:
    """A server's own copy of a site, to be changed and deleted."""

    def __init__(self, lab: Lab, site: Site) -> None:
        self._lab = lab
        self.tenants = site.tenants
        self.data_dir = lab.place("data")
        shutil.copytree(site.data_dir, self.data_dir)
        self.env: dict[str, str] = {}
        self._database = ""
        if site.database_url:
            self._database = self._copy_database(site.database_url)
            self.env["DATABASE_URL"] = lab.postgres.url(self._database)

    def _copy_database(self, url: str) -> str:
        name = f"copy_{self.data_dir.name.replace('-', '_')}"
        with psycopg.connect(self._lab.postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {urlsplit(url).path[1:]}".encode())
        return name

    def server(self, on: frozenset[int], env: Mapping[str, str], descriptors: int = 0) -> ServerProcess:
        """`manage.py serve` on these cores over this copy; `descriptors` limits its open files, 0 does
        not."""
        server = ServerProcess(self.data_dir, {**self.env, **env})
        server.descriptors = descriptors
        with pinned(on):
            return server.start()

    def leases_waiting_for_ledger(self) -> int:
        """How many receipts the ledger does not have yet."""
        query = "SELECT count(*) FROM lease_outbox"
        with self.leases() as database:
            (count,) = database.execute(query).fetchone()
        return int(count)

    def leases(self) -> "closing[Any]":
        """A connection to the authority's tables, for reading."""
        if self._database:
            return closing(psycopg.connect(self.env["DATABASE_URL"], autocommit=True))
        return closing(sqlite3.connect(f"file:{self.data_dir}/leases.sqlite3?mode=ro", uri=True))

    def remove(self) -> None:
        """Delete the copy."""
        if self._database:
            self._lab.postgres.drop_database(self._database)
        shutil.rmtree(self.data_dir, ignore_errors=True)
