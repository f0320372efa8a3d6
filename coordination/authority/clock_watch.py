"""Sees when the authority's clock is ahead of the machine's, and says so in the log.

The authority's time never goes back. When the machine's clock was ahead at one start, or is set back while
the server runs, the authority's stays ahead until the machine's has caught up. Leases last as long as always.
"""

import logging
import threading
from collections.abc import Callable

from coordination.storage.clock import AHEAD_MS

logger = logging.getLogger(__name__)

LOOK_S = 15.0


def in_words(ahead_ms: int) -> str:
    """A time of more than a few seconds, in words: `58 min`, `12 s`."""
    return f"{round(ahead_ms / 60_000)} min" if ahead_ms >= 120_000 else f"{round(ahead_ms / 1000)} s"


class ClockWatch:
    """Looks at its start and every `LOOK_S`, from a thread of its own. `ahead_ms` says by how much the clock
    is ahead."""

    def __init__(self, ahead_ms: Callable[[], int]) -> None:
        self._ahead_ms = ahead_ms
        self._ahead = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock-watch", daemon=True)

    def start(self) -> None:
        """Look now, then go on looking."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """End at once."""
        self._stopping.set()

    def look(self) -> None:
        """Log that the clock has come to be ahead, or that it no longer is."""
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
