"""Log lines that clients cause: each a WARNING without a traceback, and not too many of them.

A request for a foreign host, bytes that are no HTTP, a client that goes away while it is served: none of
these is a fault of this service, and any client can cause a thousand a second. Django, uvicorn and asyncio
log them as errors, some with tracebacks. The filter `ClientFaults` rewrites these records: level WARNING, no
traceback, a `kind`. It lets one line of each kind pass in `REST_S` seconds; `leftOut` in the next line counts
the ones that were left out.

A line of this service that any client can cause names its kind itself, as in `extra={"kind": "refused_431"}`.
It is not rewritten, but limited like the others.
"""

import logging
import threading
import time
from collections.abc import Callable

REST_S = 10.0
LONGEST = 200
"""Characters that a message may have if it repeats what a client sent."""

GONE = frozenset(
    {
        *("BrokenPipeError", "ConnectionAbortedError", "ConnectionResetError", "IncompleteReadError"),
        *("ClientDisconnect", "ClientDisconnected", "RequestAborted", "UnreadablePostError"),
        *("ConnectionClosed", "ConnectionClosedError", "ConnectionClosedOK"),
    }
)
"""Names of the exceptions of asyncio, starlette, uvicorn, Django and websockets for a client that went
away."""
SERVERS = ("asyncio", "django.request", "mcp", "uvicorn.error")
"""Loggers that log connections of clients. Other loggers log those of databases."""
MESSAGES = {
    "Invalid HTTP request received.": "bad_http",
    "Unsupported upgrade request.": "bad_http",
    "Invalid UTF-8 sequence received from client.": "bad_frame",
    "ASGI callable returned without completing handshake.": "client_gone",
    "socket.send() raised exception.": "client_gone",
}
"""Messages of uvicorn and asyncio, each with its kind."""
CLIENT_ERROR = range(400, 500)


class ClientFaults(logging.Filter):
    """A filter for a handler. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._written: dict[str, float] = {}  # when the last line of each kind was written
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written. A record that a client caused is rewritten first."""
        kind = kind_of(record)
        if kind is None:
            return True
        with self._lock:
            now = self._clock()
            if now - self._written.get(kind, float("-inf")) < REST_S:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                return False
            self._written[kind] = now
            left_out = self._left_out.pop(kind, 0)
        if not _is_ours(record):
            _rewrite(record, kind)
        record.kind, record.leftOut = kind, left_out
        return True


def kind_of(record: logging.LogRecord) -> str | None:
    """The kind of a client's fault that a record is about, or None for any other record."""
    if record.levelno < logging.WARNING:
        return None
    if _is_ours(record):
        return getattr(record, "kind", None)
    if record.name == "django.security.DisallowedHost":
        return "foreign_host"
    if record.name.startswith("django.security."):
        return f"refused_{record.name.rpartition('.')[2].lower()}"
    if record.name == "django.request" and getattr(record, "status_code", 500) in CLIENT_ERROR:
        return "refused_page"
    if not record.name.startswith(SERVERS):
        return None
    if record.exc_info and record.exc_info[1] is not None and _is_gone(record.exc_info[1]):
        return "client_gone"
    return MESSAGES.get(str(record.msg))


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.startswith("intramedial.")


def _is_gone(error: BaseException) -> bool:
    """Whether an error, or each error of a group, comes from a connection that its client ended."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_gone(one) for one in error.exceptions)
    return type(error).__name__ in GONE


def _rewrite(record: logging.LogRecord, kind: str) -> None:
    message = record.getMessage()
    if kind == "foreign_host":
        # Django names its own setting, which is made from one of this service.
        message = message.replace("ALLOWED_HOSTS", "INTRAMEDIAL_ALLOWED_HOSTS")
    elif kind == "client_gone":
        message = "a client went away before it was answered"
    record.msg, record.args = message[:LONGEST], None
    record.levelno, record.levelname = logging.WARNING, "WARNING"
    record.exc_info = record.exc_text = record.stack_info = None
