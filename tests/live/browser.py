"""Live sockets on the ASGI application, opened as clients open them, and commands for the authority."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import get_user_model

from coordination.authority import process as authority
from coordination.core.messages import Acquire, Command, Release
from coordination.core.model import Mode
from coordination.wire.ids import new_lease_id
from intramedial.accounts.models import BetaPassword
from intramedial.workspaces import tickets
from intramedial.workspaces.models import Trial
from tests import people

ALICE, BOB = "did:example:alice", "did:example:bob"
EMPTY = "sha-256=:" + base64.b64encode(hashlib.sha256(b"").digest()).decode() + ":"

Headers = list[tuple[bytes, bytes]]

TRIAL_PATH = "/ws/prueba/"
PATIENCE_S = 30.0  # what a test waits for comes at once, except on a busy machine
UNAUTHENTICATED, NOT_FOUND = (4401, "unauthenticated"), (4404, "not_found")


def bearer(key: str) -> Headers:
    return [(b"authorization", f"Bearer {key}".encode())]


def page(session: str | None, origin: str | None = settings.BASE_URL) -> Headers:
    """The header fields that a browser sends from a page."""
    headers: Headers = [(b"host", b"127.0.0.1:8000")]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    if session is not None:
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
    return headers


def socket(path: str, headers: Headers, protocols: list[str] | None = None) -> WebsocketCommunicator:
    from intramedial import asgi

    return WebsocketCommunicator(asgi.sockets, path, headers=headers, subprotocols=protocols)


@asynccontextmanager
async def opened(
    path: str, headers: Headers, protocols: list[str] | None = None
) -> AsyncIterator[WebsocketCommunicator]:
    """A socket that the server accepts. It is closed at the end of the context."""
    client = socket(path, headers, protocols)
    accepted, _ = await client.connect(PATIENCE_S)
    assert accepted
    try:
        yield client
    finally:
        await client.disconnect(timeout=PATIENCE_S)


async def closing(client: WebsocketCommunicator) -> tuple[int, str]:
    """The code and the reason with which the server closes the socket. Messages before that are skipped."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            message = await client.receive_output(PATIENCE_S)
            if message["type"] == "websocket.close":
                await client.wait(PATIENCE_S)
                return message["code"], message.get("reason", "")


async def refusal(path: str, headers: Headers, protocols: list[str] | None = None) -> tuple[int, str] | None:
    """The code and the reason with which a socket is refused, or None if its handshake is refused."""
    client = socket(path, headers, protocols)
    accepted, _ = await client.connect(PATIENCE_S)
    if not accepted:
        await client.wait(PATIENCE_S)
        return None
    message = await client.receive_output(PATIENCE_S)
    assert message["type"] == "websocket.close", message
    await client.wait(PATIENCE_S)
    return message["code"], message["reason"]


@asynccontextmanager
async def watching(
    path: str, headers: Headers, protocols: list[str] | None = None
) -> AsyncIterator[WebsocketCommunicator]:
    """A socket that was admitted and has received its snapshot."""
    async with opened(path, headers, protocols) as client:
        assert (await client.receive_json_from(timeout=PATIENCE_S))["type"] == "snapshot"
        yield client


async def next_events(client: WebsocketCommunicator) -> dict[str, Any]:
    """The next events message that has events."""
    while True:
        message: dict[str, Any] = await client.receive_json_from(timeout=PATIENCE_S)
        assert message["type"] == "events", message
        if message["events"]:
            return message


async def ask(workspace: str, command: Command) -> Any:
    answer = await authority.get().ask(authority.Ask(workspace, command, "workspace_key", EMPTY))
    return answer.outcome


async def acquire(workspace: str, resource: str, agent: str = ALICE) -> Any:
    return await ask(workspace, Acquire(resource, Mode.EXCLUSIVE, agent, new_lease_id()))


async def release(workspace: str, resource: str, agent: str = ALICE) -> Any:
    return await ask(workspace, Release(resource, agent))


@sync_to_async
def new_user(email: str) -> Any:
    return get_user_model().objects.create_user(email=email, password="a long pass phrase")


@sync_to_async
def logged_in(user: Any) -> str:
    """Log `user` in with a new beta password; returns the key of the session."""
    mine = BetaPassword.objects.create(hash=secrets.token_hex(16), prefix="live")
    return people.session_of(user, beta_password=mine)


async def ticket_of(trial: Trial) -> list[str]:
    """The subprotocols that a page with a new ticket offers."""
    assert trial.workspace is not None
    secret, _ = await sync_to_async(tickets.issue)(trial.workspace.public_id)
    return ["intramedial", f"ticket.{secret}"]
