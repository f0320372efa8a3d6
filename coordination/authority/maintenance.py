"""Housekeeping, once a day: forget resources long unused, old history, and workspaces that no longer exist.

Tokens never go back by that: the floor of the workspace is raised above the tokens of what is forgotten, and
the counter of a resource that is used again begins above the floor. All is done in small steps, so that no
lease waits for long.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Protocol, TypeVar

from coordination.storage.engines.base import Engine, Key, Row
from coordination.storage.store import Store

logger = logging.getLogger(__name__)

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
HISTORY_DAYS = 90
AT_ONCE = 500  # rows of one step
FIRST_S = 600.0
EACH_S = 86_400.0

T = TypeVar("T")
# Which of these workspaces no longer exist.
FindGone = Callable[[list[str]], set[str]]


class Run(Protocol):
    """Runs a job with the store that writes, and returns what the job returns."""

    def __call__(self, job: Callable[[Store], T], /) -> T: ...


def none_gone(workspaces: list[str]) -> set[str]:
    """The `FindGone` of a process that has no list of workspaces."""
    return set()


def keep_house(read: Engine, run: Run, now: int, unused_days: int, gone: FindGone = none_gone) -> int:
    """Forget resources that were not used for `unused_days`, history older than `HISTORY_DAYS`, and all
    rows of workspaces that are `gone`; returns how many resources were forgotten. `read` is a separate
    connection that finds them; `now` in ms."""
    run(lambda store: store.forget_pulses(HOUR_MS))
    while run(lambda store: store.forget_history(now - HISTORY_DAYS * DAY_MS, AT_ONCE)) == AT_ONCE:
        pass
    _forget_tenants(read, run, gone)
    purged, after = 0, ("", "")
    while rows := read.resources_after(after, AT_ONCE):
        purged += _purge(rows, run, now - unused_days * DAY_MS)
        after = rows[-1][0], rows[-1][1]
    return purged


def _forget_tenants(read: Engine, run: Run, gone: FindGone) -> None:
    after = ""
    while workspaces := read.tenants_after(after, AT_ONCE):
        for workspace in sorted(gone(workspaces)):
            while run(partial(Store.forget_tenant, workspace=workspace, limit=AT_ONCE)):
                pass
        after = workspaces[-1]


def _purge(rows: list[Row], run: Run, unused_since: int) -> int:
    idle: list[Key] = [
        (workspace, name)
        for workspace, name, due_at, used_at in rows
        if due_at is None and used_at < unused_since
    ]
    purged = 0
    for workspace, keys in groupby(idle, key=lambda key: key[0]):
        names = [name for _, name in keys]
        purged += run(partial(Store.purge, workspace=workspace, names=names, unused_since=unused_since))
    return purged


class Housekeeper:
    """Does the housekeeping once a day, from a thread of its own and over the authority's connection."""

    def __init__(
        self, open_reader: Callable[[], Engine], unused_days: int, gone: FindGone = none_gone
    ) -> None:
        self._open_reader = open_reader
        self._gone = gone
        self._unused_days = unused_days
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, run: Run) -> None:
        """Start the thread. `run` has the authority do a job and returns the result."""
        self._thread = threading.Thread(target=self._work, args=(run,), name="housekeeping", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the present step."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _work(self, run: Run) -> None:
        wait_s = FIRST_S
        while not self._stopping.wait(wait_s):
            wait_s = EACH_S
            try:
                self.round(run)
            except Exception as error:
                if self._stopping.is_set():
                    return
                logger.warning("housekeeping failed: %s: %s", type(error).__name__, error)

    def round(self, run: Run) -> int:
        """Do the housekeeping now; returns how many resources were forgotten."""

        def step(job: Callable[[Store], T]) -> T:
            if self._stopping.is_set():
                raise InterruptedError("the authority ends")
            return run(job)

        read = self._open_reader()
        try:
            return keep_house(read, step, read.latest(), self._unused_days, self._gone)
        finally:
            read.close()
