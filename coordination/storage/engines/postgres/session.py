"""The session of the PostgreSQL engine: several statements in one exchange, and one wait for all answers.

It uses libpq's pipeline mode through `psycopg.pq`. psycopg's own pipeline sends every statement by itself and
waits for the socket each time, which took longer than the work of the server.
"""

import select
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.errors import error_from_result

from intramedial.postgresql import sessions

# A server that hangs must become an error in time, so that callers get an answer within seconds.
NAME = "intramedial-authority"
SESSION = {
    "client_encoding": "UTF8",
    "connect_timeout": "3",
    "application_name": NAME,
    "tcp_user_timeout": "5000",
    "keepalives_idle": "5",
}
SILENT_S = 8.0  # longer than the server's own limits; for a server that cannot keep to them
LOCK_TIMEOUT_MS = 2_000
PINNED: Mapping[str, str] = {
    **sessions.PINS,
    "statement_timeout": "5000",
    "lock_timeout": str(LOCK_TIMEOUT_MS),
    "idle_in_transaction_session_timeout": "3000",
    # The planner's statistics are wrong for tables that change within seconds. So each statement is written
    # for one index, planned once, and kept from reading whole tables.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
"""The settings of the authority's sessions; times in ms."""
TRANSACTION_TIMEOUT_MS = 10_000
# The server's end of the connection: a client that takes no data for so long has lost its session.
DIRECT = {"tcp_user_timeout": "5000"}
SET_PINNED = sessions.as_statement(PINNED)
# The server does not know a statement that this session has prepared, or knows one that it has not: the
# session shares server connections with others, behind a pooler.
MISPREPARED = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)

Statement = tuple[str, Sequence[Any]]
"""SQL with `%s` for each parameter, and the parameters: None, bool, int, str, lists of int or str."""


class StatementResult(NamedTuple):
    """The result of a statement: its rows, how many rows it met, and its tag (`COMMIT`, `ROLLBACK` …)."""

    rows: list[tuple[Any, ...]]
    met: int
    tag: str


def _bytea(value: bytes) -> bytes:
    return bytes.fromhex(value[2:].decode())


# By the number of a type in pg_type: bool, bytea, bigint, smallint, integer. All other types are text.
_FROM_TEXT: Mapping[int, Callable[[bytes], Any]] = {
    16: b"t".__eq__,
    17: _bytea,
    20: int,
    21: int,
    23: int,
}


class Session:
    """One connection. Raises psycopg.Error. It is closed when it is lost, or when the server is silent for
    `SILENT_S`.

    `pooled`: a pooler gives each transaction any server connection that is free. Then no statement is
    prepared, and each transaction begins by setting `PINNED` for itself.
    """

    def __init__(self, conninfo: Mapping[str, Any]) -> None:
        """`conninfo`: keyword parameters of `psycopg.connect`."""
        self._conninfo = {**conninfo, **SESSION}
        self._connection, self.pooled = sessions.opened(
            lambda options: psycopg.Connection[Any].connect(
                **{**self._conninfo, "options": options}, autocommit=True
            ),
            self._conninfo,
            {**PINNED, **DIRECT},
            TRANSACTION_TIMEOUT_MS,
        )
        self._pg = self._connection.pgconn
        self._pg.nonblocking = 1
        self._pg.enter_pipeline_mode()
        self._poll = select.poll()
        self._socket = self._pg.socket
        self._prepared: set[str] = set()  # the statements that the server has prepared

    @property
    def closed(self) -> bool:
        """Whether it has ended, or was lost."""
        return self._pg.status != pq.ConnStatus.OK

    @property
    def idle(self) -> bool:
        """Whether no transaction is open."""
        return self._pg.transaction_status == pq.TransactionStatus.IDLE

    def close(self) -> None:
        """End it. Idempotent."""
        self._connection.close()

    def ask(self, *statements: Statement) -> list[StatementResult]:
        """Run these in order, in one exchange. When one fails, the others after it do not run, and its
        error is raised."""
        try:
            if self.pooled and self.idle:
                return self._ask_with_settings(statements)
            return self._receive(self._send(statements))
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # the error is not the server's answer
                self.close()
            raise
        except MISPREPARED:
            sessions.note_pooled(self._conninfo)
            self.close()
            raise

    def _ask_with_settings(self, statements: Sequence[Statement]) -> list[StatementResult]:
        """As `ask`, with the settings: within the transaction that begins here, or else the exchange."""
        at = int(statements[0][0].startswith("BEGIN"))
        answers = self._receive(self._send([*statements[:at], (SET_PINNED, ()), *statements[at:]]))
        return [*answers[:at], *answers[at + 1 :]]

    # --- sending ---------------------------------------------------------------------------------

    def _send(self, statements: Sequence[Statement]) -> list[str]:
        """Send these; returns what results to expect, in order: the SQL of a statement that is to be
        prepared, "" for one that runs."""
        asked = []
        # All parameters are turned into text before anything is sent, so that a bad one breaks no exchange.
        texts = [(query, [_to_text(value) for value in params]) for query, params in statements]
        fresh: set[str] = set()
        for query, values in texts:
            if self.pooled:
                self._pg.send_query_params(_numbered(query), values)
            else:
                name = _name(query)
                if query not in self._prepared and query not in fresh:
                    fresh.add(query)
                    self._pg.send_prepare(name, _numbered(query))
                    asked.append(query)
                self._pg.send_query_prepared(name, values)
            asked.append("")
        self._pg.pipeline_sync()
        while self._pg.flush():
            self._wait(select.POLLIN | select.POLLOUT)
            self._pg.consume_input()
        return asked

    def _wait(self, events: int) -> None:
        self._poll.register(self._socket, events)
        if not self._poll.poll(SILENT_S * 1000):
            raise psycopg.OperationalError(f"the server said nothing for {SILENT_S:g} s")

    # --- receiving -------------------------------------------------------------------------------

    def _receive(self, asked: Sequence[str]) -> list[StatementResult]:
        answers: list[StatementResult] = []
        fault: psycopg.Error | None = None
        for query, result in zip(asked, self._results(), strict=False):
            if result.status == pq.ExecStatus.FATAL_ERROR:
                fault = fault or error_from_result(result, encoding="utf-8")
            elif query and result.status == pq.ExecStatus.COMMAND_OK:
                self._prepared.add(query)
            elif not query and fault is None:
                answers.append(_answer(result))
        if fault is not None:
            raise fault
        return answers

    def _results(self) -> list[Any]:
        """The results, up to the end of the exchange."""
        taken: list[Any] = []
        while True:
            while self._pg.is_busy():
                self._wait(select.POLLIN)
                self._pg.consume_input()
            result = self._pg.get_result()
            if result is not None:
                if result.status == pq.ExecStatus.PIPELINE_SYNC:
                    return taken
                taken.append(result)
            if self.closed:
                raise psycopg.OperationalError("the connection was lost")


@lru_cache(maxsize=256)
def _name(query: str) -> bytes:
    """The name under which a statement is prepared. It depends on the statement alone, so that on a server
    connection that others use too no name stands for another statement."""
    return b"im_" + blake2b(query.encode(), digest_size=12).hexdigest().encode()


@lru_cache(maxsize=256)
def _numbered(query: str) -> bytes:
    """The query with `$1`, `$2` … in place of each `%s`."""
    first, *rest = query.split("%s")
    return (first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()


def _to_text(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, list):
        return b"{%s}" % b",".join(_element(element) for element in value)
    if isinstance(value, bool):
        return b"t" if value else b"f"
    data = str(value).encode()
    if b"\0" in data:  # libpq would silently end the text there
        raise psycopg.DataError("a text with NUL cannot be stored")
    return data


def _element(value: int | str) -> bytes:
    data = _to_text(value) or b""
    return data if isinstance(value, int) else b'"%s"' % data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _answer(result: Any) -> StatementResult:
    tag = (result.command_status or b"").decode()
    read = [_FROM_TEXT.get(result.ftype(column), bytes.decode) for column in range(result.nfields)]
    rows = [
        tuple(_value(result.get_value(row, column), kind) for column, kind in enumerate(read))
        for row in range(result.ntuples)
    ]
    return StatementResult(rows, result.command_tuples or 0, tag)


def _value(value: bytes | None, read: Callable[[bytes], Any]) -> Any:
    return None if value is None else read(value)
