"""The engine for several processes: PostgreSQL, one advisory lock a workspace, rows as one document.

READ COMMITTED is pinned: each statement after the lock sees all that was committed before the lock was had.
Under REPEATABLE READ the snapshot would be older than the wait for the lock, and two requests that each close
half a cycle would both pass.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg

from . import (
    GUARDED,
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
from . import postgres_sql as sql
from .postgres_session import OPTIONS, SESSION, Connection


def lock_number(text: str) -> int:
    """The 64-bit number of the advisory lock that stands for `text`."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"lease-authority").digest()
    return int.from_bytes(digest, "big", signed=True)


def document(rows: Sequence[Row]) -> str:
    """Rows as the JSON array of arrays that `postgres_sql.rows` reads; claims are UTF-8 already."""
    return orjson.dumps(rows, default=bytes.decode).decode()


@contextmanager
def _faults(fault: type[StorageFault] = StorageFault) -> Iterator[None]:
    try:
        yield
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        raise WriteRefused(f"{type(error).__name__}: {error}") from error
    except psycopg.Error as error:
        raise fault(f"{type(error).__name__}: {error}") from error


class PostgresEngine:
    """See `Engine`. Connects when first needed and again after a lost connection."""

    shared = True

    def __init__(self, conninfo: Mapping[str, Any]) -> None:
        """`conninfo`: keyword parameters of `psycopg.connect`: host, port, dbname, user, password … How
        patient a session is, it does not say: less so than the pages."""
        options = f"{conninfo.get('options', '')} {OPTIONS}"
        self._conninfo = {**conninfo, **SESSION, "options": options}
        self._open: psycopg.Connection[Any] | None = None
        self._within = False  # a transaction, which is lost with its connection
        self.statements = 0

    @property
    def _db(self) -> psycopg.Connection[Any]:
        if self._open is None or self._open.closed:
            if self._within:
                raise psycopg.OperationalError("the connection was lost within a transaction")
            self._open = Connection.connect(**self._conninfo, autocommit=True)
        return self._open

    def _execute(self, query: str, params: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        self.statements += 1
        return self._db.execute(query.encode(), params)

    def _begin(self, statement: str) -> None:
        self._execute(statement)
        self._within = True

    def _all(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        with _faults():
            return self._execute(query, params).fetchall()

    def begin(self, workspaces: Sequence[str]) -> Begun:
        locks = sorted(lock_number(workspace) for workspace in workspaces)
        with _faults(), self._db.pipeline():
            self._begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            self._execute("SELECT pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) AS k", [locks])
            begun = self._execute(
                f"SELECT {sql.CLOCK}, (SELECT max(at) FROM lease_pulse),"
                " current_setting('transaction_isolation'), current_setting('synchronous_commit')"
            )
            outages = self._execute("SELECT since, until FROM lease_outage")
            clock, pulse, isolation, durable = begun.fetchone() or ()
            if isolation != "read committed" or durable == "off":
                raise StorageFault(f"isolation is {isolation}, synchronous_commit is {durable}")
            return Begun(clock, pulse, outages.fetchall())

    def load(self, want: Wanted, now: int) -> Loaded:
        with _faults(), self._db.pipeline():
            due_in, tenants = list(want.due_in), list(want.tenants)
            resources = self._execute(sql.RESOURCES, [now, document(want.resources), due_in])
            agents = self._execute(sql.AGENTS, [document(want.agents)]) if want.agents else None
            known = self._execute(sql.TENANTS, [tenants]) if tenants else None
            return Loaded(
                resources.fetchall(),
                agents.fetchall() if agents is not None else [],
                known.fetchall() if known is not None else [],
            )

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        if not active and not contended:
            return Members([], [], [])
        with _faults(), self._db.pipeline():
            leases = self._execute(sql.LEASES, [document(active)])
            if not contended:
                return Members(leases.fetchall(), [], [])
            waits = self._execute(sql.WAITS, [document(contended)])
            refusals = self._execute(sql.REFUSALS, [document(contended)])
            return Members(leases.fetchall(), waits.fetchall(), refusals.fetchall())

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        return self._all(sql.AGENTS, [document(keys)]) if keys else []

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        return [
            (workspace, name)
            for workspace, name in self._all(
                sql.REACH, [list(column) for column in zip(*agents, strict=True)]
            )
        ]

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        with _faults():
            with self._db.pipeline():
                made = [
                    (name, len(changes[name]), self._execute(sql.WRITE[name], [document(changes[name])]))
                    for name in WRITES
                    if changes.get(name)
                ]
            for name, count, cursor in made:
                if name in GUARDED and cursor.rowcount != count:
                    raise WriteRefused(f"{name} met {cursor.rowcount} rows instead of {count}")

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        with _faults():
            self._execute("SELECT pg_advisory_xact_lock(%s)", [lock_number("outage")])
            (pulse,) = self._execute("SELECT max(at) FROM lease_pulse").fetchone() or (None,)
            latest = self._execute(
                "SELECT since, until FROM lease_outage ORDER BY since DESC LIMIT 1"
            ).fetchone()
            if latest is not None and latest[0] >= since:
                return tuple(latest)
            if pulse is not None and now - pulse <= after_ms:
                return None
            self._execute("INSERT INTO lease_outage (since, until) VALUES (%s, %s)", [since, now])
            return since, now

    def commit(self, process: str | None, now: int) -> None:
        with _faults(InDoubt):
            with self._db.pipeline():
                if process is not None:
                    self._execute(sql.PULSE, [process, now])
                done = self._execute("COMMIT")
            if done.statusmessage != "COMMIT":
                raise StorageFault(f"the commit became a {done.statusmessage}")
        self._within = False

    def rollback(self) -> None:
        self._within = False
        try:
            if self._open is not None:
                self._open.rollback()
        except psycopg.Error:
            self.close()

    @contextmanager
    def reading(self) -> Iterator[Begun]:
        try:
            with _faults(), self._db.pipeline():
                self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                clock = self._execute(f"SELECT {sql.CLOCK}")
                outages = self._execute("SELECT since, until FROM lease_outage")
                begun = Begun((clock.fetchone() or (None,))[0], None, outages.fetchall())
            yield begun
        finally:
            self.rollback()

    def _names(self, query: str, *params: Any) -> list[str]:
        return [name for (name,) in self._all(query, params)]

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
        """As `Engine.outbox`; by a lock of the transaction, which the server ends if this process hangs."""
        query = (
            "SELECT receipt_id, workspace, kid, claims FROM lease_outbox WHERE kid = ANY(%s::text[])"
            " ORDER BY id LIMIT %s"
        )
        try:
            with _faults():
                self._begin("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
            mine = self._all("SELECT pg_try_advisory_xact_lock(%s)", [lock_number("outbox")])[0][0]
            yield self._all(query, [list(kids), limit]) if mine else []
        finally:
            self.rollback()

    def next_due(self) -> int | None:
        rows = self._all("SELECT min(due_at) FROM lease_resource WHERE due_at IS NOT NULL")
        return None if rows[0][0] is None else int(rows[0][0])

    def due_workspaces(self, now: int, limit: int) -> list[str]:
        query = (
            "SELECT DISTINCT workspace FROM (SELECT workspace FROM lease_resource WHERE due_at <= %s"
            " ORDER BY due_at LIMIT %s) AS due"
        )
        return self._names(query, now, limit)

    def latest(self) -> int:
        (row,) = self._all(f"SELECT {sql.CLOCK}")
        return int(row[0])

    def resources_after(self, after: Key, limit: int) -> list[Row]:
        query = (
            "SELECT workspace, name, due_at, used_at FROM lease_resource WHERE (workspace, name) > (%s, %s)"
            " ORDER BY workspace, name LIMIT %s"
        )
        return self._all(query, [*after, limit])

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        keys = document([(workspace, name) for name in names])
        rows = self._all(sql.PURGE, [keys, unused_since, workspace])
        return int(rows[0][0])

    def forget_history(self, before: int, limit: int) -> int:
        with _faults():
            self._execute("DELETE FROM lease_outage WHERE until < %s", [before])
            return self._execute(
                "DELETE FROM lease_trust_move WHERE at < %s"
                " AND id = ANY(ARRAY(SELECT id FROM lease_trust_move ORDER BY id LIMIT %s))",
                [before, limit],
            ).rowcount

    def forget_pulses(self, older_ms: int) -> None:
        with _faults():
            query = "DELETE FROM lease_pulse WHERE at < (SELECT max(at) FROM lease_pulse) - %s"
            self._execute(query, [older_ms])

    def close(self) -> None:
        if self._open is not None:
            try:
                self._open.close()
            except psycopg.Error:
                return  # it was lost already
            finally:
                self._open = None
