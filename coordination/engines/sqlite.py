"""The embedded engine: one SQLite file, one connection that writes it, durable on commit."""

import fcntl
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import GUARDED, WRITES, Begun, InDoubt, Key, Loaded, Members, Row, StorageFault, Wanted, WriteRefused

_RESOURCE = (
    "SELECT workspace, name, last_token, due_at, contended FROM lease_resource"
    " WHERE workspace = ? AND name = ?"
)
_AGENT = "SELECT workspace, did, score, releases, expiries FROM lease_agent WHERE workspace = ? AND did = ?"
_LEASE = "SELECT workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at FROM lease_lease"
_WAIT = "SELECT workspace, resource, agent, mode, since, asked_at, offered_at FROM lease_wait"
_REFUSAL = "SELECT workspace, resource, agent, mode, holder, at FROM lease_refusal"
_HERE = " WHERE workspace = ? AND resource = ? ORDER BY "

_WRITE = {
    "resource_insert": "INSERT INTO lease_resource (last_token, due_at, contended, used_at, workspace, name)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "resource_update": "UPDATE lease_resource SET last_token = ?, due_at = ?, contended = ?, used_at = ?"
    " WHERE workspace = ? AND name = ?",
    "lease_delete": "DELETE FROM lease_lease WHERE lease_id = ?",
    "lease_update": "UPDATE lease_lease SET expires_at = ? WHERE lease_id = ?",
    "lease_insert": "INSERT INTO lease_lease (workspace, resource, lease_id, agent, mode, token, acquired_at,"
    " expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "wait_delete": "DELETE FROM lease_wait WHERE workspace = ? AND resource = ? AND agent = ?",
    "wait_update": "UPDATE lease_wait SET asked_at = ?, offered_at = ?"
    " WHERE workspace = ? AND resource = ? AND agent = ?",
    "wait_insert": "INSERT INTO lease_wait (workspace, resource, agent, mode, since, asked_at, offered_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)",
    "refusal_delete": "DELETE FROM lease_refusal WHERE workspace = ? AND resource = ? AND agent = ?",
    "refusal_insert": "INSERT INTO lease_refusal (workspace, resource, agent, mode, holder, at)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "agent_insert": "INSERT INTO lease_agent (score, releases, expiries, workspace, did)"
    " VALUES (?, ?, ?, ?, ?)",
    "agent_update": "UPDATE lease_agent SET score = ?, releases = ?, expiries = ?"
    " WHERE workspace = ? AND did = ?",
    "trust_insert": "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at)"
    " VALUES (?, ?, ?, ?, ?, ?)",
    "tenant_put": "INSERT INTO lease_tenant (active, workspace, token_floor) VALUES (?, ?, 0)"
    " ON CONFLICT (workspace) DO UPDATE SET active = excluded.active",
    "outbox_insert": "INSERT INTO lease_outbox (workspace, receipt_id, kid, claims) VALUES (?, ?, ?, ?)",
    "outbox_delete": "DELETE FROM lease_outbox WHERE receipt_id = ?",
}
# CROSS JOIN keeps the order of the tables: each step starts from the agents just reached, never from all.
_REACH = """
WITH RECURSIVE reach (workspace, agent) AS (
  VALUES {seeds}
  UNION
  SELECT held.workspace, held.agent
    FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
    CROSS JOIN lease_lease AS held ON held.workspace = own.workspace AND held.resource = own.resource
  UNION
  SELECT queued.workspace, queued.agent
    FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
    CROSS JOIN lease_wait AS queued ON queued.workspace = own.workspace AND queued.resource = own.resource
)
SELECT DISTINCT own.workspace, own.resource
  FROM reach CROSS JOIN lease_wait AS own ON own.workspace = reach.workspace AND own.agent = reach.agent
"""


_ACTIVE_NAMES = " UNION ".join(
    "SELECT resource FROM (SELECT DISTINCT resource FROM"
    f" {table} WHERE workspace = ?1 AND resource > ?2 ORDER BY resource LIMIT ?3)"
    for table in ("lease_lease", "lease_wait", "lease_refusal")
)
_ACTIVE_NAMES += " ORDER BY resource LIMIT ?3"
_PULSE = (
    "INSERT INTO lease_pulse (process, at) VALUES (?, ?) ON CONFLICT (process) DO UPDATE SET at = excluded.at"
)
_PRAGMAS = {
    "write": ("journal_mode = WAL", "synchronous = FULL", "cache_size = -32000"),
    "read": ("query_only = ON", "cache_size = -8000"),
}


class FileLock:
    """Held while a process owns the file, so that no second one ever writes beside it."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w")  # noqa: SIM115 (kept open: closing it gives the lock up)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise StorageFault(f"{path}: another process is the authority over this database") from error

    def release(self) -> None:
        self._file.close()


@contextmanager
def _faults(fault: type[StorageFault] = StorageFault) -> Iterator[None]:
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.DataError) as error:
        raise WriteRefused(f"{type(error).__name__}: {error}") from error
    except sqlite3.Error as error:
        raise fault(f"{type(error).__name__}: {error}") from error


def _connect(path: Path | str, pragmas: Iterable[str]) -> sqlite3.Connection:
    with _faults():
        db = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=5
        )
        try:
            for pragma in pragmas:
                db.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            db.close()
            raise
    return db


class SqliteEngine:
    """See `Engine`. BEGIN IMMEDIATE is the lock of every workspace at once: there is one writer."""

    shared = False

    def __init__(self, path: Path | str, readonly: bool = False) -> None:
        """`readonly`: a second connection, to look while another process or thread is the writer."""
        self._lock = None if readonly else FileLock(Path(f"{path}.lock"))
        try:
            self._db = _connect(path, _PRAGMAS["read" if readonly else "write"])
        except StorageFault:
            if self._lock is not None:
                self._lock.release()
            raise

    def _rows(self, sql: str, keys: Iterable[Sequence[object]]) -> list[Row]:
        """One prepared statement a key: a look-up costs microseconds here, and needs no list of keys."""
        execute = self._db.execute
        with _faults():
            return [row for key in keys for row in execute(sql, key)]

    def begin(self, workspaces: Sequence[str]) -> Begun:
        with _faults():
            self._db.execute("BEGIN IMMEDIATE")
            (pulse,) = self._db.execute("SELECT max(at) FROM lease_pulse").fetchone()
            outages = self._db.execute("SELECT since, until FROM lease_outage").fetchall()
        return Begun(None, pulse, outages)

    def load(self, want: Wanted, now: int) -> Loaded:
        keys = dict.fromkeys(want.resources)
        if want.due_in:
            here = set(want.due_in)
            due = self._rows("SELECT workspace, name FROM lease_resource WHERE due_at <= ?", [(now,)])
            keys.update((key, None) for key in due if key[0] in here)
        tenants = "SELECT workspace, active, token_floor FROM lease_tenant WHERE workspace = ?"
        return Loaded(
            self._rows(_RESOURCE, keys),
            self.agents(want.agents),
            self._rows(tenants, [(workspace,) for workspace in want.tenants]),
        )

    def members(self, active: Sequence[Key], contended: Sequence[Key]) -> Members:
        return Members(
            self._rows(_LEASE + _HERE + "token", active),
            self._rows(_WAIT + _HERE + "id", contended),
            self._rows(_REFUSAL + _HERE + "id", contended),
        )

    def agents(self, keys: Sequence[Key]) -> list[Row]:
        return self._rows(_AGENT, keys)

    def reach(self, agents: Sequence[Key]) -> list[Key]:
        found: list[Key] = []
        for start in range(0, len(agents), 400):  # SQLite limits the terms of one VALUES
            part = agents[start : start + 400]
            sql = _REACH.format(seeds=", ".join(["(?, ?)"] * len(part)))
            found += self._rows(sql, [[value for key in part for value in key]])
        return found

    def write(self, changes: Mapping[str, list[Row]]) -> None:
        with _faults():
            for name in WRITES:
                rows = changes.get(name)
                if rows:
                    count = self._db.executemany(_WRITE[name], rows).rowcount
                    if name in GUARDED and count != len(rows):
                        raise WriteRefused(f"{name} met {count} rows instead of {len(rows)}")

    def outage(self, since: int, now: int, after_ms: int) -> Row | None:
        with _faults():
            self._db.execute("INSERT INTO lease_outage (since, until) VALUES (?, ?)", (since, now))
        return since, now

    def commit(self, process: str | None, now: int) -> None:
        with _faults(InDoubt):
            if process is not None:
                self._db.execute(_PULSE, (process, now))
            self._db.execute("COMMIT")

    def rollback(self) -> None:
        self._quietly(lambda: self._db.execute("ROLLBACK") if self._db.in_transaction else None)

    @contextmanager
    def reading(self) -> Iterator[Begun]:
        try:
            with _faults():
                self._db.execute("BEGIN")
                outages = self._db.execute("SELECT since, until FROM lease_outage").fetchall()
            yield Begun(None, None, outages)
        finally:
            self.rollback()

    def _names(self, sql: str, *params: object) -> list[str]:
        return [name for (name,) in self._rows(sql, [params])]

    def active_names(self, workspace: str, after: str, limit: int) -> list[str]:
        return self._names(_ACTIVE_NAMES, workspace, after, limit)

    def contended_names(self, workspace: str) -> list[str]:
        sql = (
            "SELECT resource FROM lease_wait WHERE workspace = ?1"
            " UNION SELECT resource FROM lease_refusal WHERE workspace = ?1"
        )
        return self._names(sql, workspace)

    def has_refusals(self, workspace: str) -> bool:
        return bool(self._names("SELECT 1 FROM lease_refusal WHERE workspace = ? LIMIT 1", workspace))

    def names_of(self, workspace: str, agent: str) -> list[str]:
        sql = (
            "SELECT resource FROM lease_lease WHERE workspace = ?1 AND agent = ?2"
            " UNION SELECT resource FROM lease_wait WHERE workspace = ?1 AND agent = ?2"
        )
        return self._names(sql, workspace, agent)

    def outbox(self, limit: int) -> list[Row]:
        sql = "SELECT receipt_id, workspace, kid, claims FROM lease_outbox ORDER BY id LIMIT ?"
        return self._rows(sql, [(limit,)])

    def next_due(self) -> int | None:
        with _faults():
            (due,) = self._db.execute(
                "SELECT min(due_at) FROM lease_resource WHERE due_at IS NOT NULL"
            ).fetchone()
        return None if due is None else int(due)

    def due_workspaces(self, now: int, limit: int) -> list[str]:
        sql = (
            "SELECT DISTINCT workspace FROM"
            " (SELECT workspace FROM lease_resource WHERE due_at <= ? ORDER BY due_at LIMIT ?)"
        )
        return self._names(sql, now, limit)

    def latest(self) -> int:
        with _faults():
            (latest,) = self._db.execute(
                "SELECT max(coalesce((SELECT max(at) FROM lease_pulse), 0),"
                " coalesce((SELECT max(used_at) FROM lease_resource), 0))"
            ).fetchone()
        return int(latest)

    def purge(self, workspace: str, unused_since: int) -> int:
        idle = " FROM lease_resource WHERE workspace = ? AND due_at IS NULL AND used_at < ?"
        with _faults():
            (floor,) = self._db.execute(f"SELECT max(last_token){idle}", (workspace, unused_since)).fetchone()
            if floor is None:
                return 0
            self._db.execute(
                "INSERT INTO lease_tenant (workspace, active, token_floor) VALUES (?, 0, ?) ON CONFLICT"
                " (workspace) DO UPDATE SET token_floor = max(token_floor, excluded.token_floor)",
                (workspace, floor),
            )
            return self._db.execute(f"DELETE{idle}", (workspace, unused_since)).rowcount

    def idle_workspaces(self, unused_since: int) -> list[str]:
        sql = "SELECT DISTINCT workspace FROM lease_resource WHERE due_at IS NULL AND used_at < ?"
        return self._names(sql, unused_since)

    def forget_history(self, before: int) -> None:
        with _faults():
            self._db.execute("DELETE FROM lease_trust_move WHERE at < ?", (before,))
            self._db.execute("DELETE FROM lease_outage WHERE until < ?", (before,))
            self._db.execute("DELETE FROM lease_pulse WHERE at < ?", (before,))

    def close(self) -> None:
        self._quietly(self._db.close)
        if self._lock is not None:
            self._lock.release()

    def _quietly(self, action: Callable[[], object]) -> None:
        try:
            action()
        except sqlite3.Error:
            return  # the transaction is gone with its connection; the next one starts afresh
