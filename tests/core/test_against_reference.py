"""The core against an independent reading of the same rules, on random histories."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordination.core.messages import Acquire, Command, GiveBack, Release, Withdraw
from coordination.core.model import Mode, Rules

from .compare import SMALL, Trio

AGENTS = ("A", "B", "C", "D")
RESOURCES = ("x", "y", "z")
SEED = int(os.environ.get("SEED", "20260101"))

agents = st.sampled_from(AGENTS)
resources = st.sampled_from(RESOURCES)
modes = st.sampled_from(list(Mode))
ids = st.integers(0, 60).map(lambda number: f"lse_{number}")
commands = st.one_of(
    st.builds(Acquire, resources, modes, agents, st.just(""), st.sampled_from([True, True, True, False])),
    st.builds(Release, resources, agents, st.none() | ids),
    st.builds(Withdraw, resources, agents),
    st.builds(GiveBack, resources, ids),
)
pauses = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 9, 10, 13, 14, 30])
rules = st.builds(
    Rules,
    lease_ttl_ms=st.sampled_from([5, 10, 13]),
    offer_ms=st.sampled_from([1, 3, 13]),
    wait_ttl_ms=st.sampled_from([6, 13]),
    queue_limit=st.sampled_from([1, 2, 3, 8]),
)


def named(command: Command, number: int) -> Command:
    """A fresh lease id for each request."""
    if isinstance(command, Acquire):
        return Acquire(command.resource, command.mode, command.agent, f"lse_{number}", command.queue)
    return command


@settings(max_examples=400, deadline=None)
@given(
    rules,
    st.none() | st.integers(1, 3),
    st.lists(st.tuples(pauses, commands, st.integers(0, 40)), max_size=60),
)
def test_any_history(rules: Rules, limit: int | None, history: list[tuple[int, Command, int]]) -> None:
    trio = Trio(rules, limit)
    for number, (pause, command, away) in enumerate(history):
        if away > 37:
            trio.outage(trio.now + 5 + away)
            trio.pass_time(trio.now + 5 + away)
        trio.ask(trio.now + pause, named(command, number))
    trio.pass_time(trio.now + 200)


def random_command(dice: random.Random, number: int) -> Command:
    resource, agent = dice.choice(RESOURCES), dice.choice(AGENTS)
    lease_id = f"lse_{max(0, number - dice.randint(1, 20))}"
    return dice.choices(
        [
            Acquire(resource, dice.choice(list(Mode)), agent, f"lse_{number}", dice.random() < 0.9),
            Release(resource, agent, dice.choice([None, None, lease_id])),
            Withdraw(resource, agent),
            GiveBack(resource, lease_id),
        ],
        weights=[12, 4, 1, 1],
    )[0]


@pytest.mark.parametrize("walk", range(8))
def test_a_long_random_walk(walk: int) -> None:
    """SEED=… repeats a walk of another seed."""
    seed = SEED + walk
    print(f"seed {seed}")
    dice = random.Random(seed)
    trio = Trio(SMALL)
    for number in range(1_500):
        if dice.random() < 0.01:
            until = trio.now + dice.randint(1, 20)
            trio.outage(until)
            trio.pass_time(until)
        trio.ask(trio.now + dice.choice([0, 0, 0, 0, 0, 1, 1, 2, 5]), random_command(dice, number))
