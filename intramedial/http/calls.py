"""What an operation of the JSON API is given, what it answers, and whom it lets in; free of any framework."""

import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from intramedial.http.principal import Principal
from intramedial.http.requests import RequestParts

Headers = tuple[tuple[bytes, bytes], ...]
JSON = b"application/json"
LINES = b"application/jsonl"
"""JSON Lines: one JSON object a line, each as soon as it is known."""


@dataclass(slots=True)
class Call:
    """A request on its way to an operation. `principal` is None where none is asked for."""

    parts: RequestParts
    principal: Principal | None = None

    @property
    def caller(self) -> Principal:
        """Who is asking, in an operation that asks for credentials."""
        assert self.principal is not None
        return self.principal

    @property
    def digest(self) -> str:
        """The body's digest as a receipt names it (RFC 9530): `sha-256=:…:`."""
        return f"sha-256=:{base64.b64encode(hashlib.sha256(self.parts.body).digest()).decode()}:"


@dataclass(slots=True)
class Reply:
    """An answer: status, body, further header fields (lower-case names).

    An answer is not to be stored by anybody, unless it is `public` and says itself for how long it may be.
    With `lines`, those are sent one after the other instead of `body`; they are read to their end, whether or
    not the caller is still there.
    """

    status: int
    body: bytes
    headers: Headers = ()
    media_type: bytes = JSON
    public: bool = False
    lines: AsyncIterator[bytes] | None = None


@dataclass(frozen=True)
class Credentials:
    """The credentials an operation takes: names of security schemes, any one of which does.

    What ninja knows as an operation's `auth`. `admit` gives the caller, or raises Problem. `cross_origin`:
    whether pages of other origins may send signed requests and read the answers.
    """

    schemes: tuple[str, ...]
    admit: Callable[[RequestParts], Awaitable[Principal]]
    cross_origin: bool = True

    async def __call__(self, parts: RequestParts) -> Principal:
        """The caller; Problem for one that is not let in."""
        return await self.admit(parts)
