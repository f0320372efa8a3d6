"""Where commands wait for the authority's thread: one lane for each workspace, taken from in turn.

Within a workspace the order of arrival is kept, so that batching changes no answer. Workspaces take turns, so
that a thousand callers in one workspace delay another no more than its share.
"""

import contextlib
import threading
from collections import OrderedDict, deque
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar


class Item(Protocol):
    """What the queue holds."""

    @property
    def workspace(self) -> str: ...


T = TypeVar("T", bound=Item)
Element = TypeVar("Element")


class CommandQueue(Generic[T]):
    """Any thread puts, one thread takes. `limit`: how many items may wait in all. `share`: how many of
    them may belong to one workspace, so that a workspace that floods the service does not shut out the
    others."""

    def __init__(self, limit: int, share: int) -> None:
        self._limit = limit
        self._share = share
        self._lock = threading.Lock()
        self._arrived: SimpleQueue[T | None] = SimpleQueue()
        self._lanes: OrderedDict[str, deque[T]] = OrderedDict()
        self._waiting: dict[str, int] = {}  # workspace -> items put and not taken yet
        self._count = 0
        self.closed = False

    def __len__(self) -> int:
        """Items put and not taken yet."""
        return self._count

    def put(self, item: T) -> bool:
        """Add an item; False when the queue is closed or full. What is added before `close` will be taken."""
        workspace = item.workspace
        with self._lock:
            waiting = self._waiting.get(workspace, 0)
            if self.closed or self._count >= self._limit or waiting >= self._share:
                return False
            self._waiting[workspace] = waiting + 1
            self._count += 1
            self._arrived.put(item)
        return True

    def close(self) -> None:
        """Refuse all items from now on, and make a `take` that blocks return."""
        with self._lock:
            self.closed = True
        self.wake()

    def wake(self) -> None:
        """Make a `take` that blocks return."""
        self._arrived.put(None)

    def take(self, limit: int, timeout_s: float) -> list[T]:
        """Up to `limit` items, in turn. Waits at most `timeout_s` for the first; empty after that, or when
        woken."""
        if not self._lanes:
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
        self._let_in(taken)
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

    def _let_in(self, taken: list[T]) -> None:
        with self._lock:
            self._count -= len(taken)
            for item in taken:
                left = self._waiting[item.workspace] - 1
                if left:
                    self._waiting[item.workspace] = left
                else:
                    del self._waiting[item.workspace]


def take(queue: "deque[Element]", limit: int = 1_000_000) -> list[Element]:
    """Up to `limit` items from the left of a queue to which other threads add at the right."""
    taken: list[Element] = []
    with contextlib.suppress(IndexError):  # it is empty
        while len(taken) < limit:
            taken.append(queue.popleft())
    return taken
