"""Threads that run blocking database work for the event loop.

Django's connections belong to threads. These few threads keep theirs from one job to the next, which the
thread of a request cannot do. A connection that fails is closed, and the next job opens a new one.
"""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakSet

from django.db import Error, InterfaceError, OperationalError, connections

from intramedial.http.problems import Problem

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_all: "WeakSet[DatabaseThreads]" = WeakSet()

ANSWER_WITHIN_S = 5.0
CLOSE_WITHIN_S = 3.0


class DatabaseThreads:
    """``count`` threads, which the first job starts. They are daemons: a database that hangs does not delay
    an exit."""

    def __init__(self, name: str, count: int):
        self._name = name
        self._count = count
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        _all.add(self)

    async def run(self, job: Callable[[], Result], *, repeatable: bool = False) -> Result:
        """The job's result. An error of the database becomes ``authority_unavailable``; other exceptions pass
        through.

        A ``repeatable`` job is tried again over a new connection, in case the old one had died unnoticed.
        """
        future = asyncio.wrap_future(self.submit(_repeating(job) if repeatable else job))
        try:
            # Not wait_for: before Python 3.12 it may lose the cancellation of its caller.
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await future
        except (Error, TimeoutError) as error:
            logger.error("the database failed a look-up of credentials: %s: %s", type(error).__name__, error)
            raise Problem(
                "authority_unavailable",
                "Credentials cannot be checked at the moment: try again.",
                headers={"retry-after": "1"},
            ) from error

    def submit(self, job: Callable[[], Result]) -> Future[Result]:
        """Queue a job, and return its future result."""
        future: Future[Result] = Future()
        self._start()
        self._jobs.put((future, job))
        return future

    def close(self) -> None:
        """Finish what is queued, close the connections, end the threads. A later job starts them again.

        It waits at most ``CLOSE_WITHIN_S`` seconds for a database that hangs.
        """
        with self._lock:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join(CLOSE_WITHIN_S / len(threads))

    def _start(self) -> None:
        if self._threads:
            return
        with self._lock:
            while len(self._threads) < self._count:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            future, job = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except Error as error:
                close_connections()
                future.set_exception(error)
            except BaseException as error:
                future.set_exception(error)
            del item, future, job  # otherwise the objects of a job live until the next job
        close_connections()


def close_all() -> None:
    """Close all `DatabaseThreads` of this process. A later job starts its threads again."""
    for threads in list(_all):
        threads.close()


def _repeating(job: Callable[[], Result]) -> Callable[[], Result]:
    def repeating() -> Result:
        try:
            return job()
        except (InterfaceError, OperationalError):
            close_connections()
            return job()

    return repeating


def close_connections() -> None:
    """Close this thread's database connections, whatever their state is."""
    for connection in connections.all(initialized_only=True):
        with contextlib.suppress(Error):
            connection.close()
