"""Leases that expire at once are reclaimed in parts, so that a request meanwhile waits for one part at
most."""

from collections.abc import Iterator
from typing import Any

import pytest

from coordination.authority.batch import Batch
from coordination.authority.expiry import RESOURCES_AT_ONCE
from tests.store.authorities import START, Database, RunningAuthority, Time

WORKSPACES = ("ws_0", "ws_1", "ws_2")


@pytest.fixture
def authority(database: Database, authority_clock: Time) -> Iterator[RunningAuthority]:
    authority = RunningAuthority(database.engine())
    yield authority
    authority.stop()


async def test_leases_of_a_workspace_are_reclaimed_in_the_order_of_expiry(
    authority: RunningAuthority, authority_clock: Time, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = 2 * RESOURCES_AT_ONCE + 50
    for first in range(0, many, 100):
        authority_clock.passes(1)
        numbers = range(first, min(first + 100, many))
        await authority.together(
            *(
                authority.acquire("did:a", f"lock:{number}", workspace=WORKSPACES[number % 3])
                for number in numbers
            )
        )
    authority_clock.passes(30_000)
    parts: list[int] = []
    write = authority.store.engine.write

    def counted(changes: Any) -> None:
        parts.append(len(changes.get("lease_delete", ())))
        write(changes)

    monkeypatch.setattr(authority.store.engine, "write", counted)
    await authority.tick()
    assert (sum(parts), len(authority.kinds("expired"))) == (many, many)
    assert max(parts) <= RESOURCES_AT_ONCE
    for workspace in WORKSPACES:
        ended = [
            event["at"]
            for name, event in authority.events
            if (name, event["event"]) == (workspace, "expired")
        ]
        assert ended == sorted(ended)
    assert database.rows("SELECT count(*) FROM lease_trust_move") == [(many,)]


async def test_an_expiry_clock_that_is_fast_ends_nothing_early(
    authority: RunningAuthority, authority_clock: Time
) -> None:
    """Expiry uses its own clock, and the transaction's clock decides."""
    granted = await authority.acquire("did:a")
    assert granted.lease.expires_at == START + 30_000
    for ms, ends in ((29_999, False), (30_000, True)):
        authority_clock.now = START + ms
        early = Batch((), [("ws_1", "lock:a")], START + 60_000)
        await authority.run_with(lambda store, batch=early: batch.transact(store, authority_clock))
        assert ("ws_1" in early.events) is ends


async def test_a_request_finds_everything_in_its_workspace_settled(
    authority: RunningAuthority, authority_clock: Time
) -> None:
    """However many expired leases are left to reclaim."""
    many = 2 * RESOURCES_AT_ONCE
    await authority.together(*(authority.acquire("did:a", f"lock:{number}") for number in range(many)))
    authority_clock.passes(30_000)
    granted = await authority.acquire("did:b", f"lock:{many - 1}")
    assert (granted.lease.agent, granted.lease.token) == ("did:b", 2)
    assert len(authority.kinds("expired")) == many
