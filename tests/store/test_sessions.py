"""Exchanges with PostgreSQL: values in both directions, and exchanges that fail."""

from collections.abc import Iterator

import psycopg
import pytest

from coordination.storage.engines.postgres.session import Session
from tests.store.authorities import PostgresDatabase


@pytest.fixture
def session(postgres_database: PostgresDatabase) -> Iterator[Session]:
    session = Session(psycopg.conninfo.conninfo_to_dict(postgres_database.url))
    yield session
    session.close()


ODD = ['"', "\\", "{a,b}", "NULL", "", " ", "ñ €", "%s", "$1"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("text", value) for value in [*ODD, None]),
        *(("bigint", value) for value in (0, -1, 2**63 - 1, None)),
        *(("boolean", value) for value in (True, False, None)),
        ("text[]", ODD),
        ("text[]", []),
        ("bigint[]", [1, -2]),
    ],
)
def test_values_come_back_as_they_were_sent(session: Session, kind: str, value: object) -> None:
    [same, element] = session.ask(
        (f"SELECT %s::{kind}", [value]),
        (f"SELECT x FROM unnest(%s::{kind if '[]' in kind else kind + '[]'}) AS x", [_listed(value)]),
    )
    if not isinstance(value, list):
        assert same.rows == [(value,)]
    assert [x for (x,) in element.rows] == _listed(value)


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None or isinstance(value, bool) else [value]


def test_bytes_are_read(session: Session) -> None:
    [answer] = session.ask(("SELECT convert_to(%s, 'UTF8')", ["ñ\\"]))
    assert answer.rows == [("ñ\\".encode(),)]


def test_a_text_with_nul_is_refused_before_anything_is_sent(session: Session) -> None:
    with pytest.raises(psycopg.DataError):
        session.ask(("SELECT 1", ()), ("SELECT %s::text", ["a\0b"]))
    assert session.ask(("SELECT %s::text", ["after"]))[0].rows == [("after",)]


def test_statements_after_a_fault_do_not_run(session: Session) -> None:
    session.ask(("CREATE TEMPORARY TABLE seen (n bigint PRIMARY KEY)", ()))
    insert = "INSERT INTO seen SELECT %s::bigint"
    for _ in range(2):  # prepared now, and known already the second time
        session.ask(("BEGIN", ()), (insert, [1]))
        with pytest.raises(psycopg.errors.UniqueViolation):
            session.ask((insert, [1]), ("INSERT INTO seen SELECT 100", ()))
        assert not session.idle
        [ended] = session.ask(("COMMIT", ()))
        assert (ended.tag, session.idle) == ("ROLLBACK", True)
    assert session.ask(("SELECT count(*) FROM seen", ()))[0].rows == [(0,)]


def test_a_statement_that_cannot_be_prepared_spoils_no_other(session: Session) -> None:
    good, bad = "SELECT %s::bigint + 1", "SELECT nothing_of_that_name"
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedColumn):
            session.ask((bad, ()), (good, [1]))
        assert session.ask((good, [1]))[0].rows == [(2,)]


def test_much_may_go_both_ways_at_once(session: Session) -> None:
    """More than any buffer holds, while the other side sends as well."""
    text = "x" * 1_000_000
    answers = session.ask(*(("SELECT %s::text", [text]) for _ in range(20)))
    assert all(answer.rows == [(text,)] for answer in answers)


def test_affected_rows_are_counted(session: Session) -> None:
    session.ask(("CREATE TEMPORARY TABLE seen (n bigint)", ()))
    written, changed, deleted = session.ask(
        ("INSERT INTO seen SELECT * FROM generate_series(1, %s)", [7]),
        ("UPDATE seen SET n = n + 1 WHERE n <= %s", [3]),
        ("DELETE FROM seen WHERE n > %s", [1000]),
    )
    assert (written.met, changed.met, deleted.met) == (7, 3, 0)
