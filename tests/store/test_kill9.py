"""A server is killed while its clients work, and starts again."""

from collections.abc import Callable
from contextlib import closing

import pytest

from tests.server import ServerProcess
from tests.store.kill9 import ENV, Trial

Start = Callable[..., ServerProcess]

TTL = "INTRAMEDIAL_LEASE_TTL_MS"
SHORT_MS = 2_000
LONG_MS = 300_000
"""No server takes so long to start that a lease of this length is over by then."""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_acknowledged_grant_is_lost_and_none_is_made_twice(
    live_server_process: Start, request: pytest.FixtureRequest, kind: str
) -> None:
    env = {**ENV, TTL: str(SHORT_MS)}
    if kind == "postgresql":
        env["DATABASE_URL"] = request.getfixturevalue("postgres_url")
    server = live_server_process(**env)
    with closing(Trial(server, clients=6)) as trial:
        trial.work(server.kill)
        server.env[TTL] = str(LONG_MS)
        server.start()
        trial.check_free(SHORT_MS)
        trial.round(server.kill, lambda: server.start() and None)
    assert trial.faults == []
    assert trial.held_after > 0
