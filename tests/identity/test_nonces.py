"""Nonces: expired ones are all deleted by themselves, and no key stores more than its share."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from intramedial.http.problems import Problem
from intramedial.workspaces.authentication import signers
from intramedial.workspaces.authentication.callers import Authenticator
from intramedial.workspaces.models import Nonce, RegisteredAgent
from tests.identity.conftest import START, lease, refusal
from tests.server import ServerProcess
from tests.signing import Agent


def nonces_of_long_ago(many: int) -> None:
    Nonce.objects.bulk_create(
        (
            Nonce(key_and_nonce=f"{time.time_ns()}-{number}", expires_at=datetime.fromtimestamp(1, UTC))
            for number in range(many)
        ),
        batch_size=500,
    )


def left() -> int:
    return Nonce.objects.filter(expires_at__lt=datetime.fromtimestamp(START, UTC)).count()


def until(true: Callable[[], object], within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_all_old_nonces_are_deleted_without_a_request(clock, settings):
    """However many there are: ten thousand rows once took a hundred seconds."""
    nonces_of_long_ago(10_000)
    authenticator = Authenticator(clock)
    authenticator.start()
    try:
        until(lambda: left() == 0)
    finally:
        authenticator.close()


def test_a_sweep_that_fails_is_tried_again(clock, monkeypatch, caplog):
    def fail() -> int:
        failed.append(1)
        raise RuntimeError("planted")

    failed: list[int] = []
    monkeypatch.setattr(signers, "SWEEP_EVERY_S", 0.01)
    sweeper = signers.Sweeper(fail)
    sweeper.start()
    until(lambda: len(failed) > 3)
    sweeper.stop()
    assert [record.message for record in caplog.records].count(
        "old nonces cannot be deleted: RuntimeError: planted"
    ) == 1


def test_a_server_sweeps_by_itself(live_server_process: Callable[..., ServerProcess]) -> None:
    """A server that gets no signed request."""
    server = live_server_process()
    ago = datetime.now(UTC) - timedelta(hours=1)
    url = server.env["DATABASE_URL"]
    connected = psycopg.connect(url) if url else sqlite3.connect(server.data_dir / "default.sqlite3")
    with closing(connected) as database:
        insert = f"INSERT INTO workspaces_nonce (key_and_nonce, expires_at) VALUES ('old', '{ago:%F %T+00}')"
        database.execute(insert)
        database.commit()

        def count() -> int:
            database.rollback()
            return database.execute("SELECT count(*) FROM workspaces_nonce").fetchone()[0]

        assert count() == 1
        until(lambda: count() == 0)


# --- the share of a key


async def test_a_key_has_a_limit_of_signed_requests_a_minute(
    authenticator, agent, trial, clock, in_thread, settings
):
    settings.TRIAL_REQUESTS = 5
    for _ in range(5):
        await authenticator.authenticate(lease(agent, clock), spend=False)
    before = await in_thread(Nonce.objects.count)
    problem = await refusal(authenticator.authenticate(lease(agent, clock), spend=False))
    assert (problem.reason, problem.status) == ("rate_limited", 429)
    assert 1 <= int(problem.headers["retry-after"]) <= 60
    assert await in_thread(Nonce.objects.count) == before
    clock.now += int(problem.headers["retry-after"])
    await authenticator.authenticate(lease(agent, clock), spend=False)


async def test_an_unknown_key_has_a_share_too(authenticator, agent, clock, settings):
    settings.TRIAL_REQUESTS = 2
    for _ in range(2):
        await authenticator.proven_key(lease(agent, clock))
    assert (await refusal(authenticator.proven_key(lease(agent, clock)))).reason == "rate_limited"
    await authenticator.proven_key(lease(Agent(), clock))


async def test_a_registered_agent_has_another_limit(
    authenticator, agent, workspace, clock, in_thread, settings
):
    settings.TRIAL_REQUESTS, settings.AGENT_REQUESTS = 1, 3
    await in_thread(RegisteredAgent.objects.create, workspace=workspace, did=agent.did)
    for _ in range(3):
        await authenticator.authenticate(lease(agent, clock))
    assert (await refusal(authenticator.authenticate(lease(agent, clock)))).reason == "rate_limited"


async def test_repeated_requests_of_another_key_do_not_use_up_its_share(
    authenticator, agent, trial, clock, settings
):
    settings.TRIAL_REQUESTS = 2
    parts = lease(agent, clock)
    await authenticator.authenticate(parts)
    for _ in range(5):
        assert (await refusal(authenticator.authenticate(parts))).reason == "replayed"
    await authenticator.authenticate(lease(agent, clock))


def test_concurrent_requests_do_not_exceed_the_limit():
    """While the first requests are in progress, no more are admitted."""
    budget = signers.Budget()
    with budget.spend(b"key", 1, 0.0), pytest.raises(Problem), budget.spend(b"key", 1, 59.0):
        pass
    with budget.spend(b"key", 1, 60.0):
        pass


def test_a_step_of_the_sweep_is_bounded():
    """No step keeps SQLite's only writer for long."""
    nonces_of_long_ago(2 * signers.SWEEP_ROWS)
    assert signers.sweep_nonces(START) == signers.SWEEP_ROWS
