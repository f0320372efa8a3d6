"""The session of the SQLite engine: the lock that makes one process the writer, and the connection."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coordination.storage.engines.base import StorageFault, WriteRefused
from intramedial.process.private_files import hand_over

_PRAGMAS = {
    "write": ("journal_mode = WAL", "synchronous = FULL", "cache_size = -32000"),
    "read": ("query_only = ON", "cache_size = -8000"),
}


class FileLock:
    """Held by the process that writes the file, so that no second process writes it."""

    def __init__(self, path: Path) -> None:
        """Raises StorageFault when another process has it."""
        try:
            self._file = open(path, "w")  # noqa: SIM115 (kept open: closing it releases the lock)
            hand_over(self._file.fileno(), path.parent)
        except OSError as error:
            raise StorageFault(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise StorageFault(f"{path}: another process is the authority over this database") from error

    def release(self) -> None:
        """Release the lock. Idempotent."""
        self._file.close()


def lock_path(path: Path) -> Path:
    """Where the lock of this SQLite file is."""
    return Path(f"{path}.lock")


@contextmanager
def faults(fault: type[StorageFault] = StorageFault) -> Iterator[None]:
    """Raise WriteRefused when SQLite refuses the rows, and `fault` for all its other errors."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.DataError) as error:
        raise WriteRefused(f"{type(error).__name__}: {error}") from error
    except sqlite3.Error as error:
        raise fault(f"{type(error).__name__}: {error}") from error


@contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """Add to SQLite's errors which file it could not open or write, and who may."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        words = f"{path}: {error}"
        with suppress(OSError):
            found = os.stat(path)
            if not os.access(path, os.R_OK | os.W_OK):
                words += (
                    f". It belongs to the user {found.st_uid} and has the mode {found.st_mode & 0o7777:04o},"
                    f" and this is the user {os.geteuid()}: give it to the user that runs the server (chown)"
                )
        raise StorageFault(words) from error


def connect(path: Path | str, kind: str) -> sqlite3.Connection:
    """A connection of this kind, `write` or `read`, to an existing file. Raises StorageFault."""
    with faults(), _named(path):
        # The file is never made here: with an empty file in place of a lost one, tokens would begin again at
        # 1.
        address = f"{Path(path).absolute().as_uri()}?mode=rw"
        db = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=5
        )
        try:
            for pragma in _PRAGMAS[kind]:
                db.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            db.close()
            raise
    return db
