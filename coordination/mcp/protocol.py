"""The official SDK's server: it lists the tools, calls them, and has a session manager.

It is stateless: no request leaves anything behind, so any process can answer any request.
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
from pydantic import BaseModel

from coordination.mcp import summaries, tools
from intramedial import __version__
from intramedial.http import logs
from intramedial.http.calls import Call, Principal
from intramedial.http.formats import Json
from intramedial.http.problems import Problem, problem_body
from intramedial.http.routing import refuse_unknown, validated, wire_names
from intramedial.http.serving import unforeseen

CALL = "intramedial.call"
"""Key of the ASGI scope under which `transport` puts the authenticated `Call`."""
FAULT = "intramedial.mcp.fault"
"""Key of the ASGI scope under which `transport` puts the `Problem` of arguments that cannot be read, or
None."""
COMPATIBLE = "intramedial.mcp.compatible"
"""Key of the ASGI scope under which `transport` puts whether tools are listed by names without dots."""

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
        body = await tool.run(call, _arguments(tool.arguments, params.arguments or {}, call.caller))
    except Problem as problem:
        return _failed(problem)
    except Exception as error:
        return _failed(unforeseen(error))
    return _result(tool.summarize(body), body)


def _arguments(shape: type[BaseModel], given: Json, caller: Principal) -> Any:
    """The arguments as an object of `shape`. Raises Problem (`invalid_request`)."""
    if shape.model_config.get("extra") == "forbid":
        refuse_unknown(given, wire_names(shape), "tool", "argument")
    return validated(shape, given, caller)


def _failed(problem: Problem) -> CallToolResult:
    """The problem as a result, since a model may not see errors of the protocol."""
    body = problem_body(problem, logs.request_id.get())
    return _result(summaries.failed(body), body, is_error=True)


def _result(summary: str, body: Json, *, is_error: bool = False) -> CallToolResult:
    """A body as structured content, and as text after its summary for clients that show only text."""
    text = f"{summary}\n{orjson.dumps(body).decode()}"
    return CallToolResult(content=[TextContent(text=text)], structured_content=body, is_error=is_error)


def _scope(context: ServerRequestContext) -> dict[str, Any]:
    # Every request comes over HTTP, so the request is never None.
    assert context.request is not None
    scope: dict[str, Any] = context.request.scope
    return scope


def _server() -> Server[Any]:
    same_for_all = CacheHint(ttl_ms=HOUR_MS, scope="public")
    return Server(
        "intramedial",
        version=__version__,
        title="intramedial: coordination.lease",
        instructions=tools.INSTRUCTIONS,
        website_url=f"{settings.BASE_URL}/docs/mcp/",
        cache_hints={"tools/list": same_for_all, "server/discover": same_for_all},
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        # No argument is repeated in a header, so the SDK has nothing to compare.
        get_tool_input_schema=lambda name: None,
    )


class NotStarted(RuntimeError):
    """The MCP session manager did not start."""


class Sessions:
    """The SDK's session manager, in a task of its own on the event loop that started it.

    One task enters and leaves the manager, as its task group demands. Lifespan events start and stop it.
    Under a server that sends none, the first request starts it.
    """

    def __init__(self, make: Callable[[], StreamableHTTPSessionManager]) -> None:
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._end = asyncio.Event()

    @property
    def running(self) -> bool:
        """Whether a manager is running, on any loop."""
        return self._task is not None and not self._task.done()

    async def start(self) -> StreamableHTTPSessionManager:
        """The manager on this loop, started when it is not running. Raises NotStarted."""
        loop = asyncio.get_running_loop()
        if self._ready is None or self._loop is not loop or self._task is None or self._task.done():
            self._loop, self._ready, self._end = loop, loop.create_future(), asyncio.Event()
            self._task = loop.create_task(self._run(self._ready, self._end), name="mcp-sessions")
        # Shielded, because others wait for the same start when this caller is cancelled.
        return await asyncio.shield(self._ready)

    async def stop(self) -> None:
        """End the manager of this loop."""
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
        # `transport` has checked Host, Origin and size.
        security_settings=None,
        max_request_body_size=settings.BODY_LIMIT,
    )


sessions = Sessions(_manager)
