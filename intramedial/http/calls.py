"""What an operation of the JSON API gets, what it answers, and whom it admits; free of any framework."""

import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from intramedial.http.problems import Problem

Auth = Literal["workspace_key", "agent_key", "signature"]
Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
LINES = b"application/jsonl"
"""JSON Lines: one JSON object a line, each sent as soon as it is known."""


@dataclass(
    slots=True
)  # not frozen: one is made for each request, and a frozen one takes several times as long
class RequestParts:
    """A request as it came over the wire.

    ``raw_path`` and ``query`` are the bytes of the request's target, never decoded and encoded again.
    ``headers`` has lower-case names; the lines of a repeated field are joined with ``", "``, in order
    (RFC 9110, section 5.3). ``client`` is the address of the peer, for logs.
    """

    method: str
    raw_path: bytes
    query: bytes
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    client: str = ""

    @classmethod
    def from_scope(cls, scope: Mapping[str, Any], body: bytes = b"", client: str = "") -> "RequestParts":
        """The parts of an ASGI ``http`` or ``websocket`` scope (whose method is ``GET``)."""
        return cls(
            method=scope.get("method", "GET"),
            # Servers may leave raw_path out. The decoded path is the best that is left then.
            raw_path=scope.get("raw_path") or scope["path"].encode(),
            query=scope.get("query_string", b""),
            headers=join_fields(scope["headers"]),
            body=body,
            client=client or (scope.get("client") or ("",))[0],
        )


def join_fields(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header fields by lower-case name, the lines of a repeated one joined (RFC 9110, section 5.3)."""
    fields: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip(" \t")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


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

    ``workspace`` is the ``ws_…`` in which it acts, ``auth`` how it was authenticated (the claim of receipts),
    ``actor`` the one DID for which it can act (``None``: any of its workspace), ``semantic_classes`` the
    table of its workspace.
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


@dataclass(slots=True)
class Call:
    """A request on its way to an operation. `principal` is None for an operation that takes no
    credentials."""

    parts: RequestParts
    principal: Principal | None = None

    @property
    def caller(self) -> Principal:
        """The caller, in an operation that takes credentials."""
        assert self.principal is not None
        return self.principal

    @property
    def digest(self) -> str:
        """The body's digest in the form of receipts (RFC 9530): `sha-256=:…:`."""
        return f"sha-256=:{base64.b64encode(hashlib.sha256(self.parts.body).digest()).decode()}:"


@dataclass(slots=True)
class Reply:
    """An answer: status, body, further header fields (lower-case names).

    No cache may store it, unless it is `public` and has a `cache-control` of its own. With `lines`, these are
    sent one after the other instead of `body`. They are read to their end even if the caller has gone.
    """

    status: int
    body: bytes
    headers: Headers = ()
    media_type: bytes = JSON
    public: bool = False
    lines: AsyncIterator[bytes] | None = None


@dataclass(frozen=True)
class Credentials:
    """The credentials that an operation takes: names of security schemes, of which a request needs one.

    Ninja keeps it as the operation's `auth`. `admit` returns the caller or raises Problem. `cross_origin`:
    whether pages of other origins may send signed requests and read the answers.
    """

    schemes: tuple[str, ...]
    admit: Callable[[RequestParts], Awaitable[Principal]]
    cross_origin: bool = True

    async def __call__(self, parts: RequestParts) -> Principal:
        """The caller. Raises Problem if the credentials are not valid."""
        return await self.admit(parts)
