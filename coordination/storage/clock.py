"""The authority's one clock: milliseconds since the Unix epoch.

Embedded it is the wall clock's time at start, or the largest time on record if that is later, and from then
on the machine's steady clock: setting the wall clock forward or back neither ends a lease early nor makes it
immortal. On PostgreSQL no clock is installed and the database's own is read, one for all hosts.
"""

import time
from collections.abc import Callable

Clock = Callable[[], int]

AHEAD_MS = 5_000  # an authority's clock that is so much ahead of the machine's is worth a word


def wall_ms() -> int:
    """Milliseconds of the machine's clock, which can be set."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class SteadyClock:
    """`latest`: the largest time on record, in ms; time never goes back behind it."""

    def __init__(self, latest: int) -> None:
        self._offset = max(wall_ms(), latest) - steady_ms()

    def __call__(self) -> int:
        return steady_ms() + self._offset


_installed: Clock | None = None


def install(clock: Clock | None) -> None:
    """Make `clock` the process's; None: ask the database."""
    global _installed
    _installed = clock


def installed() -> Clock | None:
    return _installed
