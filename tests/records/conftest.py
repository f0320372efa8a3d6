"""A workspace whose agents have leased and waited, over an authority whose clock the test sets."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from coordination.authority import process as authority
from coordination.authority.process import Ask
from coordination.core.messages import Acquire, Command, Outcome, Release
from coordination.core.model import Mode
from tests.api.conftest import Clock, authority_clock, running_authority
from tests.people import client_of, member

__all__ = ["authority_clock", "running_authority"]

DIGEST = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
_numbers = count(1)


@dataclass
class Conduct:
    """Commands of a workspace's agents."""

    workspace: str
    clock: Clock

    def ask(self, command: Command) -> Outcome:
        """The authority's outcome."""
        ask = Ask(self.workspace, command, "workspace_key", DIGEST)
        return async_to_sync(authority.get().ask)(ask).outcome

    def acquire(self, agent: str, resource: str = "lock:a", mode: Mode = Mode.EXCLUSIVE) -> Any:
        """Acquire a resource."""
        return self.ask(Acquire(resource, mode, agent, f"lse_records{next(_numbers)}"))

    def release(self, agent: str, resource: str = "lock:a") -> Any:
        """Release a resource."""
        return self.ask(Release(resource, agent))

    def passes(self, ms: int) -> None:
        """Let time pass."""
        async_to_sync(self.clock.advance)(ms)


@pytest.fixture
def conduct(workspace: Any, authority_clock: Clock) -> Conduct:
    """Agents of a new workspace."""
    return Conduct(workspace.public_id, authority_clock)


@pytest.fixture
def browse(workspace: Any) -> Callable[..., Client]:
    """`browse(role="viewer")`: a member's browser."""

    def client(role: str = "viewer") -> Client:
        return client_of(member(workspace, role))

    return client
