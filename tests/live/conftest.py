"""An event loop whose time leaps, a running authority with live sockets, and clients that may watch."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from django.conf import settings
from django.utils import timezone

from coordination.authority import process as processes
from coordination.live import base_consumer, consumers
from coordination.live import hub as hubs
from intramedial.server import websocket
from intramedial.workspaces.authentication import callers
from intramedial.workspaces.models import Membership, Trial, Workspace
from tests.live.browser import logged_in, new_user
from tests.live.looptime import LeapingLoop


@pytest.fixture
def leap() -> Iterator[asyncio.Runner]:
    """`leap.run(coroutine)` runs a coroutine on a loop whose time leaps."""
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        yield runner


@pytest.fixture
async def authority(migrated_databases: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A running authority with its publisher and hub, whose intervals are short."""
    monkeypatch.setattr(hubs, "RECHECK_S", 0.05)
    monkeypatch.setattr(base_consumer, "RESYNC_EVERY_S", 0.1)
    await asyncio.to_thread(processes.current().start)
    consumers.start()
    yield
    await processes.current().close()
    await consumers.stop()
    await asyncio.to_thread(callers.stop)


@pytest.fixture
def at(workspace: Workspace) -> str:
    """The address of the workspace's board."""
    return f"/ws/espacios/{workspace.public_id}/"


@pytest.fixture
async def member(workspace: Workspace) -> Any:
    """A member of the workspace."""
    user = await new_user(f"{workspace.public_id}@example.com")
    await Membership.objects.acreate(workspace=workspace, user=user, role="viewer")
    return user


@pytest.fixture
async def session(member: Any) -> str:
    """The key of a session of the member."""
    return await logged_in(member)


@pytest.fixture
async def trial(workspace: Workspace) -> Trial:
    """A trial in force, with the workspace."""
    ends = timezone.now() + timedelta(days=7)
    return await Trial.objects.acreate(
        did=f"did:example:{workspace.public_id}", workspace=workspace, calls_limit=35, expires_at=ends
    )


@pytest.fixture
async def served(migrated_databases: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[uvicorn.Server]:
    """A server in this process, with short deadlines, at the port `served.config.port`."""
    monkeypatch.setattr(base_consumer, "READ_WITHIN_S", 1.0)
    monkeypatch.setattr(base_consumer, "CLOSE_WITHIN_S", 0.1)
    monkeypatch.setattr(websocket, "CUT_AFTER_S", 0.3)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        "intramedial.asgi:application",
        port=listener.getsockname()[1],
        ws="intramedial.server.websocket:SocketProtocol",
        ws_max_size=settings.SOCKET_FRAME,
        lifespan="on",
        log_config=None,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield server
    server.should_exit = True
    await task
