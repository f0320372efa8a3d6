"""The PostgreSQL engine's session: several statements in one exchange, and one wait for all the answers.

It is libpq's pipeline mode by way of `psycopg.pq`. psycopg's own pipeline sends every statement by itself and
waits for the socket each time, which cost more than all that the server did.
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

# A server that hangs must become an error in time: a caller is told within seconds that there is no lease.
NAME = "intramedial-authority"
SESSION = {
    "client_encoding": "UTF8",
    "connect_timeout": "3",
    "application_name": NAME,
    "tcp_user_timeout": "5000",
    "keepalives_idle": "5",
}
SILENT_S = 8.0  # longer than the server's own limits, for a server that cannot keep them
LOCK_TIMEOUT_MS = 2_000
PINNED: Mapping[str, str] = {
    **sessions.PINS,
    "statement_timeout": "5000",
    "lock_timeout": str(LOCK_TIMEOUT_MS),
    "idle_in_transaction_session_timeout": "3000",
    # The planner knows too little of tables that change within seconds: when they were last analyzed, all
    # that lives now was due later. So each statement is written for one index, planned once, and kept from
    # reading whole tables.
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
# The server does not know a prepared statement that was prepared, or knows one that was not: this session
# shares server connections with others.
MISPREPARED = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)

Statement = tuple[str, Sequence[Any]]
"""SQL with `%s` where a parameter comes, and the parameters: None, bool, int, str, lists of int or str."""


class Answer(NamedTuple):
    """What a statement gave: its rows, how many it met, and its command's tag (`COMMIT`, `ROLLBACK` …)."""

    rows: list[tuple[Any, ...]]
    count: int
    tag: str


def _bytea(value: bytes) -> bytes:
    return bytes.fromhex(value[2:].decode())


# By the number of a type in pg_type: bool, bytea, bigint, smallint, integer. All else is text.
_FROM_TEXT: Mapping[int, Callable[[bytes], Any]] = {
    16: b"t".__eq__,
    17: _bytea,
    20: int,
    21: int,
    23: int,
}


class Session:
    """One connection. Raises psycopg.Error; one that is lost, or silent for `SILENT_S`, is closed.

    `pooled`: a pooler gives each transaction whatever server connection is free. Then no statement is
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

    def ask(self, *statements: Statement) -> list[Answer]:
        """Run these in order, in one exchange. After one that fails none runs, and its error is raised."""
        try:
            if self.pooled and self.idle:
                return self._ask_with_settings(statements)
            return self._hear(self._send(statements))
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # it is not the server that says so
                self.close()
            raise
        except MISPREPARED:
            sessions.note_pooled(self._conninfo)
            self.close()
            raise

    def _ask_with_settings(self, statements: Sequence[Statement]) -> list[Answer]:
        """The same, in a transaction that has the settings: the one that begins, or the exchange itself."""
        at = int(statements[0][0].startswith("BEGIN"))
        answers = self._hear(self._send([*statements[:at], (SET_PINNED, ()), *statements[at:]]))
        return [*answers[:at], *answers[at + 1 :]]

    # --- sending ---------------------------------------------------------------------------------

    def _send(self, statements: Sequence[Statement]) -> list[str]:
        """What was asked, in order: the SQL of a statement that is to be prepared, "" for one that runs."""
        asked = []
        # All of it before anything is sent: what cannot be said spoils no exchange.
        said = [(query, [_to_text(value) for value in params]) for query, params in statements]
        fresh: set[str] = set()
        for query, values in said:
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

    # --- hearing ---------------------------------------------------------------------------------

    def _hear(self, asked: Sequence[str]) -> list[Answer]:
        answers: list[Answer] = []
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
        """One result for each thing asked, up to the end of the exchange."""
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
    """The name under which a statement is prepared. It names the statement and not its place in a session:
    on a server connection that others use too, no name stands for another statement."""
    return b"im_" + blake2b(query.encode(), digest_size=12).hexdigest().encode()


@lru_cache(maxsize=256)
def _numbered(query: str) -> bytes:
    """With `$1`, `$2` … for each `%s`."""
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
    if b"\0" in data:  # it would end there, unnoticed
        raise psycopg.DataError("a text with NUL cannot be stored")
    return data


def _element(value: int | str) -> bytes:
    data = _to_text(value) or b""
    return data if isinstance(value, int) else b'"%s"' % data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _answer(result: Any) -> Answer:
    tag = (result.command_status or b"").decode()
    read = [_FROM_TEXT.get(result.ftype(column), bytes.decode) for column in range(result.nfields)]
    rows = [
        tuple(_value(result.get_value(row, column), kind) for column, kind in enumerate(read))
        for row in range(result.ntuples)
    ]
    return Answer(rows, result.command_tuples or 0, tag)


def _value(value: bytes | None, read: Callable[[bytes], Any]) -> Any:
    return None if value is None else read(value)
