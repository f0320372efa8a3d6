"""How many nonces are kept: the old ones go by themselves, and no key has more than its share.

A nonce is a row until its signature is too old, at most two minutes later. Whoever can sign can make rows,
and a stranger can make a key; so each key may sign so many requests a minute, and what has run out is swept
whether or not anybody asks for anything.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

from intramedial.http.problems import Problem

logger = logging.getLogger(__name__)

WINDOW_S = 60
SWEEP_EVERY_S = 10.0
BETWEEN_S = 0.005  # steps of a sweep: who waits for the one writer of SQLite comes first


class Budget:
    """Signed requests of each key in a minute, counted in this process. Safe between threads.

    Minutes are those of the clock, so a key may sign twice as many across the turn of one. A nonce lives up
    to two minutes: at most three times the limit is kept of one key, by each process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = -1
        self._spent: Counter[bytes] = Counter()

    @contextmanager
    def spend(self, key: bytes, limit: int, now: float) -> Iterator[None]:
        """Count one request within; one that raises did not count. Problem `rate_limited` at the limit."""
        window, seconds = divmod(int(now), WINDOW_S)
        with self._lock:
            if window != self._window:
                self._window = window
                self._spent.clear()
            if self._spent[key] >= limit:
                raise Problem(
                    "rate_limited",
                    f"This key may sign {limit} requests a minute.",
                    headers={"retry-after": str(WINDOW_S - seconds)},
                )
            self._spent[key] += 1
        try:
            yield
        except BaseException:
            # A stranger who repeats somebody's request must not use up what that key may sign.
            with self._lock:
                if window == self._window:
                    self._spent[key] -= 1
            raise


class Sweeper:
    """Calls `sweep`, which deletes a part of what is old and returns how many rows that were, until nothing
    is left, and again every `SWEEP_EVERY_S`; in a thread of its own, from the first `start`."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin. Idempotent."""
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="nonces", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End after the step under way; one that hangs is not waited for. A later `start` does nothing."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _work(self) -> None:
        failing = False
        while True:
            try:
                while self._sweep() and not self._stopping.wait(BETWEEN_S):
                    pass
                failing = False
            except Exception as error:
                if not failing:
                    logger.error("old nonces cannot be deleted: %s: %s", type(error).__name__, error)
                failing = True
            finally:
                connections.close_all()
            if self._stopping.wait(SWEEP_EVERY_S):
                return
