"""Expiry: when time alone next changes something, and which resources it has changed.

It decides nothing. It asks the authority to look at what has run out, in the order in which it did and a part
at a time: however much runs out at once, nobody who asks meanwhile waits for more than one part.
"""

from typing import NamedTuple

from coordination.storage.engines.base import Engine, Key

# With other processes at work a lease may be theirs, and they may be gone: look often enough to be in time.
POLL_MS = 100
RESOURCES_AT_ONCE = 128
RESOURCES_BESIDE = 32  # when somebody waits for an answer; what they ask for is settled anyway


class Due(NamedTuple):
    """The resources that ran out first, and the instant of the last of them, or now if they are all: before
    that nothing else ran out."""

    resources: list[Key] = []
    until: int = 0


def first_due(engine: Engine, now: int, limit: int = RESOURCES_AT_ONCE) -> Due:
    """What ran out first, up to `now`."""
    rows = engine.due(now, limit)
    until: int = rows[-1][2] if len(rows) == limit else now
    return Due([(workspace, name) for workspace, name, _ in rows], until)


class Expiry:
    """Knows a lower bound of the next instant to look at. Times are in ms of the authority's clock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next: int | None = 0
        self._looked = 0

    def expect(self, due_at: int) -> None:
        """Something that was just written changes at `due_at`."""
        if self._next is None or due_at < self._next:
            self._next = due_at

    def wait_ms(self, now: int) -> int | None:
        """How long from `now` there is nothing to look for; None: until something is written."""
        if self._engine.shared:
            poll = max(0, self._looked + POLL_MS - now)
            return poll if self._next is None else min(poll, max(0, self._next - now))
        return None if self._next is None else max(0, self._next - now)

    def due(self, now: int, beside: bool) -> Due:
        """What to look at now, `beside` commands or alone."""
        if self.wait_ms(now) != 0:
            return Due()
        self._looked = now
        due = first_due(self._engine, now, RESOURCES_BESIDE if beside else RESOURCES_AT_ONCE)
        upcoming = self._engine.next_due()
        # What is due now is being looked at and will be written again; what is left over comes next.
        self._next = None if upcoming is None else max(upcoming, now + 1)
        return due
