"""Housekeeping, once a day: forget resources long unused, old history, and workspaces that no longer exist.

Tokens never go back by that: the floor of the workspace is raised above the tokens of what is forgotten, and
the counter of a resource that is used again begins above the floor. All is done in small steps, so that no
lease waits for long.
"""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Protocol, TypeVar

from coordination.storage.engines.base import Engine, Key, Row
from coordination.storage.store import Store
from intramedial.databases.periodic import Periodic

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


class Housekeeper(Periodic):
    """Does the housekeeping once a day, from a thread of its own and over the authority's connection.

    `run` has the authority do a job and returns the result.
    """

    def __init__(
        self, open_reader: Callable[[], Engine], run: Run, unused_days: int, gone: FindGone = none_gone
    ) -> None:
        super().__init__("housekeeping", self.round, "housekeeping failed", first_s=FIRST_S, each_s=EACH_S)
        self._open_reader, self._run = open_reader, run
        self._unused_days, self._gone = unused_days, gone

    def round(self) -> int:
        """Do the housekeeping now; returns how many resources were forgotten. Raises InterruptedError before
        the next step after `stop`."""

        def step(job: Callable[[Store], T]) -> T:
            if self.stopping.is_set():
                raise InterruptedError("the authority ends")
            return self._run(job)

        read = self._open_reader()
        try:
            return keep_house(read, step, read.latest(), self._unused_days, self._gone)
        finally:
            read.close()
