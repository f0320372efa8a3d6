"""How many trials may begin: from an address, from an IPv6 /48, from all; and limits within a trial."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from intramedial.http.addresses import site_hash
from intramedial.settings_parsers import networks
from intramedial.workspaces import tickets
from intramedial.workspaces.models import Ticket, Trial
from tests.api.client import TRIAL, Caller, problem
from tests.signing import Agent

KEYS = f"{TRIAL}/keys"
Begin = Callable[[str], Awaitable[httpx.Response]]


@pytest.fixture
async def begin(settings: Any, in_thread: Any) -> AsyncIterator[Begin]:
    """`await begin(address)`: a new key begins a trial from an address. No other trial is younger than an
    hour."""
    settings.TRUSTED_PROXIES = networks("127.0.0.1")
    await in_thread(Trial.objects.update, created_at=timezone.now() - timedelta(hours=2))
    callers: list[Caller] = []

    async def begin(address: str) -> httpx.Response:
        caller = Caller(agent=Agent())
        callers.append(caller)
        return await caller.call("POST", KEYS, {"did": caller.agent.did}, x_forwarded_for=address)

    yield begin
    for caller in callers:
        await caller.close()


async def test_all_addresses_of_a_48_share_one_limit(begin, settings):
    settings.TRIALS_PER_HOUR = 3
    answers = [await begin(f"2001:db8:1:{number:x}::1") for number in range(5)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 429, 429]
    refused = problem(answers[-1], 429, "rate_limited")
    assert "/48" in refused["detail"] and "3 trials an hour" in refused["detail"]
    assert 3500 < int(answers[-1].headers["retry-after"]) <= 3600
    assert (await begin("2001:db8:2::1")).status_code == 201, "another /48"
    assert (await begin("203.0.113.7")).status_code == 201


async def test_ipv4_addresses_share_no_limit(begin, settings):
    settings.TRIALS_PER_HOUR = 1
    assert [(await begin(f"198.51.100.{n}")).status_code for n in (1, 2, 1)] == [201, 201, 429]
    assert site_hash("198.51.100.1") == site_hash("::ffff:198.51.100.1") == site_hash("") == ""


async def test_all_addresses_together_have_a_limit(begin, settings, in_thread):
    settings.TRIALS_IN_ALL = 4
    answers = await asyncio.gather(*(begin(f"198.51.100.{number}") for number in range(9)))
    assert sorted(answer.status_code for answer in answers) == [201] * 4 + [429] * 5
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert "4 trials an hour" in problem(refused, 429, "rate_limited")["detail"]
    assert 3500 < int(refused.headers["retry-after"]) <= 3600
    await in_thread(Trial.objects.update, created_at=timezone.now() - timedelta(hours=1, seconds=1))
    assert (await begin("198.51.100.1")).status_code == 201


async def test_a_trial_goes_on_when_no_new_one_may_begin(trial, settings):
    settings.TRIALS_IN_ALL = 1
    assert (await trial.call("POST", KEYS, {"did": trial.agent.did})).status_code == 200


async def test_a_trial_keeps_no_more_tickets_than_it_can_use(trial, in_thread, monkeypatch):
    monkeypatch.setattr(tickets, "AT_ONCE", 3)
    answers = [await trial.call("POST", f"{TRIAL}/ticket") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
    problem(answers[-1], 429, "rate_limited")
    await in_thread(Ticket.objects.update, expires_at=timezone.now())
    assert (await trial.call("POST", f"{TRIAL}/ticket")).status_code == 201
