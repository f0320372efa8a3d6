"""The core against an independent implementation of the same rules, on random histories."""

import os
import random
from collections import Counter
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from coordination.core.messages import Acquire, Command, Deadlock, Release, Revoke, Withdraw
from coordination.core.model import Mode, Rules

from .compare import SMALL, Trio
from .machine import LeaseMachine

AGENTS = ("A", "B", "C", "D", "E", "F")
RESOURCES = ("u", "v", "w", "x", "y", "z")
SEED = int(os.environ.get("SEED", "20260101"))

agents = st.sampled_from(AGENTS)
resources = st.sampled_from(RESOURCES)
modes = st.sampled_from(list(Mode))
ids = st.integers(0, 60).map(lambda number: f"lse_{number}")
commands = st.one_of(
    st.builds(Acquire, resources, modes, agents, st.just(""), st.sampled_from([True, True, True, False])),
    st.builds(Release, resources, agents, st.none() | ids),
    st.builds(Withdraw, resources, agents),
    st.builds(Revoke, resources, ids),
)
pauses = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 9, 10, 13, 14, 30])
rules = st.builds(
    Rules,
    lease_ttl_ms=st.sampled_from([5, 10, 13]),
    offer_ms=st.sampled_from([1, 3, 13]),
    wait_ttl_ms=st.sampled_from([6, 13]),
    queue_limit=st.sampled_from([1, 2, 3, 8]),
    trust_start=st.sampled_from([Decimal("50.0"), Decimal("7.0"), Decimal("99.8")]),
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


def random_command(dice: random.Random, number: int, sharing: float) -> Command:
    resource, agent = dice.choice(RESOURCES), dice.choice(AGENTS)
    lease_id = f"lse_{max(0, number - dice.randint(1, 20))}"
    mode = Mode.SHARED if dice.random() < sharing else Mode.EXCLUSIVE
    return dice.choices(
        [
            Acquire(resource, mode, agent, f"lse_{number}", dice.random() < 0.9),
            Release(resource, agent, dice.choice([None, None, lease_id])),
            Withdraw(resource, agent),
            Revoke(resource, lease_id),
        ],
        weights=[14, 3, 1, 1],
    )[0]


def walk(seed: int, steps: int) -> Counter[str]:
    """Random commands at random times, each compared with the reference; returns how often each kind
    occurred."""
    dice = random.Random(seed)
    sharing = dice.choice([0.0, 0.5])
    pauses = dice.choice([[0, 0, 0, 0, 0, 1, 1, 2, 5], [0] * 12 + [1]])
    trio, met = Trio(SMALL), Counter[str]()
    for number in range(steps):
        if dice.random() < 0.01:
            until = trio.now + dice.randint(1, 20)
            trio.outage(until)
            trio.pass_time(until)
        outcome = trio.ask(trio.now + dice.choice(pauses), random_command(dice, number, sharing))
        cycle = len(outcome.cycle) if isinstance(outcome, Deadlock) else ""
        met[f"{type(outcome).__name__}{cycle}"] += 1
    return met


def test_long_random_walks() -> None:
    """`SEED=…` runs the walks of another seed."""
    met: Counter[str] = Counter()
    for seed in range(SEED, SEED + 4):
        print(f"seed {seed}")
        met += walk(seed, 1_000)
    print(dict(met))
    rare = {"Deadlock3", "Deadlock4"}
    assert rare | {"Granted", "Held", "Deadlock2", "Released", "NotReleased", "Withdrawn", "Ended"} <= set(
        met
    )


TestLeaseMachine = LeaseMachine.TestCase
TestLeaseMachine.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
