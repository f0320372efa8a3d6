"""A server is killed in the middle of the work of its clients, and comes back."""

from collections.abc import Callable
from contextlib import closing

import pytest

from tests.server import ServerProcess
from tests.store.kill9 import ENV, Trial

Start = Callable[..., ServerProcess]


@pytest.mark.parametrize(("kind", "rounds"), [("sqlite", 2), ("postgresql", 1)])
def test_no_acknowledged_grant_is_lost_and_none_is_made_twice(
    live_server_process: Start, request: pytest.FixtureRequest, kind: str, rounds: int
) -> None:
    address = {"DATABASE_URL": request.getfixturevalue("postgres_url") if kind == "postgresql" else ""}
    server = live_server_process(**ENV, **{name: url for name, url in address.items() if url})
    with closing(Trial(server, clients=6)) as trial:
        for number in range(rounds + 3):
            if number >= rounds and trial.held_after:
                break  # else the start took longer than a lease lasts, which shows nothing: once more
            trial.round(server.kill, lambda: server.start() and None)
        if kind == "sqlite":  # takes as long as a lease lasts
            trial.check_free()
    assert trial.faults == []
    assert trial.held_after > 0
