"""Two processes on one PostgreSQL: half-cycles that close at the same moment, and two contenders for one
resource."""

from collections.abc import Iterator

import pytest

from tests.store import halfcycles
from tests.store.authorities import PostgresDatabase

ROUNDS = 100


@pytest.fixture
def processes(postgres_database: PostgresDatabase) -> Iterator[halfcycles.Processes]:
    running = halfcycles.Processes(postgres_database.url)
    yield running
    running.end()


def test_exactly_one_of_the_half_cycles_closed_at_once_is_refused(processes: halfcycles.Processes) -> None:
    assert halfcycles.faults(processes, ROUNDS) == []


def test_two_contenders_never_both_hold(
    processes: halfcycles.Processes, postgres_database: PostgresDatabase
) -> None:
    assert halfcycles.contend_to_hold(processes, "ws_1", 30) == [1] * 30
    assert postgres_database.rows("SELECT count(*), count(DISTINCT resource) FROM lease_lease") == [(30, 30)]


def test_tokens_rise_by_one_in_either_process(processes: halfcycles.Processes) -> None:
    tokens = halfcycles.contend(processes, "ws_1", 60)
    assert sorted(tokens) == list(range(1, len(tokens) + 1))
    assert len(tokens) > 20  # of 60 tries, on a busy machine too
