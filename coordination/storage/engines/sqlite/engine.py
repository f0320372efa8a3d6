"""The embedded engine: one SQLite file, one connection that writes it, durable on commit."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

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

from . import sql
from .files import Keeper
from .session import FileLock, connect, faults, lock_path
from .standing import SqliteStanding

# One statement: for each, this thread lets go of the interpreter and has to get it back.
_BEGUN = "SELECT max(at), NULL FROM lease_pulse UNION ALL SELECT since, until FROM lease_outage"


class SqliteEngine(SqliteStanding):
    """See `Engine`. BEGIN IMMEDIATE is the lock of every workspace at once: there is one writer."""

    shared = False

    def __init__(self, path: Path | str, readonly: bool = False, marked: bool = False) -> None:
        """`readonly`: a second connection, to look while another process or thread is the writer. `marked`:
        keep a mark beside the file, and see after each commit that the file is still in its place.

        Raises StorageFault when there is no file, or another process is its writer.
        """
        path = Path(path)
        self._lock = None if readonly else FileLock(lock_path(path))
        self._keeper: Keeper | None = None
        self.marker: Marker | None = None
        try:
            self._db = connect(path, "read" if readonly else "write")
            try:
                if marked:
                    self.marker = Marker(path.parent, alone=True)
                    self._keeper = Keeper(path, self._db, self.marker)
            except (StorageFault, OSError):
                self._db.close()
                raise
        except (StorageFault, OSError) as error:
            if self._lock is not None:
                self._lock.release()
            if isinstance(error, StorageFault):
                raise
            raise StorageFault(f"the mark in {path.parent}: {error.strerror}") from error
        self._granted: Sequence[Grant] = ()
        self._written = 0
        self.token_floor = 0 if readonly else self._floor()

    def _rows(self, query: str, keys: Iterable[Sequence[object]]) -> list[Row]:
        """One prepared statement a key: a look-up costs microseconds here, and needs no list of keys."""
        execute = self._db.execute
        with faults():
            return [row for key in keys for row in execute(query, key)]

    def begin(self, workspaces: Sequence[str], horizon: int | None = None) -> Begun:
        if self._keeper is not None and self._keeper.lost:
            self._keeper.check()
        with faults():
            self._db.execute("BEGIN IMMEDIATE")
            (pulse, _), *outages = self._db.execute(_BEGUN).fetchall()
        return Begun(None, pulse, outages, token_floor=self.token_floor)

    def load(self, want: Wanted, now: int) -> Loaded:
        due = "SELECT workspace, name FROM lease_resource WHERE due_at <= ? AND due_at > 0 AND workspace = ?"
        keys = dict.fromkeys(want.resources)
        keys.update(dict.fromkeys(self._rows(due, [(now, workspace) for workspace in want.due_in])))
        tenants = "SELECT workspace, active, token_floor FROM lease_tenant WHERE workspace = ?"
        return Loaded(
            self._rows(sql.RESOURCE, keys),
            self.agents(want.agents),
            self._rows(tenants, [(workspace,) for workspace in want.tenants]),
        )

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        return Members(
            self._rows(sql.LEASE + sql.HERE + "token", active),
            self._rows(sql.WAIT + sql.HERE + "id", contended),
            self._rows(sql.REFUSAL + sql.HERE + "id", contended),
        )

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        return self._rows(sql.AGENT, keys)

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        found: list[Key] = []
        for start in range(0, len(agents), 400):  # SQLite limits the terms of one VALUES
            part = agents[start : start + 400]
            query = sql.REACH.format(seeds=", ".join(["(?, ?)"] * len(part)))
            found += self._rows(query, [[value for key in part for value in key]])
        return found

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        self._granted = changes.get(GRANTED, ())
        with faults():
            for name in WRITES:
                rows = changes.get(name)
                if rows:
                    count = self._write(sql.WRITE[name], rows)
                    self._written += len(rows)
                    if name in GUARDED and count != len(rows):
                        raise WriteRefused(f"{name} met {count} rows instead of {len(rows)}")

    def _write(self, statements: sql.Statements, rows: Sequence[Row]) -> int:
        """Write these rows; how many were met. By few statements: at each, the driver lets other threads run,
        and then has to wait for them."""
        met = start = 0
        for size, statement in statements.items():
            while len(rows) - start >= size:
                part = rows[start : start + size]
                met += self._db.execute(statement, tuple(chain.from_iterable(part))).rowcount
                start += size
        return met

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        with faults():
            self._db.execute("INSERT INTO lease_outage (since, until) VALUES (?, ?)", (since, now))
        return since, now

    def commit(self, process: str | None, now: int) -> None:
        with faults(InDoubt):
            if process is not None:
                self._db.execute(sql.PULSE, (process, now))
            self._db.execute("COMMIT")
        if self._keeper is not None:
            pulse = now if process is not None else None
            granted, rows, self._granted, self._written = self._granted, self._written + 1, (), 0
            self._keeper.committed(granted, pulse, rows)

    def rollback(self) -> None:
        self._granted, self._written = (), 0
        self._quietly(lambda: self._db.execute("ROLLBACK") if self._db.in_transaction else None)

    @contextmanager
    def reading(self) -> Iterator[Begun]:
        try:
            with faults():
                self._db.execute("BEGIN")
                outages = self._db.execute("SELECT since, until FROM lease_outage").fetchall()
            yield Begun(None, None, outages)
        finally:
            self.rollback()

    def _names(self, query: str, *params: object) -> list[str]:
        return [name for (name,) in self._rows(query, [params])]

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        return self._names(sql.ACTIVE_NAMES, workspace, after, limit)

    def contended_names(self, workspace: str) -> list[str]:
        query = (
            "SELECT resource FROM lease_wait WHERE workspace = ?1"
            " UNION SELECT resource FROM lease_refusal WHERE workspace = ?1"
        )
        return self._names(query, workspace)

    def refused(self, workspace: str) -> list[Row]:
        return self._rows("SELECT resource, agent FROM lease_refusal WHERE workspace = ?", [(workspace,)])

    def names_of(self, workspace: str, agent: str) -> list[str]:
        query = (
            "SELECT resource FROM lease_lease WHERE workspace = ?1 AND agent = ?2"
            " UNION SELECT resource FROM lease_wait WHERE workspace = ?1 AND agent = ?2"
        )
        return self._names(query, workspace, agent)

    @contextmanager
    def outbox(self, limit: int, kids: Sequence[str]) -> Iterator[list[Row]]:
        query = (
            "SELECT receipt_id, workspace, kid, claims FROM lease_outbox"
            f" WHERE kid IN ({', '.join('?' * len(kids))}) ORDER BY id LIMIT ?"
        )
        yield self._rows(query, [(*kids, limit)])

    def outbox_size(self) -> tuple[int, int]:
        [(rows, claims)] = self._rows(sql.OUTBOX_SIZE, [()])
        return rows, claims

    def next_due(self) -> int | None:
        with faults():
            (due,) = self._db.execute(
                "SELECT min(due_at) FROM lease_resource WHERE due_at IS NOT NULL"
            ).fetchone()
        return None if due is None else int(due)

    def due(self, now: int, limit: int) -> list[Row]:
        query = "SELECT workspace, name, due_at FROM lease_resource WHERE due_at <= ? ORDER BY due_at LIMIT ?"
        return self._rows(query, [(now, limit)])

    def latest(self) -> int:
        if self._keeper is not None:
            self._keeper.check()
        with faults():
            (latest,) = self._db.execute("SELECT max(at) FROM lease_pulse").fetchone()
        return 0 if latest is None else int(latest)

    def resources_after(self, after: Key, limit: int) -> list[Row]:
        query = (
            "SELECT workspace, name, due_at, used_at FROM lease_resource WHERE (workspace, name) > (?, ?)"
            " ORDER BY workspace, name LIMIT ?"
        )
        return self._rows(query, [(*after, limit)])

    def purge(self, workspace: str, names: Sequence[str], unused_since: int) -> int:
        idle = (
            "DELETE FROM lease_resource WHERE workspace = ? AND name = ? AND due_at IS NULL AND used_at < ?"
            " RETURNING last_token"
        )
        tokens = [token for (token,) in self._rows(idle, [(workspace, name, unused_since) for name in names])]
        if tokens:
            with faults():
                self._db.execute(sql.RAISE_FLOOR, (workspace, max(tokens)))
        return len(tokens)

    def tenants_after(self, after: str, limit: int) -> list[str]:
        query = "SELECT workspace FROM lease_tenant WHERE workspace > ? ORDER BY workspace LIMIT ?"
        return self._names(query, after, limit)

    def forget_tenant(self, workspace: str, limit: int) -> int:
        if self._rows(sql.BUSY, [(workspace, workspace)]):
            return 0
        with faults():
            gone = sum(self._db.execute(part, (workspace, limit)).rowcount for part in sql.FORGET_TENANT)
        tokens = self._rows(sql.FORGET_RESOURCES, [(workspace, limit)])
        if not gone and not tokens:
            tokens = self._rows(sql.FORGET_FLOOR, [(workspace,)])
        if tokens:
            with faults():
                self._db.execute(sql.RAISE_FLOOR, (UNKNOWN, max(token for (token,) in tokens)))
        return gone + len(tokens)

    def forget_history(self, before: int, limit: int) -> int:
        with faults():
            self._db.execute("DELETE FROM lease_outage WHERE until < ?", (before,))
            return self._db.execute(
                "DELETE FROM lease_trust_move WHERE at < ?"
                " AND id IN (SELECT id FROM lease_trust_move ORDER BY id LIMIT ?)",
                (before, limit),
            ).rowcount

    def forget_pulses(self, older_ms: int) -> None:
        with faults():
            self._db.execute(
                "DELETE FROM lease_pulse WHERE at < (SELECT max(at) FROM lease_pulse) - ?", (older_ms,)
            )

    def close(self) -> None:
        if self._keeper is not None:
            self._quietly(self._keeper.close)
            self._keeper = None
        self._quietly(self._db.close)
        if self._lock is not None:
            self._lock.release()

    def _quietly(self, action: Callable[[], object]) -> None:
        try:
            action()
        except sqlite3.Error:
            return  # the transaction is gone with its connection; the next one starts afresh
