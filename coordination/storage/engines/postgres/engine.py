"""The engine for several processes: PostgreSQL, an advisory lock for each workspace, rows as one document.

READ COMMITTED is pinned: each statement after the lock sees all that was committed before the lock was taken.
Under REPEATABLE READ the snapshot would be older than the wait for the lock, and two requests that each close
half a cycle would both be granted.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from coordination.storage.engines.base import (
    GRANTED,
    GUARDED,
    UNKNOWN,
    WRITES,
    Begun,
    InDoubt,
    Key,
    Loaded,
    Members,
    Row,
    StorageFault,
    Wanted,
    WriteRefused,
)
from coordination.storage.engines.mark import Grant, Marker
from coordination.wire.ids import new_stamp

from . import sql
from .connection import faults
from .session import MISPREPARED, Session, Statement
from .standing import PostgresStanding

STILL_MS = 1_500  # the session of a lock's holder is ended when it has sent nothing for so long
OUTBOX_IDLE_MS = 10_000


def lock_number(text: str) -> int:
    """The 64-bit number of the advisory lock that stands for `text`."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"lease-authority").digest()
    return int.from_bytes(digest, "big", signed=True)


class PostgresEngine(PostgresStanding):
    """See `Engine`. Connects when first needed and again after a lost connection."""

    shared = True

    def __init__(self, conninfo: Mapping[str, Any], marker: Marker | None = None) -> None:
        """`conninfo`: see `PostgresConnection`. `marker` keeps this process's mark."""
        super().__init__(conninfo)
        self.marker = marker
        self._granted: Sequence[Grant] = ()
        self.met: Callable[[], None] | None = None  # called before the first transaction of each session
        self._known: Session | None = None  # the session for which `met` was called
        self._version: str | None = None  # of the row of the database about itself

    def begin(self, workspaces: Sequence[str], horizon: int | None = None) -> Begun:
        locks = sorted(lock_number(workspace) for workspace in workspaces)
        asked: list[Statement] = [
            ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ()),
            (sql.LOCKS, [locks]),
            (sql.BEGUN, [horizon]),
            (sql.OUTAGES, ()),
            (sql.STAMPS, [list(workspaces)]),
        ]
        self._meet()
        with faults():
            try:
                _, begun, outages, stamps = self._begin(*asked)
            except MISPREPARED:
                self.rollback()
                _, begun, outages, stamps = self._begin(*asked)
            except psycopg.errors.LockNotAvailable:
                self.rollback()
                if not self._end_still_holders(locks, STILL_MS):
                    raise
                _, begun, outages, stamps = self._begin(*asked)
        [(clock, pulse, due, standing, isolation, durable)] = begun.rows
        if isolation != "read committed" or durable == "off":
            raise StorageFault(f"isolation is {isolation}, synchronous_commit is {durable}")
        floor, _, version = (standing or "").partition(" ")
        if self.met is not None and version != self._version:
            if (
                self._version is not None
            ):  # the row was written again: by a restore, or by a process that recognised one
                self.rollback()
                return self.begin(workspaces, horizon)
            self._version = version
        due_from = (clock if horizon is None else horizon) + 1 if due is None else due
        return Begun(clock, pulse, outages.rows, dict(stamps.rows), due_from, int(floor or 0))

    def _meet(self) -> None:
        """Call `met` for a new session: it may be connected to another database than the one before."""
        with faults():
            session = self._session()
        if self.met is not None and session is not self._known:
            self._version = None
            self.met()
            self._known = self._open

    def load(self, want: Wanted, now: int) -> Loaded:
        statements: dict[str, Statement] = {
            "resources": (sql.RESOURCES, [now, list(want.due_in), sql.document(want.resources)])
        }
        if want.agents:
            statements["agents"] = sql.AGENTS, [sql.document(want.agents)]
        if want.tenants:
            statements["tenants"] = sql.TENANTS, [list(want.tenants)]
        found = self._named(statements)
        return Loaded(found["resources"], found.get("agents", []), found.get("tenants", []))

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        statements: dict[str, Statement] = {}
        if active:
            statements["leases"] = sql.LEASES, [sql.document(active)]
        if contended:
            statements["waits"] = sql.WAITS, [sql.document(contended)]
            statements["refusals"] = sql.REFUSALS, [sql.document(contended)]
        found = self._named(statements)
        return Members(*(found.get(name, []) for name in ("leases", "waits", "refusals")))

    def _named(self, statements: Mapping[str, Statement]) -> dict[str, list[Row]]:
        """The rows of each statement, by its name."""
        with faults():
            answers = self._ask(*statements.values()) if statements else []
        return {name: answer.rows for name, answer in zip(statements, answers, strict=True)}

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        return self._all(sql.AGENTS, [sql.document(keys)]) if keys else []

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        columns = [list(column) for column in zip(*agents, strict=True)]
        return [(workspace, name) for workspace, name in self._all(sql.REACH, columns)]

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        """As `Engine.write`, but the writes are sent with `commit`, which raises when one is refused."""
        self._granted = changes.get(GRANTED, ())
        for name in WRITES:
            if rows := changes.get(name):
                guard = [len(rows)] if name in GUARDED else []
                self._writes.append((sql.WRITE[name], [sql.document(rows), *guard]))

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        lock = lock_number("outage")
        with faults():
            try:
                _, pulses, outages = self._ask(
                    ("SELECT pg_advisory_xact_lock(%s)", [lock]),
                    ("SELECT max(at) FROM lease_pulse", ()),
                    ("SELECT since, until FROM lease_outage ORDER BY since DESC LIMIT 1", ()),
                )
            except psycopg.errors.LockNotAvailable:
                self.rollback()
                self._end_still_holders([lock], STILL_MS)  # for the next attempt
                raise
            pulse = pulses.rows[0][0]
            if outages.rows and outages.rows[0][0] >= since:
                return outages.rows[0]
            if pulse is not None and now - pulse <= after_ms:
                return None
            self._ask(("INSERT INTO lease_outage (since, until) VALUES (%s, %s)", [since, now]))
            return since, now

    def commit(self, process: str | None, now: int) -> None:
        statements, self._writes = self._writes, []
        if process is not None:
            statements.append((sql.PULSE, [process, now]))
        with faults(InDoubt):
            try:
                *_, done = self._ask(*statements, ("COMMIT", ()))
            except psycopg.errors.DivisionByZero as error:
                raise WriteRefused("a guarded write met other rows than expected") from error
            if done.tag != "COMMIT":
                raise StorageFault(f"the commit became a {done.tag}")
        self._within = False
        granted, self._granted = self._granted, ()
        if self.marker is not None and (granted or process is not None):
            self.marker.note(granted, now if process is not None else None)

    def rollback(self) -> None:
        self._known = None  # the failure may come from a change of database
        self._granted = ()
        super().rollback()

    @contextmanager
    def reading(self) -> Iterator[Begun]:
        try:
            with faults():
                clock, outages = self._begin(
                    ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ()),
                    (f"SELECT {sql.CLOCK}", ()),
                    (sql.OUTAGES, ()),
                )
            yield Begun(clock.rows[0][0], None, outages.rows)
        finally:
            self.rollback()

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        return self._names(sql.ACTIVE_NAMES, *((workspace, after, limit) * 3), limit)

    def contended_names(self, workspace: str) -> list[str]:
        query = (
            "SELECT resource FROM lease_wait WHERE workspace = %s"
            " UNION SELECT resource FROM lease_refusal WHERE workspace = %s"
        )
        return self._names(query, workspace, workspace)

    def refused(self, workspace: str) -> list[Row]:
        return self._all("SELECT resource, agent FROM lease_refusal WHERE workspace = %s", [workspace])

    def names_of(self, workspace: str, agent: str) -> list[str]:
        query = (
            "SELECT resource FROM lease_lease WHERE workspace = %s AND agent = %s"
            " UNION SELECT resource FROM lease_wait WHERE workspace = %s AND agent = %s"
        )
        return self._names(query, workspace, agent, workspace, agent)

    @contextmanager
    def outbox(self, limit: int, kids: Sequence[str]) -> Iterator[list[Row]]:
        """As `Engine.outbox`, by a lock of the transaction, which the server ends when this process hangs.

        Behind a pooler the transaction ends before the block begins, because it would keep a server
        connection from others while the ledger is slow. Then two processes may move the same receipts; the
        ledger adds each only once.
        """
        query = (
            "SELECT receipt_id, workspace, kid, claims FROM lease_outbox WHERE kid = ANY(%s::text[])"
            " ORDER BY id LIMIT %s"
        )
        try:
            with faults():
                _, lock = self._begin(
                    ("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", ()),
                    (sql.IDLE_IN_TRANSACTION, [str(OUTBOX_IDLE_MS)]),
                    ("SELECT pg_try_advisory_xact_lock(%s)", [lock_number("outbox")]),
                )
            rows = self._all(query, [list(kids), limit]) if lock.rows[0][0] else []
            if self._session().pooled:
                self.rollback()
            yield rows
        finally:
            self.rollback()

    def outbox_size(self) -> tuple[int, int]:
        [(rows, claims)] = self._all(sql.OUTBOX_SIZE)
        return rows, claims

    def next_due(self) -> int | None:
        rows = self._all("SELECT min(due_at) FROM lease_resource WHERE due_at IS NOT NULL")
        return None if rows[0][0] is None else int(rows[0][0])

    def due(self, now: int, limit: int) -> list[Row]:
        query = (
            "SELECT workspace, name, due_at FROM lease_resource WHERE due_at <= %s ORDER BY due_at LIMIT %s"
        )
        return self._all(query, [now, limit])

    def latest(self) -> int:
        return int(self._all(f"SELECT {sql.CLOCK}")[0][0])

    # --- housekeeping: looks through the tables and forgets, in small steps ----------------------------

    def resources_after(self, after: Key, limit: int) -> list[Row]:
        query = (
            "SELECT workspace, name, due_at, used_at FROM lease_resource WHERE (workspace, name) > (%s, %s)"
            " ORDER BY workspace, name LIMIT %s"
        )
        return self._all(query, [*after, limit])

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        keys = sql.document([(workspace, name) for name in names])
        rows = self._all(sql.PURGE, [keys, unused_since, workspace, new_stamp()])
        return int(rows[0][0])

    def tenants_after(self, after: str, limit: int) -> list[str]:
        query = "SELECT workspace FROM lease_tenant WHERE workspace > %s ORDER BY workspace LIMIT %s"
        return self._names(query, after, limit)

    def forget_tenant(self, workspace: str, limit: int) -> int:
        if self._all(sql.BUSY, [workspace, workspace])[0][0]:
            return 0
        with faults():
            self._ask((sql.STAMP, [new_stamp(), workspace]))
            gone = sum(
                answer.met
                for answer in self._ask(*((part, [workspace, limit]) for part in sql.FORGET_TENANT))
            )
            tokens = self._ask((sql.FORGET_RESOURCES, [workspace, limit]))[0].rows
            if not gone and not tokens:
                tokens = self._ask((sql.FORGET_FLOOR, [workspace]))[0].rows
            if tokens:
                self._ask((sql.RAISE_FLOOR, [UNKNOWN, max(token for (token,) in tokens)]))
            return gone + len(tokens)

    def forget_history(self, before: int, limit: int) -> int:
        with faults():
            _, moves = self._ask(
                ("DELETE FROM lease_outage WHERE until < %s", [before]),
                (sql.FORGET_MOVES, [limit, before]),
            )
        return moves.met

    def forget_pulses(self, older_ms: int) -> None:
        self._all("DELETE FROM lease_pulse WHERE at < (SELECT max(at) FROM lease_pulse) - %s", [older_ms])

    def close(self) -> None:
        if self.marker is not None:
            self.marker.close()
            self.marker = None
        self._hang_up()
