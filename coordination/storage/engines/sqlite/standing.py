"""What an SQLite database knows of itself: its id, the floor of its tokens, when it was restored."""

import sqlite3
from collections.abc import Callable

from coordination.storage.engines.base import Standing, StorageFault

from .session import faults

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


class SqliteStanding:
    """A part of `SqliteEngine`."""

    _db: sqlite3.Connection
    token_floor: int

    def _floor(self) -> int:
        """0 on a file without the table: it is older than this program, or it is still empty."""
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
        """See `Engine`: the files tell of it here, not the rows."""
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
        """See `Engine`. A file that is damaged is a StorageFault: a log of another state may have been played
        onto it."""
        with faults():
            sound = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if sound != "ok":
            raise StorageFault(
                f"the database of leases is damaged ({sound}). Put a sound backup in place with"
                " `manage.py restore FROM`"
            )
        return self._put(known, lambda highest: new._replace(token_floor=floor(highest)))

    def highest(self) -> int:
        """The highest fencing token on record."""
        with faults():
            return int(self._db.execute(_HIGHEST).fetchone()[0])

    def _put(self, known: str, new: Callable[[int], Standing]) -> Standing:
        """Nobody else writes here: one who reads and then writes meets what was read."""
        standing = self.standing()
        if (standing.database_id if standing is not None else "") == known:
            standing = new(max(self.highest(), self.token_floor))
            with faults():
                self._db.execute(_PUT, standing)
        assert standing is not None
        self.token_floor = standing.token_floor
        return standing
