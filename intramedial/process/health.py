"""`/health/live`: the process answers. `/health/ready`: it can serve what it promises.

A database that answers reads may still refuse every write: its disk is full, another session holds a lock, it
has become a read-only copy, its file was deleted. So each part is checked by a write:

- `authority`: its last write if that is recent, otherwise one made for the check;
- `accounts`: one row of the cache's table, written and committed;
- `ledger`: the last batch of receipts, and a read of its table.
"""

import asyncio
import http.client
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Literal

import orjson
from django.conf import settings
from django.db import OperationalError, connections
from django.utils import timezone
from ninja import Router
from pydantic import Field

from intramedial import databases
from intramedial.databases.threads import DatabaseThreads
from intramedial.http import logs
from intramedial.http.calls import Call, Reply
from intramedial.http.problems import REASONS, Problem, problem_body
from intramedial.http.shapes import Absent, ProblemShape, Shape, example
from intramedial.ledger import log

# Together less than two seconds: no answer describes an older state.
CHECK_WITHIN_S = 1.2
REMEMBERED_S = 0.5
LOCK_WAIT_MS = 1_000

PROBE_KEY, PROBE_KEPT = "health", timedelta(days=1)
_PROBE = (
    "INSERT INTO cache (cache_key, value, expires) VALUES (%s, '', %s)"
    " ON CONFLICT (cache_key) DO UPDATE SET expires = excluded.expires"
)

Check = Callable[[], Awaitable[object]]
"""Raises if its part does not work. A dict that it returns is published beside the parts."""
State = Literal["ok", "failed"]
Parts = dict[str, State]

logger = logging.getLogger(__name__)


class Live(Shape):
    """The process answers."""

    ok: Literal[True]


class Restored(Shape):
    """The last time that the database of leases was found to be an older one."""

    at: str = Field(description="When that was seen.")
    tokens_above: int = Field(description="Every fencing token given since then is above this.")
    why: str = Field(description="How it was noticed.")


class Ready(Shape):
    """Everything needed for a lease answers. A ledger that does not answer is listed, and delays no lease."""

    ok: Literal[True]
    parts: dict[str, State] = Field(description="authority, accounts, ledger: each `ok` or `failed`.")
    ledger_dropped: int = Absent(
        ge=1,
        description="How many entries the ledger lacks for good since this process began: it did not answer, "
        "and no more of them could wait. Their receipts are valid.",
    )
    restored: Restored = Absent(description="Present once the database of leases was restored.")
    clock_ahead_ms: int = Absent(
        ge=1,
        description="By how much the authority's clock is ahead of the machine's; present if it is much.",
    )


class NotReady(ProblemShape):
    """Something needed for a lease does not answer."""

    model_config = example(
        {
            "type": "https://api.intramedial.com/errores/authority_unavailable",
            "title": REASONS["authority_unavailable"][1],
            "status": 503,
            "detail": "Not answering: authority.",
            "ok": False,
            "reason": "authority_unavailable",
            "requestId": "req_0f3a5c7e9b1d2f4a6c8e0b2d",
            "parts": {"authority": "failed", "accounts": "ok", "ledger": "ok"},
        }
    )
    parts: dict[str, State]


def router(authority: Check, ledger_fault: Callable[[], str], dropped: Callable[[], int]) -> Router:
    """The operations of the health checks. `authority` raises unless leases can be written. `ledger_fault`
    returns why the last batch of receipts did not reach the ledger, or "". `dropped` returns how many entries
    it lacks for good."""
    routes = Router(tags=["health"], by_alias=True)
    readiness = Readiness({"authority": authority, "accounts": accounts(), "ledger": ledger(ledger_fault)})

    @routes.get(
        "live",
        operation_id="live",
        summary="Is the process up",
        response={200: Live, 413: ProblemShape, 422: ProblemShape},
    )
    async def live(request: Call) -> Reply:
        """Answers as long as the process runs. It does not use the databases."""
        return Reply(200, b'{"ok":true}')

    @routes.get(
        "ready",
        operation_id="ready",
        summary="Can it serve",
        response={200: Ready, 413: ProblemShape, 422: ProblemShape, 503: NotReady},
    )
    async def ready(request: Call) -> Reply:
        """Whether leases can be decided and callers authenticated."""
        parts = await readiness.parts()
        if failed := [name for name in ("authority", "accounts") if parts[name] != "ok"]:
            problem = Problem("authority_unavailable", f"Not answering: {', '.join(failed)}.")
            body = problem_body(problem, logs.request_id.get()) | {"parts": parts} | readiness.details
            headers = ((b"retry-after", b"1"),)
            return Reply(503, orjson.dumps(body), headers, b"application/problem+json")
        lost = {"ledgerDropped": dropped()} if dropped() else {}
        return Reply(200, orjson.dumps({"ok": True, "parts": parts} | readiness.details | lost))

    return routes


def ask_ready(within_s: float = 3.0) -> dict[str, Any] | None:
    """The answer of this installation's server at `/health/ready`. None if no server answers there."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.HOST, settings.HOST)  # noqa: S104 (not bound)
    connection = http.client.HTTPConnection(host, settings.PORT, timeout=within_s)
    try:
        connection.request("GET", "/health/ready")
        answer = orjson.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None


def accounts() -> Check:
    """A check that the database of accounts can be written."""
    threads = DatabaseThreads("health-accounts", 1)

    async def check() -> None:
        await asyncio.wrap_future(threads.submit(partial(_write, "default")))

    return check


def _write(alias: str) -> None:
    """Write one row and commit it, over a new connection, which opens the file that is there now."""
    connection = connections[alias]
    try:
        databases.file_now(alias)
        with connection.cursor() as cursor:
            # Shorter than for pages: a lock that is held longer than this keeps pages waiting too.
            if connection.vendor == "sqlite":
                cursor.execute(f"PRAGMA busy_timeout = {LOCK_WAIT_MS}")
            else:
                cursor.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
            expires = connection.ops.adapt_datetimefield_value(timezone.now() + PROBE_KEPT)
            cursor.execute(_PROBE, [PROBE_KEY, expires])
    finally:
        connection.close()


def ledger(fault: Callable[[], str]) -> Check:
    """A check that the ledger takes entries and can be read."""
    threads = DatabaseThreads("health-ledger", 1)

    async def check() -> None:
        if words := fault():
            raise OperationalError(words)
        await asyncio.wrap_future(threads.submit(log.check))

    return check


class Readiness:
    """Runs the checks at the same time, once for all callers that ask meanwhile, and keeps the result a
    moment."""

    def __init__(self, checks: Mapping[str, Check], clock: Callable[[], float] = time.monotonic):
        self._checks = checks
        self._clock = clock
        self._until = float("-inf")
        self.details: dict[str, Any] = {}
        """What a check returned beside its state when it last succeeded."""
        self._running: asyncio.Task[Parts] | None = None
        self._known: dict[str, State] = {}

    async def parts(self) -> Parts:
        """The state of each part."""
        task = self._running
        if task is None or task.get_loop() is not asyncio.get_running_loop() or self._clock() >= self._until:
            task = self._running = asyncio.get_running_loop().create_task(self._run())
            self._until = self._clock() + CHECK_WITHIN_S + REMEMBERED_S
        return await asyncio.shield(task)

    async def _run(self) -> Parts:
        states = await asyncio.gather(*(self._state(name, check) for name, check in self._checks.items()))
        self._until = self._clock() + REMEMBERED_S
        return dict(zip(self._checks, states, strict=True))

    async def _state(self, name: str, check: Check) -> State:
        try:
            async with asyncio.timeout(CHECK_WITHIN_S):
                details = await check()
                if isinstance(details, dict):
                    self.details = details
        except Exception as error:
            # Only the first time: asked every second, it would fill the log.
            if self._known.get(name) != "failed":
                logger.error("health: %s fails: %s: %s", name, type(error).__name__, error)
            self._known[name] = "failed"
            return "failed"
        if self._known.get(name) == "failed":
            logger.warning("health: %s is well again", name)
        self._known[name] = "ok"
        return "ok"
