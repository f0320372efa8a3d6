"""Structured logs: one JSON object a line on standard error, with the request's id and never a secret."""

import json
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson
from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request being answered, empty outside one. The API's short path sets it as well."""

access = logging.getLogger("intramedial.access")

# Not from the operating system: that call lets go of the interpreter, and to get it back in the middle of a
# request costs more than the whole id.
_ids = random.Random()  # noqa: S311

SECRET = re.compile(r"imk_[0-9A-Za-z]{8,}|(?i:bearer|basic)\s+[\w.~+/=-]+|(?<=://)[^\s/@]*:[^\s/@]*(?=@)")
"""What must never reach a log: API keys, credentials of a header, user and password of an address."""

PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


def new_request_id() -> str:
    """A fresh id, `req_` and 24 hexadecimal digits. It names a request and is no secret."""
    return f"req_{_ids.getrandbits(96):024x}"


def redact(text: str) -> str:
    """`text` with every secret in it replaced."""
    return SECRET.sub("[secret]", text)


def to_json(line: dict[str, Any]) -> str:
    """`line` as JSON; a lone surrogate, which is no UTF-8, comes out as its escape."""
    try:
        return orjson.dumps(line).decode()
    except TypeError:
        return json.dumps(line)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: at, level, logger, message, requestId, the record's extras, traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
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
            # Django's own handlers would say everything a second time.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
            # The MCP library tells each request's whole life at INFO; the access line says what matters.
            "mcp": {"level": "WARNING"},
        },
    }


def log_request(method: str, path: str, status: int, started: float) -> None:
    """One line for a request answered; `started` is the monotonic instant it began. The query stays out."""
    access.info(
        "request",
        extra={
            "method": method,
            "path": path,
            "status": status,
            "ms": round((time.monotonic() - started) * 1000, 2),
        },
    )


class RequestLogMiddleware:
    """Gives each page's request an id, says it in `X-Request-ID`, and logs one line for the answer."""

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
