"""Connections to PostgreSQL that break at every moment of a transaction, or fall silent."""

import os
import signal
from collections.abc import Iterator
from time import monotonic
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from coordination.authority.replies import Unavailable
from coordination.core.messages import Granted
from coordination.storage.engines.base import StorageFault
from coordination.storage.engines.postgres.engine import PostgresEngine
from intramedial.postgresql import sessions
from tests.services import Postgres
from tests.store.authorities import PostgresDatabase, RunningAuthority
from tests.store.proxy import HANG, LOSE_ANSWERS, LOSE_REQUESTS, PASS, Proxy

STAGES = ["begin", "load", "commit"]  # writes are sent with the commit


@pytest.fixture
def proxy(postgres_cluster: Postgres) -> Iterator[Proxy]:
    with Proxy(postgres_cluster.port) as proxy:
        yield proxy


@pytest.fixture
def engine(postgres_database: PostgresDatabase, proxy: Proxy) -> PostgresEngine:
    """An engine that is connected through the proxy."""
    return PostgresEngine({**conninfo_to_dict(postgres_database.url), "port": proxy.port})


@pytest.fixture
def authority(engine: PostgresEngine, proxy: Proxy, real_time: None) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(engine)
    yield authority
    proxy.mode = PASS
    authority.stop()


def breaks(monkeypatch: pytest.MonkeyPatch, engine: Any, proxy: Proxy, stage: str, mode: str) -> None:
    """The proxy breaks the next exchange of that stage, and only that one."""
    real = getattr(engine, stage)

    def broken(*arguments: Any) -> Any:
        monkeypatch.setattr(engine, stage, real)
        proxy.mode = mode
        try:
            return real(*arguments)
        finally:
            proxy.mode = PASS

    monkeypatch.setattr(engine, stage, broken)


@pytest.mark.parametrize("mode", [LOSE_REQUESTS, LOSE_ANSWERS])
@pytest.mark.parametrize("stage", STAGES)
async def test_a_connection_lost_within_a_transaction(
    authority: RunningAuthority,
    engine: PostgresEngine,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    mode: str,
) -> None:
    breaks(monkeypatch, engine, proxy, stage, mode)
    [outcome] = await authority.together(authority.acquire("did:a"))
    assert isinstance(outcome, Unavailable)
    other = await authority.acquire("did:b")
    made = stage == "commit" and mode == LOSE_ANSWERS
    assert isinstance(other, Granted)
    assert other.lease.token == (2 if made else 1)


async def test_asking_again_shows_whether_a_lost_commit_was_made(
    authority: RunningAuthority, engine: PostgresEngine, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch, engine, proxy, "commit", LOSE_ANSWERS)
    await authority.together(authority.acquire("did:a"))
    again = await authority.acquire("did:a")
    assert isinstance(again, Granted)
    assert (again.renewed, again.lease.token) == (True, 1)


@pytest.mark.parametrize("stage", STAGES)
async def test_a_silent_connection_is_an_error(
    authority: RunningAuthority,
    engine: PostgresEngine,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
) -> None:
    monkeypatch.setattr("coordination.storage.engines.postgres.session.SILENT_S", 0.3)
    breaks(monkeypatch, engine, proxy, stage, HANG)
    began = monotonic()
    [heard] = await authority.together(authority.acquire("did:a"))
    assert isinstance(heard, Unavailable)
    assert isinstance(await authority.acquire("did:b"), Granted)
    assert monotonic() - began < 8  # as long as the session would wait by itself


async def test_a_frozen_server_process_is_an_error(
    authority: RunningAuthority, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server process answers nothing by itself, while its operating system still acknowledges what is
    sent."""
    monkeypatch.setattr("coordination.storage.engines.postgres.session.SILENT_S", 0.3)
    [[backend]] = await authority.run_with(lambda store: store.engine._all("SELECT pg_backend_pid()"))
    os.kill(backend, signal.SIGSTOP)
    try:
        [outcome] = await authority.together(authority.acquire("did:a"))
        assert isinstance(outcome, Unavailable)
        assert isinstance(await authority.acquire("did:a"), Granted)
    finally:
        os.kill(backend, signal.SIGCONT)


def test_a_server_that_falls_silent_while_a_session_opens_is_an_error(
    postgres_database: PostgresDatabase, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intramedial.postgresql.sessions.ANSWER_S", 0.3)
    conninfo = {**conninfo_to_dict(postgres_database.url), "port": proxy.port}

    def open_session(options: str) -> "psycopg.Connection[Any]":
        session = psycopg.connect(**{**conninfo, "options": options})
        proxy.mode = HANG
        return session

    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        sessions.opened(open_session, conninfo, sessions.PINS)


def test_no_statement_of_a_transaction_runs_on_another_connection(engine: PostgresEngine) -> None:
    """It would run without the workspace's lock, and each statement would be committed by itself."""
    engine.begin(["ws_1"])
    engine._session().close()
    engine.write({"agent_insert": [(500, 0, 0, None, "ws_1", "did:a")]})
    for _ in range(2):
        with pytest.raises(StorageFault, match="lost"):
            engine.commit("alone", 1)
    engine.rollback()
    engine.begin(["ws_1"])
    assert engine.agents([("ws_1", "did:a")]) == []
    engine.rollback()
    engine.close()


def test_a_commit_that_becomes_a_rollback_is_no_commit(engine: PostgresEngine) -> None:
    engine.begin(["ws_1"])
    with pytest.raises(psycopg.Error):
        engine._ask(("SELECT 1 / 0", ()))
    with pytest.raises(StorageFault):
        engine.commit("alone", 1)
    engine.rollback()
    engine.close()


def test_an_operators_options_do_not_undo_the_engines_own(postgres_database: PostgresDatabase) -> None:
    conninfo = conninfo_to_dict(postgres_database.url)
    given = "-c work_mem=7MB -c statement_timeout=0 -c synchronous_commit=off"
    engine = PostgresEngine({**conninfo, "options": given})
    names = ("work_mem", "statement_timeout", "synchronous_commit", "default_transaction_isolation")
    assert [engine._all(f"SHOW {name}")[0][0] for name in names] == ["7MB", "5s", "on", "read committed"]
    engine.close()
