"""`/health/live`: the process answers. `/health/ready`: it can serve what it promises."""

import asyncio
import http.client
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Literal

import orjson
from django.conf import settings
from django.db import connections
from ninja import Router
from pydantic import Field

from intramedial import logs
from intramedial.calls import Call, Reply
from intramedial.identity.threads import DatabaseThreads
from intramedial.problems import REASONS, Problem, problem_body
from intramedial.schemas import Problem as ProblemShape
from intramedial.schemas import Shape, example

CHECK_WITHIN_S = 2.0
REMEMBERED_S = 0.5

Check = Callable[[], Awaitable[object]]
"""Raises when its part does not answer. A dict that it returns is told beside the parts."""
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
    why: str = Field(description="What told of it.")


class Ready(Shape):
    """Everything needed for a lease answers. A ledger that does not is said, but delays no lease."""

    ok: Literal[True]
    parts: dict[str, State] = Field(description="authority, accounts, ledger: each `ok` or `failed`.")
    restored: Restored | None = Field(None, description="There once the database of leases was restored.")
    clock_ahead_ms: int | None = Field(
        None, description="By how much the authority's clock is ahead of the machine's; there if it is much."
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


def router(authority: Check) -> Router:
    """The health checks; `authority` raises unless leases can be decided."""
    routes = Router(tags=["health"], by_alias=True)
    readiness = Readiness(
        {"authority": authority, "accounts": database("default"), "ledger": database("ledger")}
    )

    @routes.get(
        "live", operation_id="live", summary="Is the process up", response={200: Live, 413: ProblemShape}
    )
    async def live(request: Call) -> Reply:
        """Answers as long as the process does; asks nothing of its databases."""
        return Reply(200, b'{"ok":true}')

    @routes.get(
        "ready",
        operation_id="ready",
        summary="Can it serve",
        response={200: Ready, 413: ProblemShape, 503: NotReady},
    )
    async def ready(request: Call) -> Reply:
        """Whether leases can be decided and callers told apart."""
        parts = await readiness.parts()
        if failed := [name for name in ("authority", "accounts") if parts[name] != "ok"]:
            problem = Problem("authority_unavailable", f"Not answering: {', '.join(failed)}.")
            body = problem_body(problem, logs.request_id.get()) | {"parts": parts} | readiness.told
            headers = ((b"retry-after", b"1"),)
            return Reply(503, orjson.dumps(body), headers, b"application/problem+json")
        return Reply(200, orjson.dumps({"ok": True, "parts": parts} | readiness.told))

    return routes


def ask_ready(within_s: float = 3.0) -> dict[str, Any] | None:
    """What the server of these settings says at `/health/ready`; None when no server answers there."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.HOST, settings.HOST)  # noqa: S104 (not bound)
    connection = http.client.HTTPConnection(host, settings.PORT, timeout=within_s)
    try:
        connection.request("GET", "/health/ready")
        said = orjson.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return said if isinstance(said, dict) else None


def database(alias: str) -> Check:
    """A check that the database answers."""
    threads = DatabaseThreads(f"health-{alias}", 1)

    def ask() -> None:
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT 1")

    return partial(threads.run, ask, repeatable=True)


class Readiness:
    """Runs the checks side by side, once for all who ask at the same time, and keeps the outcome a moment."""

    def __init__(self, checks: Mapping[str, Check], clock: Callable[[], float] = time.monotonic):
        self._checks = checks
        self._clock = clock
        self._until = float("-inf")
        self.told: dict[str, Any] = {}
        """What checks returned besides, when they last succeeded."""
        self._running: asyncio.Task[Parts] | None = None

    async def parts(self) -> Parts:
        """Each part and how it is."""
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
                said = await check()
                if isinstance(said, dict):
                    self.told = said
        except Exception as error:
            logger.warning("health check of %s failed: %s: %s", name, type(error).__name__, error)
            return "failed"
        return "ok"
