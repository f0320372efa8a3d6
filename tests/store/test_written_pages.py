"""How many pages a batch writes on SQLite: each page is copied, summed, written, and written again later."""

from collections.abc import Iterator

import pytest

from coordination.storage.store import Store
from tests.store.authorities import RunningAuthority, SqliteDatabase, Time

MANY = 16
AGENTS = 480  # the others make the indexes wide
AT_MOST = {"acquire": 26, "release": 42}  # 20 to 23 and 30 to 39, since receipts name their resource


@pytest.fixture
def authority(sqlite_database: SqliteDatabase, authority_clock: Time) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(sqlite_database.engine())
    yield authority
    authority.stop()


async def test_pages_do_not_depend_on_the_agents_history(authority: RunningAuthority) -> None:
    """Agents and resources met at random in large tables cost a page each, and their histories none."""
    for _ in range(3):
        for verb in (authority.acquire, authority.release):
            await authority.together(
                *(verb(f"did:{number:03}", f"lock:{number:03}") for number in range(AGENTS))
            )
    for some in range(3):
        chosen = [f"{number:03}" for number in range(some, AGENTS, AGENTS // MANY)]
        for name, verb in (("acquire", authority.acquire), ("release", authority.release)):
            await authority.run_with(lambda store: frames(store, "TRUNCATE"))
            await authority.together(*(verb(f"did:{number}", f"lock:{number}") for number in chosen))
            written = await authority.run_with(lambda store: frames(store, "PASSIVE"))
            print(f"{name} of {MANY}: {written} pages")
            assert 0 < written <= AT_MOST[name]


def frames(store: Store, mode: str) -> int:
    """Pages in the write-ahead log. If `mode` is given, the log is emptied first."""
    (_, log, _) = store.engine._db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return int(log)
