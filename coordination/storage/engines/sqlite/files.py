"""The files of an SQLite database: whether they are still those that were opened, and belong together.

A program that has a file open goes on writing to it after it was deleted, renamed or replaced. What is
committed then is lost at the next start. So the files are checked after each commit, before it is answered.

A write-ahead log that belongs to another state of its database would be applied to it and damage it. The mark
holds the inode, modification time, size and contents of the database after the last checkpoint, and whether a
checkpoint is under way. When another program changed the database after the log was written, the log does not
belong to it. A new modification time alone is no change: `touch` and some backup programs set it.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from coordination.storage.engines.base import InDoubt, StorageFault
from coordination.storage.engines.mark import Found, Grant, Marker, mark_path, read_mark

from .session import FileLock, connect, faults, lock_path

logger = logging.getLogger(__name__)

CHECKPOINT_PAGES = 1_000  # of the log, since the last one; SQLite's own default
PAGES_A_COMMIT, PAGES_A_ROW = 5.0, 1.4  # for commits of one command; the rows of larger ones share pages
SHARED = 0.25, 1.5  # bounds of the correction of this estimate
LATE_NS = 300_000_000  # a commit without a grant or a pulse writes the log but not the mark
TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'lease_resource'"
_CONTENTS = (
    "SELECT coalesce((SELECT max(at) FROM lease_pulse), 0),"
    " coalesce((SELECT sum(seq) FROM sqlite_sequence), 0)"
)
BACK = "No lease is given until the file that was opened is back in its place."
LOST = (
    "Nothing is started in its place, because fencing tokens would begin again at 1. Put the file back and"
    " run `manage.py restore`. If it is lost, run `manage.py restore --new`. docs/restore.md says more."
)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _main(stat: os.stat_result) -> list[int]:
    return [stat.st_ino, stat.st_mtime_ns, stat.st_size]


def beside(path: Path, part: str) -> Path:
    """The path of the `-wal` or `-shm` of a database: beside the file to which a symbolic link leads."""
    return Path(f"{os.path.realpath(path)}{part}")


def contents(path: Path | str) -> list[int]:
    """Numbers that differ between two states of the database file, without its log: its last pulse, and
    the sum of the ids that its tables have given. Empty when it cannot be read."""
    try:
        address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"  # reads no log and takes no lock
        with closing(sqlite3.connect(address, uri=True)) as db:
            return list(db.execute(_CONTENTS).fetchone())
    except sqlite3.Error:
        return []


class Keeper:
    """Watches the files of an open database, makes its checkpoints and keeps its mark."""

    def __init__(self, path: Path, db: sqlite3.Connection, marker: Marker) -> None:
        """Raises StorageFault when a file is missing."""
        self._names = str(path), str(beside(path, "-wal")), str(beside(path, "-shm"))
        self._db = db
        self.marker = marker
        # Pages in the log, estimated: only a checkpoint returns their number, which then corrects the
        # estimate.
        self._pages = 0.0
        self._correction = 1.0
        self.lost = ""
        with faults():
            db.execute("PRAGMA wal_autocheckpoint = 0")  # made in `_checkpoint`, between two marks
            db.execute(
                "SELECT count(*) FROM sqlite_master"
            ).fetchone()  # this makes the log, if there is none
        try:
            self._remember()
        except OSError as error:
            raise StorageFault(f"{error.filename}: {error.strerror}") from error

    def _remember(self) -> None:
        main, wal, shm = (os.stat(name) for name in self._names)
        self.marker.mark.base = contents(self._names[0])
        self._known = _identity(main)
        self._log = wal.st_dev, wal.st_ino
        self._index = shm.st_dev, shm.st_ino
        self.marker.mark.main = _main(main)
        self.marker.mark.wal = wal.st_ino

    def check(self) -> None:
        """Raises StorageFault, with the reason, unless the files are those that were opened."""
        self.lost = self._fault()
        if self.lost:
            raise StorageFault(self.lost)

    def _in_place(self) -> bool:
        """Whether the database and its log are those that were opened, and unchanged.

        `check` finds the same nearly always, but takes longer, and each answer waits for this.
        """
        try:
            main, log = os.stat(self._names[0]), os.stat(self._names[1])
        except OSError:
            return False
        device, inode, modified, size = self._known
        return (
            main.st_ino == inode
            and main.st_mtime_ns == modified
            and main.st_size == size
            and main.st_dev == device
            and (log.st_dev, log.st_ino) == self._log
        )

    def _fault(self) -> str:
        main, log, log_index = self._names
        try:
            stat = os.stat(main)
            if _identity(stat) != self._known and not self._only_touched(stat):
                if (stat.st_dev, stat.st_ino) != self._known[:2]:
                    return f"{main} is another file than the one that was opened. {BACK}"
                return (
                    f"{main} was written by another program. No lease is given. Stop the server, put the"
                    " right file in its place, run `manage.py restore`, and start the server again."
                )
            stat = os.stat(log)
            if (stat.st_dev, stat.st_ino) != self._log:
                return f"{log} is another file than the one that was opened. {BACK}"
            stat = os.stat(log_index)
            if (stat.st_dev, stat.st_ino) != self._index:
                return f"{log_index} is another file than the one that was opened. {BACK}"
        except OSError as error:
            return (
                f"{error.filename} is not where it was ({error.strerror}): it was deleted or renamed, or its"
                f" directory was moved. {BACK}"
            )
        return ""

    def _only_touched(self, stat: os.stat_result) -> bool:
        """Whether only the modification time of the database has changed; then the new one is remembered."""
        device, *main = self._known
        mark = self.marker.mark
        if stat.st_dev != device or not _same_contents(self._names[0], stat, main, mark.base):
            return False
        self._known, mark.main = _identity(stat), _main(stat)
        return True

    def committed(self, granted: Sequence[Grant], pulse: int | None, rows: int) -> None:
        """Called after a commit, before its answers are given, with the tokens that it gave, its pulse,
        and how many rows it wrote. Raises InDoubt when the files are no longer in their place."""
        if pulse is not None or not self._in_place():
            try:
                self.check()
            except StorageFault as fault:
                raise InDoubt(str(fault)) from None
        if granted or pulse is not None:
            self.marker.note(granted, pulse)
        self._pages += self._correction * (PAGES_A_COMMIT + PAGES_A_ROW * rows)
        if self._pages >= CHECKPOINT_PAGES:
            self._checkpoint("PASSIVE")

    def _checkpoint(self, mode: str) -> bool:
        """Move the log into the database, and remember the files after that; returns whether all was
        moved."""
        mark = self.marker.mark
        mark.checkpoint = True
        self.marker.write()
        done = False
        try:
            busy, pages, moved = self._db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            done = not busy and pages == moved
            if self._pages:
                least, most = SHARED
                self._correction = min(most, max(least, self._correction * pages / self._pages))
            self._pages = 0.0
        except sqlite3.Error as error:
            logger.warning("the log of leases was not moved into their database: %s", error)
        try:
            self._remember()
        except OSError:
            return False  # the next check raises the reason
        mark.checkpoint = False
        self.marker.write()
        return done

    def recover(self) -> None:
        """Move what a crash left in the log into the database."""
        self._checkpoint("TRUNCATE")

    def close(self) -> None:
        """Called before the connection is closed: leave an empty log, and flush the mark to the disk."""
        if not self._fault() and not self._db.in_transaction:
            self.marker.mark.clean = self._checkpoint("TRUNCATE")
            self.marker.write(durable=True)
        self.marker.close()


def _identity(stat: os.stat_result) -> tuple[int, int, int, int]:
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


def _same_contents(path: Path | str, stat: os.stat_result, main: list[int], base: list[int]) -> bool:
    """Whether the database is that of `main` and `base` (see `Mark`), apart from its modification time."""
    same_file = stat.st_ino == main[0] and stat.st_size == main[2]
    return same_file and bool(base) and contents(path) == base


def foreign_log(path: Path, found: Found | None, main: os.stat_result, log: os.stat_result | None) -> bool:
    """Whether the write-ahead log belongs to another state of the database than the present one."""
    if log is None or not log.st_size or found is None or found.mark is None or not found.mark.main:
        return False
    mark = found.mark
    if not found.own:
        return mark.clean  # the backup was made after a clean stop, when there was no log
    if log.st_ino != mark.wal or log.st_ctime_ns > mark.at + LATE_NS:
        return False  # it was put there after the mark was written
    if mark.checkpoint:
        return main.st_ino != mark.main[0]
    return _main(main) != mark.main and not _same_contents(path, main, mark.main, mark.base)


def prepare(path: Path, used: Callable[[], bool]) -> list[Path]:
    """Check the files before any program opens them. `used` returns whether other databases show that this is
    no new installation; it is called only when there is no file.

    A log that belongs to another state of the database is set aside; returns the files that were moved. A log
    that a crash left is moved into the database, so that the next program that opens it changes nothing.
    Raises StorageFault, with the reason, when the database existed and is missing.
    """
    main, log = _stat(str(path)), _stat(str(beside(path, "-wal")))
    found = read_mark(mark_path(path.parent))
    if main is None or not main.st_size:
        evidence = "it has a mark" if found else "it has a log" if log and log.st_size else ""
        evidence = evidence or ("there are workspaces already" if used() else "")
        if evidence:
            raise StorageFault(f"{path} is {'missing' if main is None else 'empty'}, and {evidence}. {LOST}")
        return []
    try:
        lock = FileLock(lock_path(path))
    except StorageFault:
        return []  # a server is running and keeps the files itself
    try:
        if foreign_log(path, found, main, log):
            return _set_aside(path)
        _look_into(path, log, found)
        return []
    except StorageFault as fault:
        if str(path) in str(fault):
            raise
        raise StorageFault(f"The database of leases {path} cannot be used: {fault}") from fault
    finally:
        lock.release()


def _set_aside(path: Path) -> list[Path]:
    moved = []
    for name in (str(beside(path, "-wal")), str(beside(path, "-shm"))):
        stat = _stat(name)
        if stat is not None:
            moved.append(Path(f"{name}.stale-{stat.st_mtime_ns}"))
            os.replace(name, moved[-1])
    logger.warning(
        "%s-wal belongs to another state of the database than the one that is there: it was set aside as %s."
        " That happens when an older database was put in the place of one whose server had been killed",
        path,
        moved[0],
    )
    return moved


def _look_into(path: Path, log: os.stat_result | None, found: Found | None) -> None:
    db = connect(path, "write")
    try:
        with faults():
            if found is not None and not db.execute(TABLES).fetchone()[0]:
                raise StorageFault(f"{path} has no leases in it, and it has a mark. {LOST}")
            if log is None or not log.st_size:
                return
            if found is None or not found.own:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return
        marker = Marker(path.parent, alone=True)
        try:
            marker.resume()
            Keeper(path, db, marker).recover()
        finally:
            marker.close()
    except OSError as error:
        raise StorageFault(f"the mark in {path.parent}: {error.strerror}") from error
    finally:
        db.close()
