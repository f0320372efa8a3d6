"""Two servers on one PostgreSQL and one Redis show the same board."""

import asyncio
import random
from typing import Any

import httpx
import orjson
import pytest

from tests.live.board import Board
from tests.live.wire import ServerFactory, lease, next_message, shown, watch
from tests.server import ServerProcess
from tests.services import Redis

AGENTS = [f"did:web:{name}.example" for name in ("ana", "bea", "cid", "dan")]
RESOURCES = ["lock:a", "lock:b", "doc:c", "doc:c#read", "doc:d#read"]
API = "/api/v1/acp/coordination"


def api(server: ServerProcess, key: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=server.url + API, headers=headers, trust_env=False, timeout=30)


async def work(server: ServerProcess, key: str, seed: int) -> None:
    """Acquire and release random resources."""
    chance = random.Random(seed)
    async with api(server, key) as client:
        for _ in range(60):
            body = {"resource": chance.choice(RESOURCES), "actorDid": chance.choice(AGENTS)}
            path = "/lease" if chance.random() < 0.7 else "/release"
            if path == "/release":
                body["resource"] = body["resource"].partition("#")[0]
            answer = await client.post(path, json=body)
            assert answer.status_code in (200, 409), answer.text


async def follow(server: ServerProcess, key: str, workspace: str, board: Board) -> None:
    async with watch(server, key, workspace) as client:
        while True:
            board.apply(orjson.loads(await client.recv()))


async def agree(server: ServerProcess, key: str, boards: list[Board]) -> None:
    """Wait until every board shows what `GET wait` returns. Offers end and messages arrive meanwhile."""
    async with asyncio.timeout(20), api(server, key) as client:
        while True:
            picture = (await client.get("/wait")).json()
            held = sorted(picture["holders"], key=lambda one: (one["resource"], one["holder"]))
            shows = [
                (
                    sorted(board.holders.values(), key=lambda one: (one["resource"], one["holder"])),
                    board.queue(),
                    board.deadlocks,
                )
                for board in boards
            ]
            if all(one == (held, picture["queue"], picture["deadlocks"]) for one in shows):
                assert held
                return
            await asyncio.sleep(0.3)


@pytest.fixture
def redis_server() -> Any:
    """A private Redis, because the test stops it."""
    server = Redis()
    try:
        yield server.start()
    finally:
        server.remove()


async def test_two_servers_show_the_same_board_and_survive_the_loss_of_redis(
    live_server_process: ServerFactory, postgres_url: str, redis_server: Redis
) -> None:
    shared = {"DATABASE_URL": postgres_url, "REDIS_URL": redis_server.url}
    here, there = live_server_process(**shared), live_server_process(**shared)
    created = await asyncio.to_thread(here.manage, "apikey", "create", here.secrets["workspace"])
    key = created["apiKey"]
    async with watch(here) as client:
        assert (await next_message(client))["type"] == "snapshot"
        await asyncio.sleep(2.5)  # until each server has received a beat of the other
        for number, server in enumerate((here, there, here, there)):
            assert (await lease(server, f"lock:{number}", key)).status_code == 200
            message = await next_message(client)
            assert [event["resource"] for event in message["events"]] == [f"lock:{number}"]

        boards = [Board(), Board()]
        following = [
            asyncio.create_task(follow(server, key, here.secrets["workspace"], board))
            for server, board in zip((here, there), boards, strict=True)
        ]
        await asyncio.gather(*(work((here, there)[seed % 2], key, seed) for seed in range(6)))
        await agree(here, key, boards)
        assert not [task for task in following if task.done()]
        for task in following:
            task.cancel()

        await asyncio.to_thread(redis_server.stop)
        delayed = await next_message(client, 15)
        while not delayed.get("delayed"):
            delayed = await next_message(client, 15)
        assert delayed["type"] == "snapshot"
        assert (await lease(there, "lock:meanwhile", key)).status_code == 200
        while "lock:meanwhile" not in shown(delayed):
            delayed = await next_message(client, 15)

        await asyncio.to_thread(redis_server.start)
        message = await next_message(client, 30)
        while message.get("delayed"):
            message = await next_message(client, 30)
        assert message["type"] == "snapshot"
        assert (await lease(there, "lock:after", key)).status_code == 200
        while "lock:after" not in shown(message):
            message = await next_message(client, 15)
