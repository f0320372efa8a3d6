"""Opens PostgreSQL sessions whose settings do not depend on how the server, the database or the role is set.

ALTER SYSTEM, ALTER DATABASE and ALTER ROLE can change what a statement means, how a value is written and how
long anything may take. Options of the start-up packet take precedence over all three, so a session is opened
with the settings that it relies on ("pins"). A pooler such as PgBouncer in transaction mode refuses or drops
these options, because one server connection serves many clients. `opened` finds that out and returns it. The
caller then sets what it needs within each transaction.
"""

import logging
import select
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import psycopg

logger = logging.getLogger(__name__)

Connection = TypeVar("Connection", bound="psycopg.Connection[Any]")
Address = tuple[str, ...]

PINS: Mapping[str, str] = {
    # How values are read and written.
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    # What SQL means.
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "row_security": "on",
    # What a transaction promises.
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    "synchronous_commit": "on",
    # When the server gives up.
    "exit_on_error": "off",
    "idle_session_timeout": "0",
}
"""The values on which every session relies, by the name of PostgreSQL's setting."""

PAGES: Mapping[str, str] = {
    **PINS,
    "statement_timeout": "0",
    # In ms. A process that stands still in the middle of a transaction keeps its locks no longer than this.
    "lock_timeout": "10000",
    "idle_in_transaction_session_timeout": "20000",
}
"""The values on which Django's own sessions rely."""

# A parameter that nothing else uses. A session that has it got its options.
_MARK = "intramedial.direct"
# How PgBouncer refuses: `unsupported startup parameter: options`, or `… in options: …` since 1.20.
_REFUSED = "unsupported startup parameter"
_TRANSACTION_TIMEOUT_SINCE = 170_000
ANSWER_S = 8.0  # for each statement while a session is opened

_pooled: dict[Address, bool] = {}


def opened(
    open_session: Callable[[str], Connection],
    conninfo: Mapping[str, Any],
    pins: Mapping[str, str],
    transaction_timeout_ms: int = 0,
) -> tuple[Connection, bool]:
    """A session, and whether a pooler is in between. Behind a pooler the session does not have the pins.

    `open_session` connects with `options` in libpq's syntax. Options in `conninfo` are an operator's: they
    are always sent, and pins take precedence. `transaction_timeout_ms` is for PostgreSQL 17 and later; 0 is
    none. Raises psycopg.OperationalError if no session can be opened.
    """
    given = str(conninfo.get("options") or "")
    address = _address(conninfo)
    known = _pooled.get(address)  # read once, since other threads open sessions meanwhile
    if not known:
        try:
            session = open_session(f"{given} {as_options(pins)} -c {_MARK}=yes".strip())
        except psycopg.OperationalError as error:
            if _REFUSED not in str(error):
                raise
        else:
            try:
                if known is False or _has_options(session):
                    _pooled.setdefault(address, False)
                    if session.info.server_version >= _TRANSACTION_TIMEOUT_SINCE:
                        _run(session, f"SET transaction_timeout = {transaction_timeout_ms}")
                    return session, False
            except BaseException:
                session.close()
                raise
            session.close()
        note_pooled(conninfo)
    return open_session(given), True


def note_pooled(conninfo: Mapping[str, Any]) -> None:
    """Treat this address as a pooler's from now on."""
    address = _address(conninfo)
    if not _pooled.get(address):
        _pooled[address] = True
        logger.info(
            "PostgreSQL is behind a connection pooler: settings are set in each transaction, and statements"
            " are not prepared"
        )


def forget() -> None:
    """Forget which addresses are those of poolers."""
    _pooled.clear()


def as_options(pins: Mapping[str, str]) -> str:
    """Pins as the value of libpq's `options`."""
    escaped = ((name, value.replace("\\", "\\\\").replace(" ", "\\ ")) for name, value in pins.items())
    return " ".join(f"-c {name}={value}" for name, value in escaped)


def as_statement(pins: Mapping[str, str]) -> str:
    """Pins as a SELECT that sets them until the transaction ends."""
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in pins.items())


def set_for_client(session: "psycopg.Connection[Any]", *names: str) -> None:
    """Set these pins for the session. Only for settings that a pooler keeps for each client."""
    try:
        for name in names:
            _run(session, f"SET {name} TO '{PINS[name]}'")
    except BaseException:
        session.close()
        raise


def _has_options(session: "psycopg.Connection[Any]") -> bool:
    return _run(session, f"SELECT current_setting('{_MARK}', true)") == b"yes"


def _address(conninfo: Mapping[str, Any]) -> Address:
    return tuple(str(conninfo.get(name) or "") for name in ("host", "hostaddr", "port", "dbname", "user"))


def _run(session: "psycopg.Connection[Any]", statement: str) -> bytes | None:
    """Run a statement and return its first value. With libpq itself, since psycopg would begin a transaction
    and wait for ever."""
    pg = session.pgconn
    pg.send_query(statement.encode())
    poll = select.poll()
    poll.register(pg.socket, select.POLLIN)
    value = None
    while True:
        while pg.is_busy():
            if not poll.poll(ANSWER_S * 1000):
                session.close()
                raise psycopg.OperationalError(f"the server did not answer for {ANSWER_S:g} s")
            pg.consume_input()
        result = pg.get_result()
        if result is None:
            return value
        if result.status not in (psycopg.pq.ExecStatus.TUPLES_OK, psycopg.pq.ExecStatus.COMMAND_OK):
            raise psycopg.OperationalError(result.error_message.decode("utf-8", "replace").strip())
        if result.ntuples:
            value = result.get_value(0, 0)
