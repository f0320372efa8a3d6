"""Random scripts: the same seed, the same script."""

from __future__ import annotations

import random

from coordination.core.model import Mode

from .language import Script, Step

# Steps of one instant most of all; then the ends of things, and a millisecond on either side of them.
PAUSES_MS = (
    *[0] * 30,
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
VERBS = (*["acquire"] * 14, *["release"] * 5, "withdraw", "giveback")


def generate(seed: int, most_steps: int = 60) -> Script:
    """A script of several agents and resources in both modes, with time jumps and bursts at one instant."""
    dice = random.Random(seed)
    agents = [f"did:example:{number}" for number in range(dice.randint(2, 7))]
    resources = [f"{dice.choice(['lock', 'doc'])}:{number}" for number in range(dice.randint(1, 5))]
    sharing = dice.choice([0.0, 0.3, 0.6])
    at_ms, steps = dice.randint(0, 1_000), []
    for number in range(1, dice.randint(5, most_steps) + 1):
        at_ms += dice.choice(PAUSES_MS)
        verb = dice.choice(VERBS)
        earlier = dice.randrange(max(0, number - 12), number)
        agent, resource = dice.choice(agents), dice.choice(resources)
        if verb != "acquire" and earlier and dice.random() < 0.7:  # most often of what was asked for before
            agent, resource = steps[earlier - 1].agent, steps[earlier - 1].resource
        gives_id = verb == "giveback" or (verb == "release" and dice.random() < 0.4)
        steps.append(
            Step(
                at_ms,
                agent,
                verb,
                resource,
                mode=Mode.SHARED if verb == "acquire" and dice.random() < sharing else Mode.EXCLUSIVE,
                queue=verb != "acquire" or dice.random() < 0.9,
                granted_in=earlier if gives_id else None,
            )
        )
    return Script(f"seed {seed}", tuple(steps))
