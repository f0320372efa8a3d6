"""Agents over MCP and REST want the same lock; many calls come at once."""

import asyncio
import gc
from collections import Counter

import httpx
from mcp.server.connection import Connection
from mcp.server.streamable_http import StreamableHTTPServerTransport

from coordination.mcp import protocol
from tests.mcp.client import NEW, OLD

LOCK = "lock:deploy/production"
ROUNDS = 6


class Section:
    """What the lock protects: records which agent was inside, with which token, and whether it was alone."""

    def __init__(self):
        self.inside = None
        self.entered = []

    async def work(self, agent, token):
        assert self.inside is None, f"{agent} met {self.inside}"
        self.inside = agent
        await asyncio.sleep(0)
        self.entered.append((agent, token))
        self.inside = None


async def test_two_agents_over_mcp_and_one_over_rest_contend(connect, api_key, rest):
    one = await connect(api_key, did="did:web:one.example", version=OLD)
    two = await connect(api_key, did="did:web:two.example", version=NEW, path="/mcp/compat")
    three = "did:web:three.example"
    section = Section()

    def over_mcp(agent):
        async def ask(tool):
            return await agent.body(f"lease.{tool}", resource=LOCK)

        return ask

    async def over_rest(tool):
        path = {"acquire": "/lease", "release": "/release"}[tool]
        answer: httpx.Response = await rest.post(path, json={"resource": LOCK, "actorDid": three})
        assert answer.status_code in (200, 409), answer.text
        return answer.json()

    async def take_turns(name, ask):
        for _ in range(ROUNDS):
            while not (answer := await ask("acquire"))["ok"]:
                assert answer["reason"] == "lease_held"
                assert answer["position"] <= 3
                await asyncio.sleep(0.002)
            await section.work(name, answer["lease"]["fencingToken"])
            assert (await ask("release"))["ok"] is True

    await asyncio.gather(
        take_turns("one", over_mcp(one)),
        take_turns("two", over_mcp(two)),
        take_turns("three", over_rest),
    )
    assert Counter(name for name, _ in section.entered) == {"one": ROUNDS, "two": ROUNDS, "three": ROUNDS}
    assert [token for _, token in section.entered] == list(range(1, 3 * ROUNDS + 1))
    # The next waiter is next: no agent enters twice while another is in the queue.
    turns = [name for name, _ in section.entered]
    assert all(turns[at] != turns[at + 1] for at in range(1, len(turns) - 2 * ROUNDS))


async def test_two_hundred_calls_at_once_leave_nothing_behind(wire):
    def kept():
        gc.collect()
        things = gc.get_objects()
        kinds = (Connection, StreamableHTTPServerTransport)
        return len(things), [thing for thing in things if isinstance(thing, kinds)]

    async def call(index):
        did = f"did:web:{index}.example"
        headers = {"mcp_protocol_version": OLD} if index % 2 else modern("coordination.lease.acquire")
        arguments = {"resource": f"lock:{index % 20}", "actorDid": did}
        params = {"name": "coordination.lease.acquire", "arguments": arguments, "_meta": META}
        return await wire.send("tools/call", params, **headers)

    async def at_once():
        answers = await asyncio.gather(*(call(index) for index in range(200)))
        return Counter(answer["result"]["structuredContent"]["ok"] for answer in answers)

    assert await at_once() == {True: 20, False: 180}
    before, sessions = kept()
    assert sessions == []
    increases = []
    for _ in range(3):
        # The same calls again: renewed, or still in the queue.
        assert await at_once() == {True: 20, False: 180}
        after, sessions = kept()
        assert sessions == []
        increases.append(after - before)
        before = after
    # Other threads add and remove objects now and then; an object that a call leaves, every call leaves.
    assert min(increases) < 200, f"objects added by each round: {increases}"
    manager = await protocol.sessions.start()
    assert manager._server_instances == {}
    assert [task for task in asyncio.all_tasks() if "run_stateless_server" in repr(task.get_coro())] == []


META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern(tool):
    """The headers of a call in the newer version."""
    return {"mcp_protocol_version": NEW, "mcp_method": "tools/call", "mcp_name": tool}
