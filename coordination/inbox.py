"""Where commands wait for the authority's thread: one lane a workspace, taken from in turn.

Within a workspace the order of arrival is kept, so that grouping changes no answer; between workspaces turns
are taken, so that a thousand callers in one cost another no more than its share.
"""

from collections import OrderedDict, deque
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar


class Item(Protocol):
    """What an inbox holds."""

    @property
    def workspace(self) -> str: ...


T = TypeVar("T", bound=Item)


class Inbox(Generic[T]):
    """Any thread puts, one thread takes."""

    def __init__(self) -> None:
        self._arrived: SimpleQueue[T | None] = SimpleQueue()
        self._lanes: OrderedDict[str, deque[T]] = OrderedDict()
        self._waiting = 0

    def __len__(self) -> int:
        return self._arrived.qsize() + self._waiting

    def put(self, item: T) -> None:
        self._arrived.put(item)

    def wake(self) -> None:
        """Make a `take` that blocks return."""
        self._arrived.put(None)

    def take(self, limit: int, timeout_s: float) -> list[T]:
        """Up to `limit` items, in turn; waits at most `timeout_s` for the first. Empty when woken or late."""
        if not self._waiting:
            try:
                self._sort(self._arrived.get(block=timeout_s > 0, timeout=timeout_s or None))
            except Empty:
                return []
        self._drain()
        taken: list[T] = []
        while self._lanes and len(taken) < limit:
            workspace, lane = self._lanes.popitem(last=False)
            taken.append(lane.popleft())
            if lane:
                self._lanes[workspace] = lane
        self._waiting -= len(taken)
        return taken

    def _drain(self) -> None:
        try:
            while True:
                self._sort(self._arrived.get_nowait())
        except Empty:
            return

    def _sort(self, item: T | None) -> None:
        if item is not None:
            self._lanes.setdefault(item.workspace, deque()).append(item)
            self._waiting += 1
