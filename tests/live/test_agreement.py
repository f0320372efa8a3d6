"""The board agrees with `GET wait` after any commands, whenever a client connects."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from coordination.authority import process as authority
from coordination.core.messages import Acquire, Command, Release, Withdraw
from coordination.core.model import Mode
from coordination.live import consumers
from coordination.read import current
from coordination.wire.ids import new_lease_id
from intramedial.accounts import watching
from intramedial.workspaces.models import Workspace
from tests.live.board import Board
from tests.live.browser import PATIENCE_S, ask, bearer, opened

AGENTS = [f"did:example:{name}" for name in ("ana", "bea", "cid", "dan", "eva", "fay")]
RESOURCES = ["lock:a", "lock:b", "lock:c", "doc:d", "doc:e"]
STEPS = 400


class Time:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
async def time(migrated_databases: None) -> AsyncIterator[Time]:
    """A running authority, and its clock, which stands still."""
    time = Time()
    authority.current().clock = time
    consumers.start()
    await asyncio.to_thread(authority.current().start, None)
    yield time
    await authority.current().close()
    await consumers.stop()
    authority.current().clock = None


def anything(chance: random.Random) -> Command:
    resource, agent = chance.choice(RESOURCES), chance.choice(AGENTS)
    shared = resource.startswith("doc:") and chance.random() < 0.6
    return chance.choices(
        [
            Acquire(resource, Mode.SHARED if shared else Mode.EXCLUSIVE, agent, new_lease_id()),
            Release(resource, agent),
            Withdraw(resource, agent),
        ],
        weights=[8, 3, 1],
    )[0]


async def watch(address: str, key: str, board: Board) -> None:
    async with opened(address, bearer(key)) as client:
        while True:
            board.apply(await client.receive_json_from(timeout=PATIENCE_S))


def by_name(holders: Any) -> list[dict[str, Any]]:
    return sorted(holders, key=lambda held: (held["resource"], held["holder"]))


@pytest.mark.parametrize("seed", range(4))
async def test_boards_show_the_current_state(
    time: Time, workspace: Workspace, api_key: str, seed: int
) -> None:
    chance = random.Random(seed)
    name = workspace.public_id
    boards: list[Board] = []
    watchers: list[asyncio.Task[None]] = []
    for step in range(STEPS):
        if step % 40 == 0:
            boards.append(Board())
            address = f"/ws/espacios/{name}/"
            watchers.append(asyncio.create_task(watch(address, api_key, boards[-1])))
        await ask(name, anything(chance))
        if chance.random() < 0.2:
            time.ms += chance.choice([1, 100, 1_000, 2_500, 20_000])
            await authority.get().tick()
        if chance.random() < 0.1:
            await asyncio.sleep(chance.random() * 0.1)
    picture = await current.picture(name)
    trust = {did: known["score"] for did, known in (await current.snapshot(name))["trust"].items()}

    def trusted(board: Board) -> dict[str, Any]:
        return {did: board.trust.get(did, score) for did, score in trust.items()}

    def shows_all(board: Board) -> bool:
        return (
            by_name(board.holders.values()) == by_name(picture["holders"])
            and board.queue() == picture["queue"]
            and board.deadlocks == picture["deadlocks"]
            and trusted(board) == trust
        )

    with contextlib.suppress(TimeoutError):  # the assertions below show what is different
        async with asyncio.timeout(PATIENCE_S):
            while not all(shows_all(board) for board in boards):
                await asyncio.sleep(0.05)

    assert picture["holders"] or picture["queue"]
    for board, watcher in zip(boards, watchers, strict=True):
        assert not watcher.done()
        assert by_name(board.holders.values()) == by_name(picture["holders"])
        assert board.queue() == picture["queue"]
        assert board.deadlocks == picture["deadlocks"]
        assert trusted(board) == trust
        watcher.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
    await asyncio.to_thread(watching.stop)
