"""The row of a PostgreSQL database about itself, by which a copy of the database is recognised.

The row names the database in which it was written: the cluster's system identifier and timeline, and the
number of the database. One of them differs after a dump was restored into another database, after a database
was made from a template, and after a cluster was put back to a point in time. A dump that is restored into
the same database writes the row again: then its `xmin` is another transaction than the one that the row
names.
"""

from collections.abc import Callable

import orjson
import psycopg

from coordination.storage.engines.base import Standing

from .connection import PostgresConnection, faults
from .session import Session

_STANDING = (
    "SELECT database_id, token_floor, restored_at, why, made_in,"
    " (xmin::text::bigint = written_by & 4294967295) FROM lease_database WHERE name = 'this'"
)
_HIGHEST = (
    "SELECT greatest((SELECT max(last_token) FROM lease_resource),"
    " (SELECT max(token_floor) FROM lease_tenant),"
    " (SELECT token_floor FROM lease_database WHERE name = 'this'), 0)"
)
_LAST = (
    "SELECT greatest((SELECT max(last_token) FROM lease_resource WHERE workspace = %s AND name = %s),"
    " (SELECT token_floor FROM lease_tenant WHERE workspace = %s))"
)
_PUT = (
    "INSERT INTO lease_database (name, database_id, token_floor, restored_at, why, made_in, written_by)"
    " VALUES ('this', %s, %s, %s, %s, %s, txid_current()) ON CONFLICT (name) DO UPDATE"
    " SET database_id = excluded.database_id, token_floor = excluded.token_floor,"
    " restored_at = excluded.restored_at, why = excluded.why, made_in = excluded.made_in,"
    " written_by = excluded.written_by"
)
# The transaction of every grant reads the row. So all of them end before this lock is taken, and no other
# starts before it is released.
_LOCK = "LOCK TABLE lease_database IN ACCESS EXCLUSIVE MODE"
# Each has its own query: some installations let only administrators read one or the other.
_PLACE = {
    "database": "SELECT oid::text FROM pg_database WHERE datname = current_database()",
    "timeline": "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)",
    "cluster": "SELECT system_identifier::text FROM pg_control_system()",
}
_OTHER = {
    "database": "it is another database than the one in which tokens were given",
    "timeline": "its cluster was put back to a point in time, or a standby took over",
    "cluster": "it is in another cluster than the one in which tokens were given",
}


def place(session: Session) -> dict[str, str]:
    """Which database this is: the parts of `_PLACE` that this user may read."""
    found = {}
    for name, query in _PLACE.items():
        try:
            found[name] = session.ask((query, ()))[0].rows[0][0]
        except psycopg.Error:
            if session.closed:
                raise
    return found


class PostgresStanding(PostgresConnection):
    """The part of `PostgresEngine` that recognises which database this is."""

    def commit(self, process: str | None, now: int) -> None:
        """See `Engine`."""
        raise NotImplementedError

    def _place(self) -> dict[str, str]:
        with faults():
            return place(self._session())

    def standing(self) -> Standing | None:
        """See `Engine`."""
        rows = self._all(_STANDING)
        return Standing(*rows[0][:4]) if rows else None

    def pulse(self) -> int | None:
        """See `Engine`."""
        pulse = self._all("SELECT max(at) FROM lease_pulse")[0][0]
        return None if pulse is None else int(pulse)

    def moved(self) -> str:
        """See `Engine`."""
        rows = self._all(_STANDING)
        if not rows:
            return ""
        made_in, written_here = rows[0][4:]
        then, now = orjson.loads(made_in or "{}"), self._place()
        for name in _OTHER:
            if name in then and name in now and then[name] != now[name]:
                return _OTHER[name]
        return "" if written_here else "its rows were written anew, from a dump"

    def token(self, workspace: str, resource: str) -> int | None:
        """See `Engine`."""
        token = self._all(_LAST, [workspace, resource, workspace])[0][0]
        standing = self.standing()
        return None if token is None else max(int(token), standing.token_floor if standing else 0)

    def introduce(self, database_id: str) -> Standing:
        """See `Engine`."""
        return self._put("", lambda highest: Standing(database_id))

    def raise_floor(self, known: str, new: Standing, floor: Callable[[int], int]) -> Standing:
        """See `Engine`."""
        return self._put(known, lambda highest: new._replace(token_floor=floor(highest)))

    def highest(self) -> int:
        """See `Engine`."""
        return int(self._all(_HIGHEST)[0][0])

    def _put(self, known: str, new: Callable[[int], Standing]) -> Standing:
        made_in = orjson.dumps(self._place()).decode()
        try:
            with faults():
                self._begin(("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ()))
            self._all(_LOCK)
            standing = self.standing()
            if (standing.database_id if standing is not None else "") == known:
                standing = new(self.highest())
                self._all(_PUT, [*standing, made_in])
            self.commit(None, 0)
        except BaseException:
            self.rollback()
            raise
        assert standing is not None
        return standing
