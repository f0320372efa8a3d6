"""What the cache remembers of API keys between two requests, and for how long."""

import asyncio

import pytest

from intramedial.http.calls import Principal
from intramedial.http.problems import Problem
from intramedial.workspaces import keys
from intramedial.workspaces.authentication import bearer


class Finder:
    """Finds the keys in `known`, and records the look-ups; raises `failure` if there is one."""

    def __init__(self):
        self.known = {}
        self.asked = []
        self.gate = None
        self.failure = None

    async def __call__(self, secret):
        self.asked.append(secret)
        if self.gate:
            await self.gate.wait()
        if self.failure:
            raise self.failure
        return self.known.get(secret)


@pytest.fixture
def finder():
    return Finder()


@pytest.fixture
def cache(finder, clock):
    return bearer.KeyCache(finder, clock)


def known_key(number=1):
    return bearer.KnownKey(number, Principal("ws_1", "workspace_key", None, False, {}), None)


async def remembered(cache, finder, secrets):
    """Those of `secrets` that are found without a look-up. Asks for the newest first: a look-up drops the
    oldest."""
    found = []
    for secret in reversed(secrets):
        finder.asked.clear()
        await cache.get(secret)
        if not finder.asked:
            found.insert(0, secret)
    return found


async def test_a_revoked_key_stops_working_within_a_second(cache, finder, clock):
    secret = keys.make_key().secret
    finder.known[secret] = known_key()
    assert await cache.get(secret) == known_key()
    del finder.known[secret]
    clock.now += 0.5
    assert await cache.get(secret) == known_key()
    assert len(finder.asked) == 1
    clock.now += 0.5
    assert await cache.get(secret) is None


async def test_the_second_counts_from_before_the_look_up(cache, finder, clock):
    secret = keys.make_key().secret
    finder.known[secret] = known_key()
    finder.gate = asyncio.Event()
    asking = asyncio.create_task(cache.get(secret))
    await asyncio.sleep(0)
    clock.now += 5  # the look-up hangs
    finder.gate.set()
    assert await asking == known_key()
    await cache.get(secret)
    assert len(finder.asked) == 2


async def test_a_key_made_after_it_was_refused_works_within_a_second(cache, finder, clock):
    secret = keys.make_key().secret
    assert await cache.get(secret) is None
    finder.known[secret] = known_key()
    assert await cache.get(secret) is None
    assert len(finder.asked) == 1
    clock.now += 1
    assert await cache.get(secret) == known_key()


async def test_concurrent_requests_share_a_look_up_and_survive_a_cancelled_one(cache, finder):
    secret = keys.make_key().secret
    finder.known[secret] = known_key()
    finder.gate = asyncio.Event()
    asking = [asyncio.create_task(cache.get(secret)) for _ in range(10)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    finder.gate.set()
    assert await asyncio.gather(*asking[1:]) == [known_key()] * 9
    assert asking[0].cancelled()
    assert len(finder.asked) == 1


async def test_a_failed_look_up_is_not_remembered(cache, finder):
    secret = keys.make_key().secret
    finder.failure = Problem("authority_unavailable", "away")
    for _ in range(2):
        with pytest.raises(Problem):
            await cache.get(secret)
    finder.failure = None
    finder.known[secret] = known_key()
    assert await cache.get(secret) == known_key()


async def test_a_mistyped_key_costs_no_look_up(cache, finder):
    for secret in ("", "imk_", keys.make_key().secret[:-1] + "!", "imk_" + "0" * 49):
        assert await cache.get(secret) is None
    assert finder.asked == []


async def test_unknown_keys_are_bounded_and_push_no_known_key_out(cache, finder, monkeypatch):
    monkeypatch.setattr(bearer, "REMEMBERED_UNKNOWN", 10)
    secret = keys.make_key().secret
    finder.known[secret] = known_key()
    await cache.get(secret)
    unknown = [keys.make_key().secret for _ in range(30)]
    for other in unknown:
        await cache.get(other)
    finder.asked.clear()
    assert await cache.get(secret) == known_key()
    assert finder.asked == []
    assert await remembered(cache, finder, unknown) == unknown[-10:]


async def test_known_keys_are_bounded_too(cache, finder, monkeypatch):
    monkeypatch.setattr(bearer, "REMEMBERED_KEYS", 10)
    secrets = [keys.make_key().secret for _ in range(30)]
    for number, secret in enumerate(secrets):
        finder.known[secret] = known_key(number)
        assert await cache.get(secret) == known_key(number)
    assert await remembered(cache, finder, secrets) == secrets[-10:]
