"""Random scripts: the same seed gives the same script.

Each `CHORUS` of scripts has its instants in common, so that a store can run the scripts together, each in
its own workspace.
"""

from __future__ import annotations

import random
from itertools import accumulate

from coordination.core.model import Mode

from .language import Script, Step

CHORUS = 25
# The ends of leases, waits and offers, a millisecond before and after them, and short times between.
PAUSES_MS = (
    1,
    1,
    2,
    10,
    500,
    799,
    1_999,
    2_000,
    2_001,
    5_000,
    29_999,
    30_000,
    30_001,
    34_999,
    35_000,
    80_000,
)
VERBS = (*["acquire"] * 14, *["release"] * 5, "withdraw", "revoke")


def instants(seed: int) -> list[int]:
    """The instants, in ms, at which something happens in the scripts of this seed's chorus."""
    dice = random.Random(f"instants {seed // CHORUS}")
    return list(accumulate(dice.choice(PAUSES_MS) for _ in range(dice.randint(4, 24))))


def generate(seed: int) -> Script:
    """A script of several agents and resources in both modes, with jumps in time and bursts at one
    instant."""
    dice = random.Random(seed)
    agents = [f"did:example:{number}" for number in range(dice.randint(2, 7))]
    resources = [f"{dice.choice(['lock', 'doc'])}:{number}" for number in range(dice.randint(1, 5))]
    sharing = dice.choice([0.0, 0.3, 0.6])
    steps: list[Step] = []
    for at_ms in instants(seed):
        for _ in range(dice.choice([0, 1, 1, 2, 3, 5, 8])):
            steps.append(_step(dice, at_ms, agents, resources, sharing, steps))
    return Script(f"seed {seed}", tuple(steps))


def _step(
    dice: random.Random,
    at_ms: int,
    agents: list[str],
    resources: list[str],
    sharing: float,
    before: list[Step],
) -> Step:
    verb = dice.choice(VERBS)
    agent, resource = dice.choice(agents), dice.choice(resources)
    earlier = dice.randint(max(0, len(before) - 12), len(before))
    if verb != "acquire" and earlier and dice.random() < 0.7:  # usually for an earlier request
        agent, resource = before[earlier - 1].agent, before[earlier - 1].resource
    gives_id = verb == "revoke" or (verb == "release" and dice.random() < 0.4)
    return Step(
        at_ms,
        agent,
        verb,
        resource,
        mode=Mode.SHARED if verb == "acquire" and dice.random() < sharing else Mode.EXCLUSIVE,
        queue=verb != "acquire" or dice.random() < 0.9,
        granted_in=earlier if gives_id else None,
    )
