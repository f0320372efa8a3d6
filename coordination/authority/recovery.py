"""What an operator does with the database of leases: put a backup in place, begin with an empty one, look at
it.

The files that were in the way are set aside and never deleted.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections

from coordination.storage import clock
from coordination.storage.engines.base import Standing, StorageFault
from coordination.storage.engines.sqlite.files import TABLES, beside, prepare
from coordination.storage.engines.sqlite.session import FileLock, connect, faults, lock_path
from coordination.storage.opening import embedded_file, open_engine, prepare_files
from intramedial.databases import usable
from intramedial.process.private_files import hand_over

from . import restoring

PARTS = ("", "-wal", "-shm")
BY_HAND = "an operator ran `manage.py restore`"


def restore(source: Path | None, new: bool) -> dict[str, Any]:
    """Put `source` in place if one is given, or an empty database if it is to be `new`; raise fencing tokens.

    Returns what `manage.py restore` prints. Raises StorageFault, with the reason; then the files are as they
    were.
    """
    path, moved = embedded_file(), list[Path]()
    if path is None:
        if new or source is not None:
            raise StorageFault(
                "The leases are on PostgreSQL: put the backup back with its own tools, then run"
                " `manage.py restore` without anything else"
            )
    else:
        try:
            lock = FileLock(lock_path(path))
        except StorageFault as fault:
            raise StorageFault(f"{fault}. Stop the server first") from fault
        try:
            if new or source is not None:
                moved = _replace(path, source)
        finally:
            lock.release()
        if not new and source is None:
            moved = prepare(path, lambda: True)
    refuse_newer()
    _migrate()
    standing = _raise(new)
    found = restoring.last_restore(standing) or {}
    return {"restored": True, **found, "setAside": [str(file) for file in moved]}


def _raise(new: bool) -> Standing:
    engine = open_engine(marked=True)
    try:
        issued, given = restoring.of_ledger()
        marks = engine.marker.look() if engine.marker is not None else ()
        why = f"{BY_HAND} --new" if new else BY_HAND
        return restoring.recognise(engine, restoring.Witnesses(marks, issued, given, [why]))
    except OSError as error:
        raise StorageFault(f"the mark of the database of leases: {error}") from error
    finally:
        engine.close()


def refuse_newer() -> None:
    """Raise StorageFault when a newer version of this program has migrated the database of leases."""
    try:
        usable.check("leases", complete=False)
    except usable.Unusable as fault:
        raise StorageFault(str(fault)) from fault


def _migrate() -> None:
    """A backup may be older than a migration, and a new database has no tables."""
    try:
        call_command("migrate", database="leases", interactive=False, verbosity=0)
    finally:
        connections["leases"].close()


def _replace(path: Path, source: Path | None) -> list[Path]:
    fresh = path.with_name(f"{path.name}.restoring")
    try:
        if source is not None:
            _copy(source / path.name if source.is_dir() else source, path, fresh)
        elif _has_leases(path):
            raise StorageFault(
                f"{path} is there and has leases in it: --new is for one that is lost. To take it as it is,"
                " run `manage.py restore`; to begin anew all the same, move it away first"
            )
        moved = _set_aside(path)
        if source is not None:
            hand_over(fresh, path.parent)
            os.replace(fresh, path)
            _flush(path)
            _flush(path.parent)
        else:
            path.touch(mode=0o600)
            hand_over(path, path.parent)
        return moved
    except OSError as error:
        raise StorageFault(f"{error.filename}: {error.strerror}") from error
    finally:
        for part in PARTS:
            Path(f"{fresh}{part}").unlink(missing_ok=True)


def _has_leases(path: Path) -> bool:
    if not path.exists() or not path.stat().st_size:
        return False
    with closing(connect(path, "read")) as db, faults():
        return bool(db.execute(TABLES).fetchone()[0])


def _copy(source: Path, path: Path, fresh: Path) -> None:
    """Copy the backup with its log, if it has one, into one sound file."""
    if not source.is_file():
        raise StorageFault(f"{source} is not a file")
    if path.exists() and source.samefile(path):
        raise StorageFault(f"{source} is in place already: run `manage.py restore` without it")
    shutil.copyfile(source, fresh)
    if (log := beside(source, "-wal")).exists():
        shutil.copyfile(log, f"{fresh}-wal")
    try:
        with closing(_open(fresh)) as db:
            sound = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if sound != "ok" or not db.execute(TABLES).fetchone()[0]:
                raise StorageFault(f"{source} is not a sound database of leases ({sound})")
            with suppress(sqlite3.OperationalError):  # a database without the table is an older one
                usable.refuse_newer(str(source), db.execute("SELECT app, name FROM django_migrations"))
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except usable.Unusable as fault:
        raise StorageFault(str(fault)) from fault
    except sqlite3.Error as error:
        raise StorageFault(f"{source} is not a sound database of leases ({error})") from error
    fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)


def _open(path: Path) -> sqlite3.Connection:
    """Raises sqlite3.Error."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)


def _set_aside(path: Path) -> list[Path]:
    moved = []
    stamp = clock.wall_ms()
    for part in PARTS:
        if Path(f"{path}{part}").exists():
            moved.append(Path(f"{path}{part}.before-{stamp}"))
            os.replace(f"{path}{part}", moved[-1])
    return moved


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def look(used: Callable[[], bool]) -> dict[str, Any]:
    """What `manage.py status` prints of the leases while no server answers: `restored` and `clockAheadMs`
    (see `Process.check`), or `fault`."""
    try:
        prepare_files(used)
        path = embedded_file()
        if path is not None and not path.exists():
            raise StorageFault(f"{path} is not there yet: run `manage.py bootstrap`")
        with closing(open_engine(readonly=True)) as engine:
            restored = restoring.last_restore(engine.standing())
            ahead = engine.latest() - clock.wall_ms()
    except StorageFault as fault:
        return {"fault": str(fault)}
    return {
        **({} if restored is None else {"restored": restored}),
        **({} if ahead < clock.AHEAD_MS else {"clockAheadMs": ahead}),
    }
