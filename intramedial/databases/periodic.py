"""A thread that does a job again and again, such as deleting old rows."""

import logging
import threading
from collections.abc import Callable

from django.db import connections

logger = logging.getLogger(__name__)

JOIN_S = 2.0
RARE_S = 3_600  # a job that is called no more often than this logs each failure


class Periodic:
    """Calls `job` after `first_s` seconds and then every `each_s`, in a daemon thread, from `start` to
    `stop`.

    The thread's database connections are closed after each call. If the job raises, that is logged with the
    words of `failure`, for a frequent job once until it works again, and the job is called again at its next
    time. A job that takes long can look at `stopping`, and may raise once it is set.
    """

    def __init__(
        self, name: str, job: Callable[[], object], failure: str, *, first_s: float, each_s: float
    ) -> None:
        self._name, self._job, self._failure = name, job, failure
        self._first_s, self._each_s = first_s, each_s
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.stopping = threading.Event()

    def start(self) -> None:
        """Start the thread. Idempotent; does nothing after `stop`."""
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread after the current call, and wait at most `JOIN_S` for it."""
        self.stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=JOIN_S)

    def _work(self) -> None:
        wait_s, failing = self._first_s, False
        while not self.stopping.wait(wait_s):
            wait_s = self._each_s
            try:
                self._job()
                failing = False
            except Exception as error:
                if (not failing or self._each_s >= RARE_S) and not self.stopping.is_set():
                    logger.error("%s: %s: %s", self._failure, type(error).__name__, error)
                failing = True
            finally:
                connections.close_all()
