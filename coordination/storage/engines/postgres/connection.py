"""The connection of the PostgreSQL engine: opened when it is needed, and again after it was lost."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from coordination.storage.engines.base import Row, StorageFault, WriteRefused

from . import sql
from .session import NAME, Session, Statement, StatementResult

logger = logging.getLogger(__name__)


@contextmanager
def faults(fault: type[StorageFault] = StorageFault) -> Iterator[None]:
    """Raise WriteRefused when PostgreSQL refuses the rows, and `fault` for all its other errors."""
    try:
        yield
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        raise WriteRefused(f"{type(error).__name__}: {error}") from error
    except psycopg.Error as error:
        raise fault(f"{type(error).__name__}: {error}") from error


class PostgresConnection:
    """One session at a time. All statements of a transaction run in the same session."""

    def __init__(self, conninfo: Mapping[str, Any]) -> None:
        """`conninfo`: keyword parameters of `psycopg.connect`: host, port, dbname, user, password … The
        settings of a session are the engine's own; see `session.py`."""
        self._conninfo = dict(conninfo)
        self._open: Session | None = None
        self._within = False  # a transaction, which ends when its connection is lost
        self._writes: list[Statement] = []  # of the transaction; they are sent with the commit
        self.statements = 0

    def _session(self) -> Session:
        if self._open is None or self._open.closed:
            if self._within:
                raise psycopg.OperationalError("the connection was lost within a transaction")
            self._open = Session(self._conninfo)
        return self._open

    def _ask(self, *statements: Statement) -> list[StatementResult]:
        self.statements += len(statements)
        return self._session().ask(*statements)

    def _begin(self, *statements: Statement) -> list[StatementResult]:
        """Begin a transaction with the first statement; returns the answers to the others."""
        session = self._session()
        self._within = True
        self.statements += len(statements)
        return session.ask(*statements)[1:]

    def _end_still_holders(self, locks: Sequence[int], still_ms: int) -> int:
        """End the sessions that hold one of these locks and whose client has sent nothing for `still_ms`;
        returns how many. A process that is frozen in a transaction would keep its workspaces from all other
        processes, and PostgreSQL's own time limits do not apply in the middle of an exchange."""
        ended = self._ask((sql.END_STILL_HOLDERS, [list(locks), NAME, still_ms]))[0].rows
        if ended:
            logger.warning(
                "ended the transaction of a process that stands still and holds what others wait for",
                extra={"backends": ", ".join(str(backend) for (backend,) in ended)},
            )
        return len(ended)

    def _all(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        with faults():
            return self._ask((query, params))[0].rows

    def _names(self, query: str, *params: Any) -> list[str]:
        return [name for (name,) in self._all(query, params)]

    def rollback(self) -> None:
        """See `Engine`."""
        self._within = False
        self._writes = []
        try:
            if self._open is not None and not self._open.closed and not self._open.idle:
                self._ask(("ROLLBACK", ()))
        except psycopg.Error:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._open is not None:
            try:
                self._open.close()
            except psycopg.Error:
                return  # it was lost already
            finally:
                self._open = None
