"""The engine for several processes: PostgreSQL, one advisory lock a workspace, rows as one document.

READ COMMITTED is pinned: each statement after the lock sees all that was committed before the lock was had.
Under REPEATABLE READ the snapshot would be older than the wait for the lock, and two requests that each close
half a cycle would both pass.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from . import (
    GRANTED,
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
from .mark import Grant, Marker
from .postgres_session import OPTIONS, SESSION, Answer, Session, Statement, document, faults
from .postgres_standing import PostgresStanding
from .postgres_upkeep import PostgresUpkeep


def lock_number(text: str) -> int:
    """The 64-bit number of the advisory lock that stands for `text`."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"lease-authority").digest()
    return int.from_bytes(digest, "big", signed=True)


class PostgresEngine(PostgresStanding, PostgresUpkeep):
    """See `Engine`. Connects when first needed and again after a lost connection."""

    shared = True

    def __init__(self, conninfo: Mapping[str, Any], marker: Marker | None = None) -> None:
        """`conninfo`: keyword parameters of `psycopg.connect`: host, port, dbname, user, password … How
        patient a session is, it does not say: less so than the pages. `marker` keeps this process's mark."""
        options = f"{conninfo.get('options', '')} {OPTIONS}"
        self._conninfo = {**conninfo, **SESSION, "options": options}
        self._open: Session | None = None
        self._within = False  # a transaction, which is lost with its connection
        self._unsaid: list[Statement] = []  # its writes, which go with the commit
        self.statements = 0
        self.marker = marker
        self._granted: Sequence[Grant] = ()
        self.met: Callable[[], None] | None = None  # called before the first transaction of each session
        self._known: Session | None = None  # whose database was met
        self._version: str | None = None  # of what the database knows of itself

    def _session(self) -> Session:
        if self._open is None or self._open.closed:
            if self._within:
                raise psycopg.OperationalError("the connection was lost within a transaction")
            self._open = Session(self._conninfo)
        return self._open

    def _ask(self, *statements: Statement) -> list[Answer]:
        self.statements += len(statements)
        return self._session().ask(*statements)

    def _begin(self, statement: str, *more: Statement) -> list[Answer]:
        """Begin a transaction; the answers to what is asked besides."""
        session = self._session()
        self._within = True
        self.statements += 1 + len(more)
        return session.ask((statement, ()), *more)[1:]

    def _all(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        with faults():
            return self._ask((query, params))[0].rows

    def begin(self, workspaces: Sequence[str], horizon: int | None = None) -> Begun:
        locks = sorted(lock_number(workspace) for workspace in workspaces)
        self._meet()
        with faults():
            _, begun, outages, stamps = self._begin(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
                (sql.LOCKS, [locks]),
                (sql.BEGUN, [horizon]),
                (sql.OUTAGES, ()),
                (sql.STAMPS, [list(workspaces)]),
            )
        [(clock, pulse, due, standing, isolation, durable)] = begun.rows
        if isolation != "read committed" or durable == "off":
            raise StorageFault(f"isolation is {isolation}, synchronous_commit is {durable}")
        floor, _, version = (standing or "").partition(" ")
        if self.met is not None and version != self._version:
            if self._version is not None:  # the row was written anew: by a restore, or a process that saw one
                self.rollback()
                return self.begin(workspaces, horizon)
            self._version = version
        due_from = (clock if horizon is None else horizon) + 1 if due is None else due
        return Begun(clock, pulse, outages.rows, dict(stamps.rows), due_from, int(floor or 0))

    def _meet(self) -> None:
        """A session may lead to another database than the one before it did."""
        with faults():
            session = self._session()
        if self.met is not None and session is not self._known:
            self._version = None
            self.met()
            self._known = self._open

    def load(self, want: Wanted, now: int) -> Loaded:
        statements: dict[str, Statement] = {
            "resources": (sql.RESOURCES, [now, list(want.due_in), document(want.resources)])
        }
        if want.agents:
            statements["agents"] = sql.AGENTS, [document(want.agents)]
        if want.tenants:
            statements["tenants"] = sql.TENANTS, [list(want.tenants)]
        found = self._named(statements)
        return Loaded(found["resources"], found.get("agents", []), found.get("tenants", []))

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        statements: dict[str, Statement] = {}
        if active:
            statements["leases"] = sql.LEASES, [document(active)]
        if contended:
            statements["waits"] = sql.WAITS, [document(contended)]
            statements["refusals"] = sql.REFUSALS, [document(contended)]
        found = self._named(statements)
        return Members(*(found.get(name, []) for name in ("leases", "waits", "refusals")))

    def _named(self, statements: Mapping[str, Statement]) -> dict[str, list[Row]]:
        """The rows of each, by its name."""
        with faults():
            answers = self._ask(*statements.values()) if statements else []
        return {name: answer.rows for name, answer in zip(statements, answers, strict=True)}

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        return self._all(sql.AGENTS, [document(keys)]) if keys else []

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        columns = [list(column) for column in zip(*agents, strict=True)]
        return [(workspace, name) for workspace, name in self._all(sql.REACH, columns)]

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        """As `Engine.write`; nothing is sent before `commit`, which is what a write is refused by."""
        self._granted = changes.get(GRANTED, ())
        for name in WRITES:
            if rows := changes.get(name):
                guard = [len(rows)] if name in GUARDED else []
                self._unsaid.append((sql.WRITE[name], [document(rows), *guard]))

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        with faults():
            _, pulses, outages = self._ask(
                ("SELECT pg_advisory_xact_lock(%s)", [lock_number("outage")]),
                ("SELECT max(at) FROM lease_pulse", ()),
                ("SELECT since, until FROM lease_outage ORDER BY since DESC LIMIT 1", ()),
            )
            pulse = pulses.rows[0][0]
            if outages.rows and outages.rows[0][0] >= since:
                return outages.rows[0]
            if pulse is not None and now - pulse <= after_ms:
                return None
            self._ask(("INSERT INTO lease_outage (since, until) VALUES (%s, %s)", [since, now]))
            return since, now

    def commit(self, process: str | None, now: int) -> None:
        statements, self._unsaid = self._unsaid, []
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
        self._within = False
        self._known = None  # what failed may have failed because another database is there
        self._unsaid, self._granted = [], ()
        try:
            if self._open is not None and not self._open.closed and not self._open.idle:
                self._ask(("ROLLBACK", ()))
        except psycopg.Error:
            self._hang_up()

    @contextmanager
    def reading(self) -> Iterator[Begun]:
        try:
            with faults():
                clock, outages = self._begin(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                    (f"SELECT {sql.CLOCK}", ()),
                    (sql.OUTAGES, ()),
                )
            yield Begun(clock.rows[0][0], None, outages.rows)
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
            with faults():
                self._begin("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
            mine = self._all("SELECT pg_try_advisory_xact_lock(%s)", [lock_number("outbox")])[0][0]
            yield self._all(query, [list(kids), limit]) if mine else []
        finally:
            self.rollback()

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

    def close(self) -> None:
        if self.marker is not None:
            self.marker.close()
            self.marker = None
        self._hang_up()

    def _hang_up(self) -> None:
        if self._open is not None:
            try:
                self._open.close()
            except psycopg.Error:
                return  # it was lost already
            finally:
                self._open = None
