"""Which application serves a connection, and the lifespan when the authority cannot start."""

from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from coordination.authority import process as authority
from intramedial import asgi


async def test_a_socket_on_a_path_without_one_is_refused():
    connected, code = await WebsocketCommunicator(asgi.application, "/ws/nothing/").connect()
    assert (connected, code) == (False, 4404)


async def answers(*kinds: str) -> list[dict[str, Any]]:
    """What the application sends when it receives these lifespan events."""
    pending, sent = list(kinds), []

    async def receive() -> dict[str, Any]:
        return {"type": f"lifespan.{pending.pop(0)}"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await asgi.application({"type": "lifespan"}, receive, send)
    return sent


async def test_the_authority_lives_as_long_as_the_server(monkeypatch):
    calls: list[str] = []
    monkeypatch.setattr(authority.current(), "start", lambda: calls.append("start"))
    monkeypatch.setattr(authority.current(), "stop", lambda: calls.append("stop"))
    sent = await answers("startup", "shutdown")
    assert [message["type"] for message in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert calls == ["start", "stop"]


async def test_without_its_database_the_server_does_not_start(monkeypatch):
    def fail() -> None:
        raise authority.StorageFault("another process is the authority")

    monkeypatch.setattr(authority.current(), "start", fail)
    (sent,) = await answers("startup")
    assert sent == {"type": "lifespan.startup.failed", "message": "another process is the authority"}


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/none", "/health/live", "/.well-known/jwks.json", "/openapi.json"]
)
async def test_the_short_path_serves_its_own_paths(monkeypatch, path):
    went: list[str] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        went.append(scope["path"])

    monkeypatch.setattr(asgi.api, "application", application)
    await asgi.application({"type": "http", "path": path}, None, None)
    assert went == [path]
