"""Who a request comes from, and what that lets it do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from intramedial.http.problems import Problem

Auth = Literal["workspace_key", "agent_key", "signature"]


@dataclass(frozen=True)
class TrialState:
    """A trial as it stands after this request.

    ``did`` is the key that began it, ``window_s`` its whole length in seconds.
    """

    did: str
    calls_limit: int
    calls_used: int
    expires_at: datetime
    window_s: int

    def headers(self, now: float) -> dict[str, str]:
        """``RateLimit-Policy`` and ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers-10), lower-case names.

        ``q`` calls in a window of ``w`` seconds; ``r`` are left and the window ends in ``t`` seconds.
        ``now`` is in seconds since the Unix epoch.
        """
        left = max(0, self.calls_limit - self.calls_used)
        ends_in = max(0, int(self.expires_at.timestamp() - now))
        return {
            "ratelimit-policy": f'"trial";q={self.calls_limit};w={self.window_s}',
            "ratelimit": f'"trial";r={left};t={ends_in}',
        }


@dataclass(frozen=True)
class Principal:
    """An authenticated caller.

    ``workspace`` is the ``ws_…`` it acts in, ``auth`` how it was known (as receipts say it), ``actor`` the
    one DID it can act for (``None``: any of its workspace), ``semantic_classes`` the workspace's own table.
    """

    workspace: str
    auth: Auth
    actor: str | None
    read_only: bool
    semantic_classes: Mapping[str, str]
    trial: TrialState | None = None

    def require_actor(self, did: str) -> None:
        """Raise ``actor_mismatch`` unless it can act for ``did``."""
        if self.actor is not None and self.actor != did:
            raise Problem("actor_mismatch", f"These credentials can only act for {self.actor}.")

    def require_write(self) -> None:
        """Raise ``forbidden`` if it can only read."""
        if self.read_only:
            raise Problem("forbidden", "This API key can only read.")
