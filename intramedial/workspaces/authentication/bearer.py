"""API keys: ``Authorization: Bearer imk_…``.

The result of a look-up is kept in memory for less than a second, whether or not the key was found. So most
requests make no query, and a revoked key stops working within that second.
"""

import asyncio
import hmac
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from django.db.models import Q

from intramedial.databases.threads import DatabaseThreads
from intramedial.http.calls import Principal
from intramedial.workspaces import keys
from intramedial.workspaces.models import ApiKey

logger = logging.getLogger(__name__)

# Counted from before the look-up. The rest of the second is for the look-up and the answer.
REMEMBERED_S = 0.9
REMEMBERED_KEYS = 10_000
REMEMBERED_UNKNOWN = 1_000


@dataclass(frozen=True)
class KnownKey:
    """An API key that was in force when it was looked up; ``expires_at`` in seconds since the Unix epoch."""

    id: int
    principal: Principal
    expires_at: float | None


def find_key(secret: str) -> KnownKey | None:
    """Look a key up in the database; ``None`` if it is unknown or revoked."""
    # The prefix finds the row; the comparison in constant time decides.
    row = ApiKey.objects.select_related("workspace").filter(prefix=secret[: keys.PREFIX_LENGTH]).first()
    if row is None or not hmac.compare_digest(row.sha256, keys.digest(secret)) or row.revoked_at:
        return None
    principal = Principal(
        workspace=row.workspace.public_id,
        auth="workspace_key" if row.actor_did is None else "agent_key",
        actor=row.actor_did,
        read_only=row.read_only,
        semantic_classes=MappingProxyType(row.workspace.semantic_classes),
    )
    return KnownKey(row.pk, principal, row.expires_at.timestamp() if row.expires_at else None)


class KeyCache:
    """API keys that were looked up a moment ago, by the SHA-256 of the secret; to be used on the event loop.

    Concurrent requests with the same key share one look-up. ``find`` returns the key, or ``None`` if it is
    unknown. Unknown keys have a memory of their own, so that many of them cannot displace the known ones.
    """

    def __init__(
        self, find: Callable[[str], Awaitable[KnownKey | None]], clock: Callable[[], float] = time.monotonic
    ):
        self._find = find
        self._clock = clock
        self._known: dict[str, tuple[float, KnownKey | None]] = {}
        self._unknown: dict[str, tuple[float, KnownKey | None]] = {}
        self._asking: dict[str, asyncio.Task[KnownKey | None]] = {}

    async def get(self, secret: str) -> KnownKey | None:
        """The key with that secret, from memory or the database; ``None`` if it is unknown or revoked."""
        digest = keys.digest(secret)
        now = self._clock()
        entry = self._known.get(digest) or self._unknown.get(digest)
        if entry is not None and now < entry[0]:
            return entry[1]
        if not keys.well_formed(secret):
            return None
        task = self._asking.get(digest)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = asyncio.get_running_loop().create_task(self._ask(digest, secret, now + REMEMBERED_S))
            self._asking[digest] = task
            # Retrieves the exception, in case all callers are cancelled before the look-up fails.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # A cancelled caller must not cancel the shared look-up.
        return await asyncio.shield(task)

    async def _ask(self, digest: str, secret: str, until: float) -> KnownKey | None:
        try:
            found = await self._find(secret)
            self._known.pop(digest, None)
            self._unknown.pop(digest, None)
            remembered, limit = (
                (self._unknown, REMEMBERED_UNKNOWN) if found is None else (self._known, REMEMBERED_KEYS)
            )
            remembered[digest] = (until, found)
            if len(remembered) > limit:
                del remembered[next(iter(remembered))]  # the oldest look-up
            return found
        finally:
            self._asking.pop(digest, None)


class LastUses:
    """Records when keys were last used, to the minute. A thread of its own writes several keys at once."""

    def __init__(self, threads: DatabaseThreads):
        self._threads = threads
        self._lock = threading.Lock()
        self._noted: dict[int, int] = {}  # key id -> the minute of its last use
        self._pending: dict[int, int] = {}
        self._writing = False

    def note(self, key_id: int, now: float) -> None:
        """Note a use at ``now`` (seconds since the Unix epoch). Cheap; never raises."""
        minute = int(now) // 60
        if self._noted.get(key_id) == minute:
            return
        with self._lock:
            if len(self._noted) >= REMEMBERED_KEYS:
                self._noted.clear()
            self._noted[key_id] = self._pending[key_id] = minute
            if self._writing:
                return
            self._writing = True
        self._threads.submit(self._write_all)

    def _write_all(self) -> None:
        try:
            while pending := self._take():
                _write_last_uses(pending)
        except Exception:
            # A lost last use does no harm, but the next one must still be written.
            logger.exception("the last use of API keys was not recorded")
            with self._lock:
                self._writing = False
            raise

    def _take(self) -> dict[int, int]:
        with self._lock:
            pending, self._pending = self._pending, {}
            self._writing = bool(pending)
        return pending


def _write_last_uses(minutes: dict[int, int]) -> None:
    for minute in set(minutes.values()):
        at = datetime.fromtimestamp(minute * 60, UTC)
        used = [key_id for key_id, last in minutes.items() if last == minute]
        older = Q(last_used_at=None) | Q(last_used_at__lt=at)
        ApiKey.objects.filter(older, pk__in=used).update(last_used_at=at)
