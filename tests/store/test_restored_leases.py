"""What happens to leases that are in a backup."""

import shutil
from pathlib import Path

from coordination.authority.restoring import Witnesses, floor_above, recognise
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Granted
from coordination.core.model import Mode, Rules
from coordination.storage import clock
from coordination.storage.engines.sqlite.engine import SqliteEngine
from coordination.storage.store import Needs, Store
from tests.store.authorities import SqliteDatabase


def begin(path: Path) -> Store:
    """Start as an authority does."""
    engine = SqliteEngine(path, marked=True)
    recognise(engine, Witnesses(engine.marker.look() if engine.marker else ()))
    return Store(engine, Rules(), outage_after_ms=5_000, remember=True)


def acquire(store: Store, agent: str, now: int, lease_id: str) -> tuple[Granted, list[str]]:
    """The grant, and the other events."""
    needs = {"ws_1": Needs({"lock:a"}, {agent}, {"lock:a": {agent}})}
    with store.transaction(needs, lambda: now) as transaction:
        world = transaction.worlds["ws_1"]
        ended = [f"{event.kind} {event.agent} {event.trust is not None}" for event in world.events]
        outcome = decide(world, Acquire("lock:a", Mode.EXCLUSIVE, agent, lease_id), now)
    assert isinstance(outcome, Granted)
    return outcome, ended


def test_an_expired_lease_of_the_backup_is_reclaimed_without_a_penalty(
    sqlite_database: SqliteDatabase, tmp_path: Path
) -> None:
    path, now = sqlite_database.path, clock.wall_ms()
    store = begin(path)
    assert acquire(store, "did:a", now, "lse_1")[0].lease.token == 1
    store.engine.close()
    backup = Path(shutil.copy(path, tmp_path / "backup"))
    store = begin(path)
    now += 40_000
    lost = acquire(store, "did:b", now, "lse_2")[0].lease.token
    assert lost == 2
    store.engine.close()
    path.write_bytes(backup.read_bytes())
    store = begin(path)
    now += 40_000
    granted, ended = acquire(store, "did:c", now, "lse_3")
    assert ended == ["expired did:a False"]
    assert granted.lease.token > lost
    floor = store.engine.standing()
    assert floor is not None
    assert granted.lease.token == floor.token_floor + 1
    store.engine.close()


def test_a_current_lease_of_the_backup_keeps_its_holder_and_its_token(
    sqlite_database: SqliteDatabase, tmp_path: Path
) -> None:
    path, now = sqlite_database.path, clock.wall_ms()
    store = begin(path)
    acquire(store, "did:a", now, "lse_1")
    store.engine.close()
    (path.parent / "leases.mark").unlink()
    store = begin(path)
    renewed = acquire(store, "did:a", now + 1_000, "lse_2")[0]
    assert renewed.renewed
    assert (renewed.lease.lease_id, renewed.lease.token) == ("lse_1", 1)
    store.engine.close()


def test_restoring_a_backup_again_raises_tokens_by_all_the_time_since() -> None:
    """A grant takes at least a third of a millisecond."""
    backup, first = 1_800_000_000_000, 1_800_000_004_000
    for later in (1, 2, 10, 999, 10_000, 86_400_000):
        given = floor_above(3, backup, first) + 3 * later
        assert floor_above(3, backup, first + later) > given
