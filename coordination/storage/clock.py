"""The authority's one clock: milliseconds since the Unix epoch.

Embedded, it starts at the wall clock's time, or at the largest time on record if that is later. From then on
it runs with the machine's steady clock. So setting the wall clock forward or back neither ends a lease early
nor makes it last for ever. On PostgreSQL the database's clock is read, one for all hosts.

The authority's time never goes back. When the machine's clock was ahead at an earlier start, or is set back
while the server runs, the authority's clock stays ahead until the machine's has caught up. Leases last as
long as always. `ClockWatch` logs it.
"""

import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

Clock = Callable[[], int]

AHEAD_MS = 5_000  # by how much the authority's clock must be ahead of the machine's to be reported
LOOK_S = 15.0


def wall_ms() -> int:
    """Milliseconds of the machine's clock, which can be set."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """Milliseconds of a clock that cannot be set, and that goes on while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class SteadyClock:
    """`latest`: the largest time on record, in ms. The clock is never before it."""

    def __init__(self, latest: int) -> None:
        self._offset = max(wall_ms(), latest) - steady_ms()

    def __call__(self) -> int:
        return steady_ms() + self._offset


def in_words(ahead_ms: int) -> str:
    """A time of more than a few seconds, in words: `58 min`, `12 s`."""
    return f"{round(ahead_ms / 60_000)} min" if ahead_ms >= 120_000 else f"{round(ahead_ms / 1000)} s"


class ClockWatch:
    """Looks when it starts and every `LOOK_S`, from a thread of its own. `ahead_ms` returns by how much the
    authority's clock is ahead of the machine's."""

    def __init__(self, ahead_ms: Callable[[], int]) -> None:
        self._ahead_ms = ahead_ms
        self._ahead = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock-watch", daemon=True)

    def start(self) -> None:
        """Look now, then every `LOOK_S`."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """End at once."""
        self._stopping.set()

    def look(self) -> None:
        """Log when the clock is ahead for the first time, and when it no longer is."""
        ahead_ms = self._ahead_ms()
        if ahead_ms >= AHEAD_MS and not self._ahead:
            logger.warning(
                "the authority's clock is %s ahead of the machine's. Leases last as long as always, but the"
                " times in answers and receipts are ahead until the machine's clock has caught up. Either the"
                " machine's clock was set back, or it was ahead when the server ran before",
                in_words(ahead_ms),
                extra={"clockAheadMs": ahead_ms},
            )
        elif ahead_ms < AHEAD_MS and self._ahead:
            logger.warning("the authority's clock is no longer ahead of the machine's")
        self._ahead = ahead_ms >= AHEAD_MS

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self.look()
