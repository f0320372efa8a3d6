"""The last room on the disk is for leases.

Embedded, all databases are files of one directory. Everything that grows there takes room from the authority,
which cannot end a lease on a full disk. So a part of the disk is a reserve (`INTRAMEDIAL_DISK_RESERVE_MB`, at
most a part of a small disk). When less than the reserve is free, everything that can wait or be refused
stops:

- the ledger takes no entries, which wait in the authority's outbox; the outbox has its own limit;
- no trial, no scenario and no request for access begins.

Leases go on. If other programs fill the disk all the same, a file that was set aside (`leases.reserve`) is
deleted, and leases can be granted, released and reclaimed in its room until an operator makes more.

With PostgreSQL this module has nothing to check: set up an alarm for its disk, or give the ledger its own
server (`LEDGER_DATABASE_URL`). The outbox has its limit there too.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings

from intramedial import databases
from intramedial.databases.periodic import Periodic
from intramedial.http.problems import Problem

logger = logging.getLogger(__name__)

MB = 1 << 20
LOOK_EVERY_S = 1.0
SHARE = 4
"""The reserve is at most one part in so many of the disk."""
SET_ASIDE = 8 * MB
"""Bytes of the file, or half of a small reserve. The write-ahead log of leases takes 4 MB of it."""


class Disk:
    """The disk of a directory, and the reserve on it, in bytes. Safe between threads."""

    def __init__(
        self,
        directory: Path,
        reserve: int,
        clock: Callable[[], float] = time.monotonic,
        statvfs: Callable[[Path], os.statvfs_result] = os.statvfs,
    ) -> None:
        self._directory = directory
        self._wanted = reserve
        self._clock, self._statvfs = clock, statvfs
        self._aside = directory / "leases.reserve"
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._low = False
        self.reserve = reserve
        """The reserve on this disk, known after the first look."""

    def low(self) -> bool:
        """Whether less than the reserve is free. It looks at most once a second."""
        if self._clock() >= self._next:
            self.look()
        return self._low

    def look(self) -> None:
        """Look now, and set the file aside or delete it. If the system does not answer, everything stays as
        it was."""
        with self._lock:
            self._next = self._clock() + LOOK_EVERY_S
            try:
                found = self._statvfs(self._directory)
            except OSError as error:
                logger.warning("how full the disk is cannot be known: %s", error)
                return
            free = found.f_bavail * found.f_frsize
            self.reserve = min(self._wanted, found.f_blocks * found.f_frsize // SHARE)
            size = min(SET_ASIDE, self.reserve // 2)
            low = free < self.reserve
            if low != self._low:
                self._log(low, free)
            self._low = low
            if free < size:
                self._free_room()
            elif free >= self.reserve + 2 * size and size and not self._aside.exists():
                self._set_aside(size)

    def _log(self, low: bool, free: int) -> None:
        if low:
            logger.error(
                "the disk of %s is nearly full: %s MB are free, %s MB are kept for leases. The ledger takes"
                " no entries and no trial begins until there is more room; leases go on",
                self._directory,
                free // MB,
                self.reserve // MB,
            )
        else:
            logger.warning("the disk of %s has room again: %s MB", self._directory, free // MB)

    def _set_aside(self, size: int) -> None:
        draft = self._aside.with_suffix(".draft")
        try:
            with open(draft, "wb") as file:
                os.chmod(draft, 0o600)
                os.posix_fallocate(file.fileno(), 0, size)
            os.rename(draft, self._aside)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            logger.warning("no room could be set aside for leases: %s", error)

    def _free_room(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._aside.unlink()
            logger.error("the disk of %s is full: the room set aside for leases is in use", self._directory)


@cache
def disk() -> Disk | None:
    """The disk of this service's SQLite files. None if there are none, or if no reserve is wanted."""
    if not settings.DISK_RESERVE_MB or not any(map(databases.is_file, databases.NAME_OF_ALIAS)):
        return None
    return Disk(settings.DATA_DIR, settings.DISK_RESERVE_MB * MB)


def forget() -> None:
    """Forget the disk, so that the settings are read again."""
    disk.cache_clear()


def low() -> bool:
    """Whether only leases may be written now, since less than the reserve is free."""
    found = disk()
    return found is not None and found.low()


def look() -> None:
    """Look now, because a write has failed: if the disk is full, delete the file that was set aside."""
    if (found := disk()) is not None:
        found.look()


def reserve() -> int | None:
    """How many bytes are kept for leases. None if there is no reserve."""
    found = disk()
    if found is None:
        return None
    found.low()
    return found.reserve


def require_room(what: str) -> None:
    """Raise Problem `authority_unavailable` (503) if less than the reserve is free. `what` is the words for
    what has to wait, as in "no new trials"."""
    if low():
        raise Problem(
            "authority_unavailable",
            f"The disk of this service is nearly full: {what} for now. Leases go on.",
            headers={"retry-after": "60"},
        )


class Watch(Periodic):
    """Looks every second, in a thread of its own."""

    def __init__(self) -> None:
        super().__init__("disk", low, "the disk was not looked at", first_s=LOOK_EVERY_S, each_s=LOOK_EVERY_S)

    def start(self) -> None:
        """Start the thread, if there is a disk to look at."""
        if disk() is not None:
            super().start()
