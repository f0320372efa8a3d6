"""An event loop whose time moves by itself: when nothing is left to do it jumps to the next timer."""

import asyncio
import selectors
from typing import Any


class _NoWait(selectors.DefaultSelector):
    """Never waits; says how long it was asked to."""

    asked_s: float | None = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.asked_s = timeout
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 1000 s and leaps.

    Only for what uses neither threads nor the network: with nothing to do and no timer, such a loop would
    wait for ever, and this one fails.
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
        assert asked is not None or self._ready or self._stopping, "nothing will ever happen"
        self._now += asked or 0.0
