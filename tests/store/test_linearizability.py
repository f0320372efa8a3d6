"""Histories of calls over HTTP are linearizable, with one process and with several; the checker finds
faults."""

from collections.abc import Callable, Iterator
from contextlib import closing
from math import inf

import pytest

from tests.server import ServerProcess
from tests.store.histories import ENV, TTL_MS, Recorder, flipped, show
from tests.store.linearizability import Answer, Call, is_linearizable

HISTORIES = 30
SEED = 20_261_130


@pytest.fixture(params=["sqlite", "postgresql"])
def servers(
    request: pytest.FixtureRequest, live_server_process: Callable[..., ServerProcess]
) -> Iterator[list[ServerProcess]]:
    """One process; on PostgreSQL three, over one data directory."""
    if request.param == "sqlite":
        yield [live_server_process(**ENV)]
        return
    first = live_server_process(**ENV, DATABASE_URL=request.getfixturevalue("postgres_url"))
    others = [
        ServerProcess(first.data_dir, {name: value for name, value in first.env.items() if name != "PORT"})
        for _ in range(2)
    ]
    try:
        yield [first, *(server.start() for server in others)]
    finally:
        for server in others:
            server.kill()


def test_recorded_histories_are_linearizable(servers: list[ServerProcess]) -> None:
    kinds: set[str] = set()
    wrong = 0
    with closing(Recorder(servers, SEED)) as recorder:
        for number in range(HISTORIES):
            calls = recorder.record()
            kinds |= {call.answer[0] if call.answer else "left" for call in calls}
            assert is_linearizable(calls, TTL_MS), f"history {number} of seed {SEED}\n{show(calls)}"
            for other in list(flipped(calls))[:5]:
                wrong += 1
                assert not is_linearizable(other, TTL_MS), show(other)
    assert kinds == {"granted", "renewed", "held", "released", "not_held", "left"}
    assert wrong > HISTORIES


def acquire(agent: str, begun: float, ended: float, *answer: int | str) -> Call:
    return _call("acquire", agent, begun, ended, answer)


def release(agent: str, begun: float, ended: float, *answer: int | str | None) -> Call:
    return _call("release", agent, begun, ended, answer)


def _call(kind: str, agent: str, begun: float, ended: float, answer: tuple[int | str | None, ...]) -> Call:
    given: Answer | None = (str(answer[0]), answer[1]) if answer else None
    return Call(kind, agent, begun, ended, given)


GOOD = {
    "one after the other": [acquire("a", 0, 1, "granted", 1), release("a", 2, 3, "released", 1)],
    "at once, either first": [acquire("a", 0, 9, "granted", 1), acquire("b", 0, 9, "held", "a")],
    "refused by who began later": [acquire("b", 0, 9, "held", "a"), acquire("a", 1, 8, "granted", 1)],
    "released without an answer": [
        acquire("a", 0, 1, "granted", 1),
        release("a", 2, inf),
        acquire("b", 3, 4, "granted", 2),
    ],
    "acquired without an answer, and never": [acquire("a", 0, inf), acquire("b", 1, 2, "granted", 1)],
    "acquired without an answer, and returned": [acquire("a", 0, inf), acquire("b", 1, 2, "granted", 2)],
    "expired": [acquire("a", 0, 1, "granted", 1), acquire("b", 1_100, 1_101, "granted", 2)],
    "expired between": [
        acquire("a", 0, 300, "granted", 1),
        acquire("b", 1_100, 1_101, "held", "a"),
        acquire("b", 1_200, 1_400, "granted", 2),
    ],
}
BAD = {
    "held twice": [acquire("a", 0, 1, "granted", 1), acquire("b", 2, 3, "granted", 2)],
    "a token twice": [
        acquire("a", 0, 1, "granted", 1),
        release("a", 2, 3, "released", 1),
        acquire("b", 4, 5, "granted", 1),
    ],
    "a token left out": [acquire("a", 0, 1, "granted", 2)],
    "refused without a holder": [acquire("b", 0, 1, "held", "a"), acquire("a", 2, 3, "granted", 1)],
    "a release that was lost": [
        acquire("a", 0, 1, "granted", 1),
        release("a", 2, 3, "released", 1),
        acquire("b", 4, 5, "held", "a"),
    ],
    "a grant that was lost": [acquire("a", 0, 1, "granted", 1), release("a", 2, 3, "not_held", None)],
    "expired too early": [acquire("a", 0, 1, "granted", 1), acquire("b", 900, 901, "granted", 2)],
    "expired too late": [acquire("a", 0, 1, "granted", 1), acquire("b", 1_100, 1_101, "held", "a")],
    "renewed after another": [
        acquire("a", 0, 1, "granted", 1),
        acquire("b", 1_100, 1_101, "granted", 2),
        acquire("a", 1_102, 1_103, "renewed", 1),
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_the_checker_accepts_a_possible_history(name: str) -> None:
    assert is_linearizable(GOOD[name], 1_000)


@pytest.mark.parametrize("name", BAD)
def test_the_checker_rejects_an_impossible_history(name: str) -> None:
    assert not is_linearizable(BAD[name], 1_000)
