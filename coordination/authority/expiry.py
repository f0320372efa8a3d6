"""Expiry: when the next resource becomes due, and which resources are due.

It decides nothing. It gives the authority the resources that are due, in the order in which they became due
and in parts, so that a command waits for one part at most, however many resources expire at once.
"""

from typing import NamedTuple

from coordination.storage.engines.base import Engine, Key

# Other processes may have given leases and ended since: look often enough to be in time for these too.
POLL_MS = 100
RESOURCES_AT_ONCE = 128
RESOURCES_BESIDE = 32  # beside commands; the resources that they name are settled anyway


class Due(NamedTuple):
    """The resources that became due first, and the instant up to which these are all: that of the last of
    them, or now."""

    resources: list[Key] = []
    until: int = 0


def first_due(engine: Engine, now: int, limit: int = RESOURCES_AT_ONCE) -> Due:
    """The resources that became due first, up to `now`."""
    rows = engine.due(now, limit)
    until: int = rows[-1][2] if len(rows) == limit else now
    return Due([(workspace, name) for workspace, name, _ in rows], until)


class Expiry:
    """Keeps a lower bound of the next instant at which something is due. Times are in ms of the authority's
    clock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next: int | None = 0
        self._looked = 0

    def expect(self, due_at: int) -> None:
        """A resource that was just written becomes due at `due_at`."""
        if self._next is None or due_at < self._next:
            self._next = due_at

    def wait_ms(self, now: int) -> int | None:
        """How long from `now` nothing is due; None: until something is written."""
        if self._engine.shared:
            poll = max(0, self._looked + POLL_MS - now)
            return poll if self._next is None else min(poll, max(0, self._next - now))
        return None if self._next is None else max(0, self._next - now)

    def due(self, now: int, beside: bool) -> Due:
        """The resources to settle now; fewer `beside` commands."""
        if self.wait_ms(now) != 0:
            return Due()
        self._looked = now
        due = first_due(self._engine, now, RESOURCES_BESIDE if beside else RESOURCES_AT_ONCE)
        upcoming = self._engine.next_due()
        # What is settled now is written again, which calls `expect`; what is left over is due next.
        self._next = None if upcoming is None else max(upcoming, now + 1)
        return due
