"""Health: live says that the process answers, ready that it can serve."""

import asyncio

from django.db import OperationalError

from coordination.authority import process as authority
from intramedial.process.health import Readiness


async def test_live_and_ready(anonymous):
    assert (await anonymous.call("GET", "/health/live")).json() == {"ok": True}
    answer = await anonymous.call("GET", "/health/ready")
    assert answer.status_code == 200
    assert answer.json() == {"ok": True, "parts": {"authority": "ok", "accounts": "ok", "ledger": "ok"}}


async def test_not_ready_without_its_authority(anonymous, monkeypatch):
    def fail(_job):
        raise authority.StorageFault("gone")

    monkeypatch.setattr(authority.get(), "run", fail)
    answer = await anonymous.call("GET", "/health/ready")
    assert (answer.status_code, answer.json()["ok"]) == (503, False)
    assert answer.json()["parts"] == {"authority": "failed", "accounts": "ok", "ledger": "ok"}
    assert answer.json()["reason"] == "authority_unavailable"
    assert (await anonymous.call("GET", "/health/live")).status_code == 200


async def ok():
    return None


async def test_the_checks_run_once_for_all_callers_and_are_kept_for_a_moment():
    now, asked = 0.0, []

    async def count():
        asked.append(now)
        await asyncio.sleep(0)

    readiness = Readiness({"authority": count}, clock=lambda: now)
    states = await asyncio.gather(*(readiness.parts() for _ in range(50)))
    assert states == [{"authority": "ok"}] * 50
    assert len(asked) == 1
    now += 0.4
    await readiness.parts()
    assert len(asked) == 1
    now += 0.2
    await readiness.parts()
    assert len(asked) == 2


async def test_a_part_that_fails_or_hangs_does_not_hide_the_others(monkeypatch):
    async def fail():
        raise OperationalError("refused")

    async def hang():
        await asyncio.sleep(60)

    monkeypatch.setattr("intramedial.process.health.CHECK_WITHIN_S", 0.05)
    readiness = Readiness({"authority": ok, "accounts": fail, "ledger": hang})
    assert await readiness.parts() == {"authority": "ok", "accounts": "failed", "ledger": "failed"}
