"""The mark: a small file beside the database, which shows when the database was put back to an earlier state.

Theory of operation
===================

A process writes the mark after each commit that gave fencing tokens, before the grants are answered, and
with each pulse. It is flushed to the disk only at a clean stop. So the mark is never newer than the database,
even after a process is killed or the power fails, and a database that is behind its mark was put back to an
earlier state. The mark names the last resource that got a token, and the token, which makes the comparison
exact.

A data directory that was restored as a whole has a mark as old as its database. The mark's own file shows
that: it holds its inode number and the time of its last write. A copy has another inode. A file that was
overwritten in place has a later change time (`st_ctime`), which no program can set.

The file has two slots that are written in turn, so that a write that was cut off leaves the other slot whole.
"""

import fcntl
import logging
import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from intramedial.process.private_files import OTHERS, hand_over

logger = logging.getLogger(__name__)

SLOT = 4096
SLACK_NS = 25_000_000  # between reading the clock and the file's change time, which may be a tick older
HELD_UP_NS = 10_000_000
REBOOT_SLACK_NS = 60_000_000_000  # after a crash of the machine, the last writes may be lost
PROCESSES = 256

Grant = tuple[str, str, int]
"""(workspace, resource, fencing token)"""


@dataclass(slots=True)
class Mark:
    """What the mark knows of the database of leases beside it.

    `highest`: the highest fencing token ever given, over all resources. `pulse`: the pulse last committed, in
    ms. `witness`: (workspace, resource, token) of the last grant. `clean`: the server stopped cleanly and
    left an empty write-ahead log. `checkpoint`: a checkpoint is under way. `main`: [inode, mtime in ns, size]
    of the SQLite file; `base`: its contents without the log, see `sqlite.files.contents`; `wal`: the inode of
    its write-ahead log. The rest is about the mark's own file: `at`, in ns of the wall clock, is when it was
    written, in which `boot` of the machine.
    """

    database: str = ""
    highest: int = 0
    pulse: int = 0
    witness: Grant | None = None
    clean: bool = False
    checkpoint: bool = False
    main: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    wal: int = 0
    number: int = 0
    inode: int = 0
    at: int = 0
    boot: str = ""
    timed: bool = True  # the file system's change times can be compared with the clock


def boot_id() -> str:
    """An id of this boot of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Found:
    """A mark as it was found. `mark` is None when the file is damaged. `own`: the file is the one that was
    written there, neither a copy nor overwritten."""

    mark: Mark | None
    own: bool


def mark_path(directory: Path, number: int = 0) -> Path:
    """The path of a process's mark; several processes on one data directory have one each."""
    return directory / (f"leases-{number}.mark" if number else "leases.mark")


def read_mark(path: Path) -> Found | None:
    """The mark in this file; None when there is no file."""
    try:
        with path.open("rb") as file:
            stat, content = os.fstat(file.fileno()), file.read(2 * SLOT)
    except FileNotFoundError:
        return None
    except OSError:
        return Found(None, False)
    mark = newest(content)
    return Found(mark, mark is not None and _own(mark, stat))


def read_marks(directory: Path) -> list[Found]:
    """Every mark in this directory."""
    return [
        found for path in sorted(directory.glob("leases*.mark")) if (found := read_mark(path)) is not None
    ]


def newest(content: bytes) -> Mark | None:
    """The last mark that was written in full."""
    marks = [_read(content[start : start + SLOT]) for start in (0, SLOT)]
    return max((mark for mark in marks if mark is not None), key=lambda mark: mark.number, default=None)


def _read(slot: bytes) -> Mark | None:
    try:
        length, checksum = int(slot[:4], 16), int(slot[4:12], 16)
        text = slot[12 : 12 + length]
        return Mark(**orjson.loads(text)) if zlib.crc32(text) == checksum else None
    except (TypeError, ValueError):
        return None


def _own(mark: Mark, stat: os.stat_result) -> bool:
    if mark.inode != stat.st_ino:
        return False
    same_boot = mark.clean or mark.boot == boot_id()
    slack = SLACK_NS if same_boot else REBOOT_SLACK_NS
    return not mark.timed or abs(stat.st_ctime_ns - mark.at) <= slack


def _tighten(descriptor: int, path: Path) -> None:
    try:
        os.fchmod(descriptor, 0o600)
    except OSError as error:
        logger.warning(
            "the mark %s is open to other users (%s). Run: chmod 600 %s", path, error.strerror, path
        )
    else:
        logger.warning("the mark %s was open to other users: its mode is 0600 now", path)


class MarkFile:
    """The mark of this process, open for writing and locked. Raises OSError."""

    def __init__(self, path: Path) -> None:
        """Raises BlockingIOError when another process has this mark."""
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            stat = os.fstat(self._fd)
            if not stat.st_size:
                hand_over(self._fd, path.parent)  # only once: it changes the file's change time
            if stat.st_mode & OTHERS:
                # Not together with the other files: this changes the change time, by which a copy is
                # recognised. So it comes after the mark was looked at and before it is written.
                _tighten(self._fd, path)
            self.mark = newest(os.pread(self._fd, 2 * SLOT, 0)) or Mark()
            if stat.st_size < 2 * SLOT:
                os.pwrite(self._fd, bytes(2 * SLOT), 0)  # later writes need no more room on the disk
                os.fsync(self._fd)
        except OSError:
            os.close(self._fd)
            raise
        self.mark.inode, self.mark.boot = stat.st_ino, boot_id()

    def here(self) -> bool:
        """Whether the file still has its name."""
        try:
            return os.stat(self.path).st_ino == self.mark.inode
        except OSError:
            return False

    def write(self, durable: bool = False) -> None:
        """Write `mark` as it is now."""
        mark = self.mark
        mark.number += 1
        for _ in range(10):
            mark.at = time.time_ns()
            text = orjson.dumps(mark)
            os.pwrite(self._fd, b"%04x%08x" % (len(text), zlib.crc32(text)) + text, SLOT * (mark.number % 2))
            # If the process was held up in between, the change time does not fit: write again.
            if time.time_ns() - mark.at < HELD_UP_NS:
                break
        if durable:
            os.fsync(self._fd)

    def try_times(self) -> None:
        """Find out whether the file system's change times can be compared with the clock."""
        self.mark.timed = True
        self.write()
        self.mark.timed = abs(os.fstat(self._fd).st_ctime_ns - self.mark.at) <= SLACK_NS

    def close(self) -> None:
        """Close the file, so that another process can have the mark."""
        os.close(self._fd)


def own_mark(directory: Path) -> MarkFile:
    """The first mark in this directory that no other process has. Raises OSError."""
    for number in range(PROCESSES):
        try:
            return MarkFile(mark_path(directory, number))
        except BlockingIOError:
            continue
    raise OSError(f"{PROCESSES} processes have a mark in {directory}")


class Marker:
    """Keeps the mark of this process in step with its commits. When the mark cannot be written, leases go on:
    that is logged once, and the next start may take the database for a restored one."""

    def __init__(self, directory: Path, alone: bool) -> None:
        """`alone`: no other process has a mark here. Raises OSError. The mark is not written before
        `adopt`."""
        self._directory = directory
        self._alone = alone
        self._first: list[Found] | None = self.look_again()
        self._file = self._open()
        self._adopted = False
        self._failing = False

    @property
    def mark(self) -> Mark:
        """The mark that is written next; the caller may change it."""
        return self._file.mark

    def look(self) -> list[Found]:
        """The marks in the directory: before `adopt` as they were before this process had one, then as
        they are."""
        return self.look_again() if self._first is None else self._first

    def look_again(self) -> list[Found]:
        """The marks in the directory as they are now; only this process's when it is alone."""
        if self._alone:
            found = read_mark(mark_path(self._directory))
            return [] if found is None else [found]
        return read_marks(self._directory)

    def _open(self) -> MarkFile:
        return MarkFile(mark_path(self._directory)) if self._alone else own_mark(self._directory)

    def adopt(self, database: str, highest: int, pulse: int) -> None:
        """Make the mark one of this database, and write it from now on. Raises OSError."""
        mark = self.mark
        if mark.database != database:
            mark.witness = None
        mark.database, mark.pulse = database, pulse
        mark.highest = max(mark.highest, highest)
        mark.clean = mark.checkpoint = False
        self._adopted, self._first = True, None
        self._file.try_times()
        self._file.write(durable=True)

    def resume(self) -> None:
        """Write the mark from now on; it was found as this database's server left it."""
        self._adopted = True

    def note(self, granted: Sequence[Grant], pulse: int | None) -> None:
        """Write what a commit did: the tokens that it gave, and its pulse if it had one."""
        mark = self.mark
        if granted:
            mark.witness = max(granted, key=lambda grant: grant[2])
            mark.highest = max(mark.highest, mark.witness[2])
        if pulse is not None:
            mark.pulse = pulse
        self.write(look=pulse is not None)

    def write(self, durable: bool = False, look: bool = False) -> None:
        """Write the mark. `look`: check first that its file is still there. Never raises."""
        if not self._adopted:
            return
        try:
            if look and not self._file.here():
                self._make_again()
            self._file.write(durable)
        except OSError as error:
            if not self._failing:
                logger.warning(
                    "the mark %s cannot be written: %s. Leases go on; the next start may take their database"
                    " for a restored one and raise fencing tokens",
                    self._file.path,
                    error,
                )
            self._failing = True
        else:
            self._failing = False

    def _make_again(self) -> None:
        fresh = self._open()
        inode = fresh.mark.inode
        fresh.mark = self._file.mark
        fresh.mark.inode = inode
        self._file.close()
        self._file = fresh
        logger.warning("the mark %s was deleted; it is made again", fresh.path)

    def close(self) -> None:
        """Close the mark, so that another process can have it."""
        self._adopted = False
        self._file.close()
