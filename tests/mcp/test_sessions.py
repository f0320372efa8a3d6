"""The session manager runs under any server, or the start fails with words."""

import asyncio
import json
import os
import subprocess
import sys
import time
import warnings

import httpx
import pytest

from coordination import mcp
from coordination.mcp import protocol
from intramedial.asgi import application
from tests.server import ROOT
from tests.services import free_port

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"accept": "application/json"}


async def lifespan(*events):
    """The application's messages to a series of lifespan events."""
    arriving, sent = [{"type": f"lifespan.{event}"} for event in events], []

    async def receive():
        return arriving.pop(0)

    async def send(message):
        sent.append(message)

    await application({"type": "lifespan"}, receive, send)
    return sent


async def test_lifespan_events_start_and_stop_the_session_manager(running_authority):
    assert mcp.sessions.running is False
    sent = await lifespan("startup", "shutdown")
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert mcp.sessions.running is False


async def test_a_start_that_fails_says_why(running_authority, monkeypatch):
    def fail():
        raise OSError("no room")

    monkeypatch.setattr(protocol, "sessions", protocol.Sessions(fail))
    monkeypatch.setattr(mcp, "sessions", protocol.sessions)
    (failed,) = await lifespan("startup")
    assert failed == {
        "type": "lifespan.startup.failed",
        "message": "The MCP session manager did not start: no room",
    }


async def test_without_lifespan_events_the_first_request_starts_the_session_manager(
    running_authority, api_key
):
    transport = httpx.ASGITransport(application)  # sends no lifespan events
    headers = HEADERS | {"authorization": f"Bearer {api_key}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers=headers
    ) as http:
        assert mcp.sessions.running is False
        answers = await asyncio.gather(*(http.post("/mcp", json=LIST) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {200}
        assert mcp.sessions.running is True
        await mcp.sessions.stop()
        # It starts again when it must.
        assert (await http.post("/mcp", json=LIST)).status_code == 200
        await mcp.sessions.stop()


def test_a_new_loop_gets_a_new_session_manager():
    sessions = protocol.Sessions(protocol._manager)
    with warnings.catch_warnings():
        # A loop that ends without shutting down its generators leaves the first manager running.
        warnings.simplefilter("ignore", ResourceWarning)
        first = asyncio.run(sessions.start())
        second = asyncio.run(sessions.start())
    assert first is not second


async def test_a_manager_that_dies_is_replaced(running_authority, caplog):
    sessions = protocol.Sessions(protocol._manager)
    first = await sessions.start()

    async def die():
        raise RuntimeError("broken")

    first._task_group.start_soon(die)
    async with asyncio.timeout(2):
        while sessions.running:
            await asyncio.sleep(0)
    assert "the next request starts another" in caplog.text
    assert await sessions.start() is not first
    await sessions.stop()


@pytest.fixture
def daphne(bootstrapped, tmp_path):
    """The service under daphne, which sends no lifespan events; gives its port and log."""
    port = free_port()
    log = (tmp_path / "daphne.log").open("w+b")
    process = subprocess.Popen(
        [sys.executable, "-m", "daphne", "-p", str(port), "intramedial.asgi:application"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": "", "INTRAMEDIAL_DATA_DIR": str(bootstrapped), "PORT": str(port)},
        stdout=log,
        stderr=log,
    )
    yield port, tmp_path / "daphne.log"
    process.terminate()
    process.wait(30)
    log.close()


async def test_daphne_serves_mcp(daphne, bootstrapped):
    port, log = daphne
    key = json.loads((bootstrapped / "bootstrap.json").read_text())["apiKey"]
    headers = HEADERS | {"authorization": f"Bearer {key}"}
    deadline = time.monotonic() + 60
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False
    ) as http:
        while True:
            assert time.monotonic() < deadline, log.read_text()
            try:
                answer = await http.post("/mcp", json=LIST)
                break
            except httpx.ConnectError:
                await asyncio.sleep(0.1)
        assert answer.status_code == 200, log.read_text()
        assert len(answer.json()["result"]["tools"]) == 5
