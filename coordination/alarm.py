"""The alarm: when time alone next changes something, and which workspaces it has changed.

It decides nothing. It asks the authority to look at a workspace, and whatever has run out there is gone
before anything is decided, as it would be for the next request.
"""

from .engines import Engine

# With other processes at work a lease may be theirs, and they may be gone: look often enough to be in time.
POLL_MS = 100
RESOURCES_AT_ONCE = 256


class Alarm:
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

    def due(self, now: int) -> list[str]:
        """The workspaces to look at now: those in which something ran out first."""
        if self.wait_ms(now) != 0:
            return []
        self._looked = now
        workspaces = self._engine.due_workspaces(now, RESOURCES_AT_ONCE)
        upcoming = self._engine.next_due()
        # What is due now is being looked at and will be written again; what is left over comes next.
        self._next = None if upcoming is None else max(upcoming, now + 1)
        return workspaces
