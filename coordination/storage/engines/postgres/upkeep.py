"""The PostgreSQL engine's house-keeping: what is looked through and forgotten in small steps."""

from collections.abc import Sequence

from coordination.storage.engines.base import UNKNOWN, Key, Row
from coordination.wire.ids import new_stamp

from . import sql
from .connection import PostgresConnection, faults


class PostgresUpkeep(PostgresConnection):
    """The part of `PostgresEngine` that looks through its tables and forgets."""

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
                a.count for a in self._ask(*((part, [workspace, limit]) for part in sql.FORGET_TENANT))
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
        return moves.count

    def forget_pulses(self, older_ms: int) -> None:
        self._all("DELETE FROM lease_pulse WHERE at < (SELECT max(at) FROM lease_pulse) - %s", [older_ms])
