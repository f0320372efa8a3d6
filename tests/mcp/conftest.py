"""The service on a real socket in this process, over an authority whose clock the test sets; and its
clients."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import uvicorn

from intramedial.asgi import application
from intramedial.workspaces import provision
from tests.api.conftest import authority_clock, in_thread, running_authority
from tests.mcp.client import Agent, Wire

__all__ = ["authority_clock", "in_thread", "running_authority"]


@pytest.fixture
async def url(running_authority: None) -> AsyncIterator[str]:
    """The service's address: uvicorn on a free port, on the test's own loop."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_config=None, lifespan="on"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.001)
    host, port = server.servers[0].sockets[0].getsockname()
    yield f"http://{host}:{port}"
    server.should_exit = True
    await serving


@pytest.fixture
async def connect(url: str) -> AsyncIterator[Callable[..., Awaitable[Agent]]]:
    """`await connect(key, did=…, version=…, path=…)`: the official client, connected as an agent."""
    done = asyncio.Event()
    tasks = []

    async def connected(key: str, **options: Any) -> Agent:
        ready: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()

        # The task that entered the client must leave it, and the end of a fixture is another task.
        async def stay() -> None:
            async with Agent.connected(url, key, **options) as agent:
                ready.set_result(agent)
                await done.wait()

        task = asyncio.create_task(stay())
        await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await task
        tasks.append(task)
        return ready.result()

    yield connected
    done.set()
    await asyncio.gather(*tasks)


@pytest.fixture
async def rest(url: str, api_key: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the REST API with the same key, over the same socket."""
    headers = {"Authorization": f"Bearer {api_key}"}
    base = f"{url}/api/v1/acp/coordination"
    async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False) as client:
        yield client


@pytest.fixture
async def wire(url: str, api_key: str) -> AsyncIterator[Wire]:
    """MCP as bytes, for messages that the official client would never send."""
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield Wire(client, api_key)


@pytest.fixture
async def make_key(in_thread: Callable[..., Awaitable[Any]], workspace: Any) -> Callable[..., Awaitable[str]]:
    """`await make_key(actor_did=…, read_only=…)`: the secret of a key of the workspace."""

    async def made(**options: Any) -> str:
        return (await in_thread(provision.create_api_key, workspace, **options)).secret

    return made


@pytest.fixture
async def other_key(in_thread: Callable[..., Awaitable[Any]]) -> str:
    """The secret of a key of another workspace."""

    def made() -> str:
        return provision.create_api_key(provision.create_workspace("other")).secret

    return await in_thread(made)
