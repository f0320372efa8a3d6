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
    Standing,
    StorageFault,
    Wanted,
    WriteRefused,
)
from coordination.storage.engines.mark import Grant, Marker

from . import sql
from .files import Keeper
from .session import FileLock, connect, faults, lock_path

# One statement, because for each statement this thread releases the interpreter and has to wait for it again.
_BEGUN = "SELECT max(at), NULL FROM lease_pulse UNION ALL SELECT since, until FROM lease_outage"
_STANDING = "SELECT database_id, token_floor, restored_at, why FROM lease_database WHERE name = 'this'"
_HIGHEST = (
    "SELECT max(coalesce((SELECT max(last_token) FROM lease_resource), 0),"
    " coalesce((SELECT max(token_floor) FROM lease_tenant), 0))"
)
_LAST = (
    "SELECT max(last_token) FROM (SELECT last_token FROM lease_resource WHERE workspace = ?1 AND name = ?2"
    " UNION ALL SELECT token_floor FROM lease_tenant WHERE workspace = ?1)"
)
_PUT = (
    "INSERT INTO lease_database (name, database_id, token_floor, restored_at, why, made_in, written_by)"
    " VALUES ('this', ?, ?, ?, ?, '', 0) ON CONFLICT (name) DO UPDATE SET database_id = excluded.database_id,"
    " token_floor = excluded.token_floor, restored_at = excluded.restored_at, why = excluded.why"
)


class SqliteEngine:
    """See `Engine`. BEGIN IMMEDIATE locks all workspaces at once: there is one writer."""

    shared = False

    def __init__(self, path: Path | str, readonly: bool = False, marked: bool = False) -> None:
        """`readonly`: a second connection, to read while another process or thread is the writer. `marked`:
        keep a mark beside the file, and check after each commit that the file is still in its place.

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
        """The rows of a prepared statement for each key. A look-up takes microseconds here."""
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
        """Write these rows; returns how many were met. Few statements are used, because at each the driver
        releases the interpreter to other threads, and then has to wait for it."""
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

    # --- the database as a whole -------------------------------------------------------------------

    def _floor(self) -> int:
        """The floor of tokens; 0 on a file without the table, which is older than this program or still
        empty."""
        try:
            standing = self._db.execute(_STANDING).fetchone()
        except sqlite3.Error:
            return 0
        return 0 if standing is None else int(standing[1])

    def standing(self) -> Standing | None:
        """See `Engine`."""
        with faults():
            row = self._db.execute(_STANDING).fetchone()
        return None if row is None else Standing(*row)

    def pulse(self) -> int | None:
        """See `Engine`."""
        with faults():
            (pulse,) = self._db.execute("SELECT max(at) FROM lease_pulse").fetchone()
        return None if pulse is None else int(pulse)

    def moved(self) -> str:
        """See `Engine`: a copy is recognised by its files here, not by its rows."""
        return ""

    def token(self, workspace: str, resource: str) -> int | None:
        """See `Engine`."""
        with faults():
            (token,) = self._db.execute(_LAST, (workspace, resource)).fetchone()
        return None if token is None else max(int(token), self.token_floor)

    def introduce(self, database_id: str) -> Standing:
        """See `Engine`."""
        return self._put("", lambda highest: Standing(database_id))

    def raise_floor(self, known: str, new: Standing, floor: Callable[[int], int]) -> Standing:
        """See `Engine`. Raises StorageFault for a damaged file: the log of another state may have been
        applied to it."""
        with faults():
            sound = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if sound != "ok":
            raise StorageFault(
                f"the database of leases is damaged ({sound}). Put a sound backup in place with"
                " `manage.py restore FROM`"
            )
        return self._put(known, lambda highest: new._replace(token_floor=floor(highest)))

    def highest(self) -> int:
        """See `Engine`."""
        with faults():
            return int(self._db.execute(_HIGHEST).fetchone()[0])

    def _put(self, known: str, new: Callable[[int], Standing]) -> Standing:
        """Reading and then writing needs no transaction: there is no other writer."""
        standing = self.standing()
        if (standing.database_id if standing is not None else "") == known:
            standing = new(max(self.highest(), self.token_floor))
            with faults():
                self._db.execute(_PUT, standing)
        assert standing is not None
        self.token_floor = standing.token_floor
        return standing

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
            return  # the transaction has ended with its connection
