"""Finds the Principal that made a request, by its API key (``Authorization: Bearer imk_…``) or its signature
(RFC 9421).

The nonce of a signature and a call of a trial are used up here, in a transaction of their own, before the
request is decided.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial

from django.conf import settings
from django.db import connections, router

from intramedial.databases.threads import DatabaseThreads
from intramedial.http.calls import Credentials, Principal, RequestParts, TrialState
from intramedial.http.problems import Problem, challenge
from intramedial.identity import signatures
from intramedial.identity.signatures import SignedBy
from intramedial.workspaces.authentication import bearer, signers
from intramedial.workspaces.models import Nonce

__all__ = ["Principal", "RequestParts", "TrialState", "authenticate", "proven_key", "start", "stop"]

NO_CREDENTIALS = "Send an API key as `Authorization: Bearer imk_…`, or sign the request (RFC 9421)."
NO_SUCH_KEY = "The API key is unknown, revoked or expired."
TWO_CREDENTIALS = "Send either an API key or a signature, not both."

WRONG_KEY = challenge("invalid_token", NO_SUCH_KEY)
TWO_SENT = challenge("invalid_request", TWO_CREDENTIALS)

ON_POSTGRESQL = 4
"""Threads that write nonces and calls of trials. On SQLite there is one, because it has one writer."""


class Authenticator:
    """Authenticates requests; ``clock`` gives seconds since the Unix epoch.

    It also owns the threads in which trials, tickets and watchers are looked up, so that everything that this
    process holds for callers begins and ends with it.
    """

    def __init__(self, clock: Callable[[], float] = time.time):
        self._clock = clock
        self._readers = DatabaseThreads("api-keys", 2)
        self._writers = DatabaseThreads("signed-requests", _writer_count())
        self._background = DatabaseThreads("last-uses", 1)
        self.trials = DatabaseThreads("trials", 1)
        self.tickets = DatabaseThreads("tickets", 1)
        self.watchers = DatabaseThreads("watchers", 1)
        self._budget = signers.Budget()
        self._keys = bearer.KeyCache(self._find_key)
        self._last_uses = bearer.LastUses(self._background)
        self._sweeper = signers.Sweeper(lambda: signers.sweep_nonces(self._clock()))

    def start(self) -> None:
        """Delete old nonces from now on. The first signed request starts that too."""
        self._sweeper.start()

    async def authenticate(self, parts: RequestParts, *, spend: bool = True) -> Principal:
        """See :func:`authenticate`."""
        authorization = parts.headers.get("authorization")
        if not signatures.is_signed(parts):
            return await self._by_key(authorization)
        if authorization is not None:
            raise Problem("unauthenticated", TWO_CREDENTIALS, headers=TWO_SENT)
        signed = self._verify(parts)
        workspace = parts.headers.get(signatures.WORKSPACE_HEADER)
        now = self._clock()
        use = partial(signers.use_signature, signed, workspace, budget=self._budget, now=now, spend=spend)
        principal = await self._writers.run(use)
        self._sweeper.start()
        return principal

    async def proven_key(self, parts: RequestParts) -> SignedBy:
        """See :func:`proven_key`."""
        if not signatures.is_signed(parts):
            raise Problem("unauthenticated", "Sign the request with the key of its did:key (RFC 9421).")
        signed = self._verify(parts)
        use = partial(signers.use_nonce, signed, budget=self._budget, now=self._clock())
        await self._writers.run(use)
        self._sweeper.start()
        return signed

    def close(self) -> None:
        """Write pending last uses and end the threads."""
        self._sweeper.stop()
        pools = (self._readers, self._writers, self._background, self.trials, self.tickets, self.watchers)
        for threads in pools:
            threads.close()

    async def _by_key(self, authorization: str | None) -> Principal:
        if authorization is None:
            raise Problem("unauthenticated", NO_CREDENTIALS)
        scheme, _, rest = authorization.partition(" ")
        secret = rest.strip(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Problem("unauthenticated", NO_CREDENTIALS)
        known = await self._keys.get(secret)
        now = self._clock()
        if known is None or (known.expires_at is not None and known.expires_at <= now):
            raise Problem("unauthenticated", NO_SUCH_KEY, headers=WRONG_KEY)
        self._last_uses.note(known.id, now)
        return known.principal

    def _find_key(self, secret: str) -> Awaitable[bearer.KnownKey | None]:
        return self._readers.run(partial(bearer.find_key, secret), repeatable=True)

    def _verify(self, parts: RequestParts) -> SignedBy:
        try:
            return signatures.verify(parts, base_url=settings.BASE_URL, now=self._clock())
        except signatures.BadSignature as error:
            raise Problem("bad_signature", f"The signature was not accepted: {error}.") from error


def _writer_count() -> int:
    vendor = connections[router.db_for_write(Nonce)].vendor
    return ON_POSTGRESQL if vendor == "postgresql" else 1


_authenticator: Authenticator | None = None


def process() -> Authenticator:
    """The authenticator of this process, made at the first call."""
    global _authenticator
    if _authenticator is None:
        _authenticator = Authenticator()
    return _authenticator


async def authenticate(parts: RequestParts, *, spend: bool = True) -> Principal:
    """The principal that made the request.

    A signed request uses up its nonce and, with ``spend``, one call of its trial. Raises :class:`Problem`:
    ``unauthenticated``, ``bad_signature``, ``replayed``, ``trial_expired`` (401), ``trial_exhausted`` (429),
    ``authority_unavailable`` (503).
    """
    return await process().authenticate(parts, spend=spend)


async def proven_key(parts: RequestParts) -> SignedBy:
    """The key that signed the request, whether or not the service knows it; uses up the nonce.

    Raises :class:`Problem` as :func:`authenticate` does, but for those about trials.
    """
    return await process().proven_key(parts)


def start() -> None:
    """At the start of the process: begin to delete old nonces."""
    process().start()


def stop() -> None:
    """At the end of the process: write pending last uses, and close the connections."""
    global _authenticator
    if _authenticator is not None:
        _authenticator.close()
        _authenticator = None


async def _uncounted(parts: RequestParts) -> Principal:
    return await authenticate(parts, spend=False)


COUNTED = Credentials(("apiKey", "signature"), authenticate)
"""A key or a signed request. A request of a trial counts as one call, whatever its answer."""

UNCOUNTED = Credentials(("apiKey", "signature"), _uncounted)
"""A key or a signed request. A request of a trial is not counted."""
