"""The protocol, as the official SDK speaks it: what it lists, what it calls, and its session manager.

Stateless: no request leaves anything behind, so any server process can answer any request.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from coordination.mcp import arguments, prose, tools, words
from intramedial import __version__
from intramedial.http import logs
from intramedial.http.calls import Call
from intramedial.http.problems import Problem, problem_body
from intramedial.http.serving import unforeseen

CALL = "intramedial.call"
"""Where in an ASGI scope the entry leaves the authenticated `Call`."""
FAULT = "intramedial.mcp.fault"
"""Where in an ASGI scope the entry leaves the `Problem` of arguments that could not be read, or None."""
COMPATIBLE = "intramedial.mcp.compatible"
"""Where in an ASGI scope the entry leaves whether tools are listed by names without dots."""

Json = dict[str, Any]

HOUR_MS = 3_600_000
SHOWN_NAME = 80

logger = logging.getLogger(__name__)


async def _list_tools(
    context: ServerRequestContext, params: PaginatedRequestParams | None
) -> ListToolsResult:
    return ListToolsResult(tools=tools.listing(_scope(context)[COMPATIBLE]))


async def _call_tool(context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
    tool = tools.find(params.name)
    if tool is None:
        names = ", ".join(listed.name for listed in tools.listing(_scope(context)[COMPATIBLE]))
        shown = params.name[:SHOWN_NAME]
        raise MCPError(INVALID_PARAMS, f"There is no tool {shown!r}. The tools are: {names}.")
    scope = _scope(context)
    call: Call = scope[CALL]
    try:
        if (fault := scope[FAULT]) is not None:
            raise fault
        body = await tool.run(call, arguments.read(tool.arguments, params.arguments or {}, call.caller))
    except Problem as problem:
        return _failed(problem)
    except Exception as error:
        return _failed(unforeseen(error))
    return _result(tool.say(body), body)


def _failed(problem: Problem) -> CallToolResult:
    """What could not be answered, as a result: of errors of the protocol a model may see nothing."""
    body = problem_body(problem, logs.request_id.get())
    return _result(words.failed(body), body, is_error=True)


def _result(said: str, body: Json, *, is_error: bool = False) -> CallToolResult:
    """A body as structured content, and as text behind the words on it, for clients that show only text."""
    text = f"{said}\n{orjson.dumps(body).decode()}"
    return CallToolResult(content=[TextContent(text=text)], structured_content=body, is_error=is_error)


def _scope(context: ServerRequestContext) -> dict[str, Any]:
    # Every request comes over HTTP, so there always is one.
    assert context.request is not None
    scope: dict[str, Any] = context.request.scope
    return scope


def _server() -> Server[Any]:
    same_for_all = CacheHint(ttl_ms=HOUR_MS, scope="public")
    return Server(
        "intramedial",
        version=__version__,
        title="intramedial: coordination.lease",
        instructions=prose.INSTRUCTIONS,
        website_url=f"{settings.BASE_URL}/docs/mcp/",
        cache_hints={"tools/list": same_for_all, "server/discover": same_for_all},
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        # No argument is repeated in a header, so none has to be compared with one.
        get_tool_input_schema=lambda name: None,
    )


class NotStarted(RuntimeError):
    """The MCP session manager did not start."""


class Sessions:
    """The SDK's session manager on the event loop it was started on, in a task of its own.

    The manager is entered and left by one task, as its task group demands. Lifespan events start and stop it;
    under servers that send none the first request starts it.
    """

    def __init__(self, make: Callable[[], StreamableHTTPSessionManager]) -> None:
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._end = asyncio.Event()

    @property
    def running(self) -> bool:
        """Whether a manager is running, on whatever loop."""
        return self._task is not None and not self._task.done()

    async def start(self) -> StreamableHTTPSessionManager:
        """The manager, started on this loop if it was not. Raises NotStarted."""
        loop = asyncio.get_running_loop()
        if self._ready is None or self._loop is not loop or self._task is None or self._task.done():
            self._loop, self._ready, self._end = loop, loop.create_future(), asyncio.Event()
            self._task = loop.create_task(self._run(self._ready, self._end), name="mcp-sessions")
        # Shielded: a caller that goes away must not take the start with it from the others.
        return await asyncio.shield(self._ready)

    async def stop(self) -> None:
        """End what is running on this loop."""
        if self._task is not None and self._loop is asyncio.get_running_loop():
            self._end.set()
            await self._task
        self._loop = self._task = self._ready = None

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager], end: asyncio.Event) -> None:
        try:
            manager = self._make()
            async with manager.run():
                ready.set_result(manager)
                await end.wait()
        except Exception as error:
            if ready.done():
                logger.exception("the MCP session manager ended; the next request starts another")
                return
            failure = NotStarted(f"The MCP session manager did not start: {error}")
            failure.__cause__ = error
            ready.set_exception(failure)


def _manager() -> StreamableHTTPSessionManager:
    return StreamableHTTPSessionManager(
        app=_server(),
        json_response=True,
        stateless=True,
        # Host, Origin and size are checked at the entry, before anything else is.
        security_settings=None,
        max_request_body_size=settings.BODY_LIMIT,
    )


sessions = Sessions(_manager)
