"""Keeps the data directory private: only the user that runs the server may read keys, secrets and
databases."""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)

DIRECTORY, FILE = 0o700, 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO
# The files of this service. Other files that an operator keeps there are left alone.
PATTERNS = ("*.sqlite3*", "secret_key*", "keys/*", "keys/.draft-*")


@contextmanager
def created_private() -> Iterator[None]:
    """Only this user may read files that are made in the block."""
    before = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def hand_over(made: Path | int, directory: Path) -> None:
    """Give a file (or its descriptor) that root has made to the directory's owner, since the server runs as
    that user. Where that is not allowed (a container without the right, NFS), root keeps it."""
    if os.geteuid() != 0:
        return
    with suppress(OSError):
        owner = os.stat(directory)
        if os.stat(made).st_uid != owner.st_uid:
            os.chown(made, owner.st_uid, owner.st_gid)


def tighten(data_dir: Path) -> None:
    """Take the permissions of the group and of others from the data directory and this service's files in it.
    Log what others could read, and what cannot be changed."""
    for directory in (data_dir, data_dir / "keys"):
        if directory.is_dir():
            _tighten(directory, DIRECTORY)
    for pattern in PATTERNS:
        for file in sorted(data_dir.glob(pattern)):
            if file.is_file():
                _tighten(file, FILE)


def _tighten(path: Path, wanted: int) -> None:
    try:
        found = path.stat()
    except OSError:
        return  # deleted meanwhile: a draft, or the log of a database that was closed
    mode = stat.S_IMODE(found.st_mode)
    if not mode & OTHERS:
        return
    if mode & stat.S_ISVTX:
        logger.warning("%s is a directory shared by all users: keep the data in one of its own", path)
        return
    try:
        path.chmod(mode & wanted)
    except FileNotFoundError:
        return
    except OSError as error:
        logger.warning(
            "%s has the mode %04o, so other users may read it, and that cannot be changed from here"
            " (%s; its owner is the user %d). Run: chmod %o %s",
            *(path, mode, error.strerror, found.st_uid, wanted, path),
        )
    else:
        logger.warning(
            "%s had the mode %04o, so other users could read it: it is %04o now", path, mode, mode & wanted
        )
