"""Structured logs: one JSON object a line on standard error, with the request's id and without secrets."""

import asyncio
import json
import logging
import random
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import orjson
from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from intramedial.http.formats import rfc3339_of_ms

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request being answered, or "" outside a request."""

access = logging.getLogger("intramedial.access")

# Not from the operating system: its call releases the interpreter, and to get it back in the middle of a
# request costs more than the whole id.
_ids = random.Random()  # noqa: S311

SECRET = re.compile(r"imk_[0-9A-Za-z]{8,}|(?i:bearer|basic)\s+[\w.~+/=-]+|(?<=://)[^\s/@]*:[^\s/@]*(?=@)")
"""Secrets that must never reach a log: API keys, credentials of a header, user and password of an address."""

PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


def new_request_id() -> str:
    """A new id, `req_` and 24 hexadecimal digits. It names a request and is no secret."""
    return f"req_{_ids.getrandbits(96):024x}"


def redact(text: str) -> str:
    """`text` with every secret in it replaced."""
    return SECRET.sub("[secret]", text)


def to_json(line: dict[str, Any]) -> str:
    """`line` as JSON. A lone surrogate, which UTF-8 cannot encode, becomes its escape."""
    try:
        return orjson.dumps(line).decode()
    except TypeError:
        return json.dumps(line)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: at, level, logger, message, requestId, the record's extras, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without a line feed."""
        line: dict[str, Any] = {
            "at": rfc3339_of_ms(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current := request_id.get():
            line["requestId"] = current
        for name, value in vars(record).items():
            if name not in PLAIN_ATTRIBUTES and isinstance(value, str | int | float | bool | None):
                line[name] = value
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return redact(to_json(line))


def configuration(level: str) -> dict[str, Any]:
    """Python's logging configuration: everything through `JsonFormatter`, at `level` and above."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "intramedial.http.logs.JsonFormatter"}},
        "filters": {"client_faults": {"()": "intramedial.server.client_faults.ClientFaults"}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "filters": ["client_faults"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would write everything a second time.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            # The MCP library writes several lines for each request at INFO. The access line is enough.
            "mcp": {"level": "WARNING"},
        },
    }


def log_request(method: str, path: str, status: int, started: float) -> None:
    """Log one line for an answered request, without its query. `started` is the monotonic instant of its
    start."""
    access.info(
        "request",
        extra={
            "method": method,
            "path": path,
            "status": status,
            "ms": round((time.monotonic() - started) * 1000, 2),
        },
    )


class AccessLog:
    """Writes one line for each request of the short path, at a tenth of the cost of Python's logging.

    Lines gather during one turn of the event loop and are written together, so a thousand answers of one
    batch are one write. `write` takes whole lines; by default they go to standard error. Belongs to one event
    loop.
    """

    def __init__(self, write: Callable[[str], object] | None = None):
        self._write = write
        self._lines: list[str] = []

    def add(self, request_id: str, method: str, path: str, status: int, ms: float) -> None:
        """Add the line of an answered request, which took `ms`. `path` is without the query."""
        if not access.isEnabledFor(logging.INFO):
            return
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.flush)
        at = rfc3339_of_ms(time.time_ns() // 1_000_000)
        # Formatted by hand: only the time, the id and the figures differ from line to line.
        self._lines.append(
            f'{{"at":"{at}",{_SAME},"requestId":"{request_id}",'
            f'{_method_and_path(method, path)},"status":{status},"ms":{ms:.2f}}}\n'
        )

    def flush(self) -> None:
        """Write the lines that have gathered."""
        lines, self._lines = "".join(self._lines), []
        # Looked up at each write, so that a replaced stream, as in tests, gets the lines.
        (self._write or sys.stderr.write)(lines)


_SAME = f'"level":"info","logger":"{access.name}","message":"request"'


@lru_cache(maxsize=256)
def _method_and_path(method: str, path: str) -> str:
    shown = redact(path).encode("utf-8", "backslashreplace").decode()
    return orjson.dumps({"method": method, "path": shown}).decode()[1:-1]


class RequestLogMiddleware:
    """Gives each page's request an id, returns it in `X-Request-ID`, and logs one line for the answer."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        token = request_id.set(request_id.get() or new_request_id())
        started = time.monotonic()
        try:
            response = await self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            log_request(str(request.method), request.path, response.status_code, started)
            return response
        finally:
            request_id.reset(token)
