"""An event loop with its own time: when the loop has nothing to do, time jumps to the next timer."""

import asyncio
import selectors
from typing import Any


class _NoWait(selectors.DefaultSelector):
    """Never waits. `asked_s` is how long it was asked to wait."""

    asked_s: float | None = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.asked_s = timeout
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 1000 s and leaps.

    It is only for code that uses neither threads nor the network. It fails when it has nothing to do and no
    timer, where another loop would wait for ever.
    """

    def __init__(self) -> None:
        self._leaping = _NoWait()
        super().__init__(self._leaping)
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        super()._run_once()
        asked = self._leaping.asked_s
        assert asked is not None or self._ready or self._stopping, "the loop waits for ever: it has no timer"
        self._now += asked or 0.0
