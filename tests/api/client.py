"""A caller of the API in this process: through ASGI, without a socket."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import httpx
from django.conf import settings

from intramedial.api import application
from tests.api import served
from tests.signing import Agent

COORDINATION = "/api/v1/acp/coordination"
LEASE = f"{COORDINATION}/lease"
RELEASE = f"{COORDINATION}/release"
WAIT = f"{COORDINATION}/wait"
AGENTS = "/api/v1/acp/agents"
TRIAL = "/api/v1/trial"
DAY_S = 86_400


def did(name: str) -> str:
    """The DID of a test's agent."""
    return f"did:web:{name}.example"


def problem(answer: httpx.Response, status: int, reason: str) -> Any:
    """The answer as a problem; fails unless it has this status and reason."""
    assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text
    return answer.json()


def reason(answer: httpx.Response) -> tuple[int, str]:
    """Status and reason of a problem or a refusal."""
    return answer.status_code, answer.json()["reason"]


def rate_limit(answer: httpx.Response) -> int:
    """How many calls of a trial are left. Checks that the fields follow the IETF draft."""
    assert answer.headers["ratelimit-policy"] == f'"trial";q=35;w={7 * DAY_S}'
    policy, left, seconds = answer.headers["ratelimit"].split(";")
    assert policy == '"trial"'
    assert 7 * DAY_S - 60 <= int(seconds.removeprefix("t=")) <= 7 * DAY_S
    return int(left.removeprefix("r="))


async def exchange(
    messages: Sequence[dict[str, Any]],
    *,
    method: str,
    path: str,
    query: bytes = b"",
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> tuple[list[dict[str, Any]], int]:
    """What the short path sends for these messages of a client, and how many of them it has read."""
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": list(headers)}
    sent: list[dict[str, Any]] = []
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return messages[read - 1]

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    return sent, read


class Caller:
    """Calls with an API key, with a signature, or without credentials; checks every answer."""

    def __init__(self, key: str | None = None, agent: Agent | None = None) -> None:
        self.key = key
        self.agent = agent
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(application, client=("127.0.0.1", 50000)),
            base_url=settings.BASE_URL,
        )

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: dict[str, str] | None = None,
        **headers: str,
    ) -> httpx.Response:
        """One call. `body`: bytes are sent as they are, anything else as JSON. Headers: `content_type`
        means content-type."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if content:
            fields = {"content-type": "application/json", **fields}
        request = self.http.build_request(method, path, params=params, content=content, headers=fields)
        if self.key is not None:
            request.headers["authorization"] = f"Bearer {self.key}"
        if self.agent is not None:
            request.headers.update(self.agent.sign(method, str(request.url), content, headers=fields))
        return await self.send(request)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request as it is."""
        response = await self.http.send(request)
        served.check(response)
        return response

    async def lease(self, resource: str, agent: str, **headers: str) -> httpx.Response:
        """Acquire a lease."""
        return await self.call("POST", LEASE, {"resource": resource, "actorDid": agent}, **headers)

    async def release(self, resource: str, agent: str, lease_id: str | None = None) -> httpx.Response:
        """Release a lease."""
        body = {"resource": resource, "actorDid": agent} | (
            {"leaseId": lease_id} if lease_id is not None else {}
        )
        return await self.call("POST", RELEASE, body)

    async def wait(self, resource: str | None = None, **params: str) -> httpx.Response:
        """The live picture."""
        return await self.call("GET", WAIT, params={"resource": resource, **params} if resource else params)

    async def withdraw(self, resource: str, agent: str) -> httpx.Response:
        """Withdraw from a queue."""
        return await self.call("DELETE", WAIT, params={"resource": resource, "actorDid": agent})

    async def trust(self, agent: str) -> dict[str, Any]:
        """The trust of a known agent."""
        answer = await self.call("GET", AGENTS, params={"did": agent})
        assert answer.status_code == 200, answer.text
        return answer.json()["trust"]

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()
