"""Every state that a small world can reach, breadth first, by every order of commands and ends.

    python -m tests.core.explore                     the full run: over a million states
    python -m tests.core.explore --quick             the slice that the test suite runs
    python -m tests.core.explore 3:es 4:s/2          these worlds; see `Explorer`

Agents have no rank. States that differ only in which agent is which are visited once and counted as many
times as there are of them. Each step is a decision of the real core on a whole world. `laws` has what must
hold of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from coordination.core import decide as rules_of
from coordination.core import settle as time_of
from coordination.core.messages import Acquire, Command, Deadlock, Granted, Outcome, Release, Withdraw
from coordination.core.world import World

from .laws import Taken, broken_by
from .shapes import NOTHING, NOW, RULES, Ending, Shape, edges, endings, make, mode_of, renamed, shape_of

State = tuple[int, ...]  # one number for each resource: its shape among those that the explorer has met
Step = tuple[int, Command | Ending]  # the resource's number, and what happens there

QUICK = ("2:ss", "3:ss/1", "4:s", "5:e", "4:ee")
FULL = (*QUICK, "3:eee", "2:sss", "3:ss", "4:ss/1", "5:s", "5:ee")


class Violation(AssertionError):
    """The core did what the rules do not allow. The message says what, and which steps lead there."""


@dataclass
class Explored:
    """How much of a world was visited: all states, the states without those that differ only in names, the
    steps taken from these, the length of the longest shortest path, and the deadlocks refused."""

    world: str
    states: int = 0
    distinct: int = 0
    steps: int = 0
    depth: int = 0
    refused: int = 0
    seconds: float = 0.0
    complete: bool = True


class Explorer:
    """`world` is the number of agents, a letter for each resource (s: both modes, e: exclusive only) and the
    length of a queue: `4:se/2`. `judging`: check each step against the rule; otherwise a wrong step must
    show in the states that it leads to. `nameless`: visit states that differ only in names once."""

    def __init__(self, world: str, judging: bool = True, nameless: bool = True) -> None:
        agents, _, rest = world.partition(":")
        self.kinds, _, limit = rest.partition("/")
        self.world, self.judging, self.agents = world, judging, int(agents)
        self.rules = replace(RULES, queue_limit=int(limit or 8))
        self.names = [f"r{number}" for number in range(len(self.kinds))]
        everyone = tuple(range(self.agents))
        self.permutations = list(permutations(everyone)) if nameless else [everyone]
        self.shapes: list[Shape] = []
        self.numbers: dict[Shape, int] = {}
        # by a shape's number: the shapes that permutations of the agents make of it
        self.alike: dict[int, tuple[int, ...]] = {}
        self.came: dict[State, State | None] = {}
        self.drained: set[State] = set()
        self.start = tuple(self.number(Shape()) for _ in self.kinds)

    # --- states -----------------------------------------------------------------------------------

    def number(self, shape: Shape) -> int:
        known = self.numbers.setdefault(shape, len(self.shapes))
        if known == len(self.shapes):
            self.shapes.append(shape)
        return known

    def shapes_of(self, state: State) -> tuple[Shape, ...]:
        return tuple(self.shapes[number] for number in state)

    def orbit(self, state: State) -> set[State]:
        """The states that differ from this one only in which agent is which."""
        for number in state:
            if number not in self.alike:
                shape = self.shapes[number]
                self.alike[number] = tuple(self.number(renamed(shape, names)) for names in self.permutations)
        return set(zip(*(self.alike[number] for number in state), strict=True))

    # --- the walk ---------------------------------------------------------------------------------

    def run(self, most: int | None = None) -> Explored:
        """Walk from the empty world until `most` states are met. Raises Violation at the first fault."""
        report = Explored(self.world)
        began = time.perf_counter()
        level: list[State] = []
        self._meet(self.start, None, level, report)
        while level:
            following: list[State] = []
            for state in level:
                for step in self.steps(state):
                    after, outcome = self.take(state, step)
                    report.steps += 1
                    report.refused += isinstance(outcome, Deadlock)
                    self._meet(after, state, following, report)
                if most is not None and report.states >= most:
                    report.complete = False
                    following = []
                    break
            level = following
            report.depth += bool(level)
        report.seconds = round(time.perf_counter() - began, 1)
        return report

    def _meet(self, state: State, before: State | None, level: list[State], report: Explored) -> None:
        if state in self.came:
            return
        orbit = self.orbit(state)
        first = min(orbit)
        if first in self.came:
            return
        self.came[first] = before
        for words in broken_by(self.shapes_of(first)):
            self.fail(first, None, words)
        self._drain(first)
        level.append(first)
        report.states += len(orbit)
        report.distinct += 1

    def steps(self, state: State) -> Iterator[Step]:
        for number, shape in enumerate(self.shapes_of(state)):
            name = self.names[number]
            for agent in range(self.agents):
                for shared in (False, True)[: 1 + (self.kinds[number] == "s")]:
                    yield number, Acquire(name, mode_of(shared), str(agent), "new")
                if shape.holds(agent) is not None:
                    yield number, Release(name, str(agent))
                if shape.waits(agent):
                    yield number, Withdraw(name, str(agent))
            for ending in endings(shape):
                yield number, ending

    def take(self, state: State, step: Step) -> tuple[State, Outcome | None]:
        """The state that the core makes of `state`, checked against the rules."""
        number, what = step
        world, shapes = World(self.rules), self.shapes_of(state)
        for place, shape in enumerate(shapes):
            ending = what if place == number and isinstance(what, Ending) else NOTHING
            world.load(make(self.names[place], shape, ending))
        before = dict(world.resources)
        time_of.settle(world, NOW)
        outcome = None if isinstance(what, Ending) else rules_of.decide(world, what, NOW)
        for name, resource in before.items():
            if name != self.names[number] and world.resources[name] is not resource:
                self.fail(state, step, f"{name} changed")
        name = self.names[number]
        after = world.resources[name]
        became = shape_of(after)
        taken = Taken(shapes, number, what, outcome, world, before[name], after, became)
        for words in taken.broken(self.judging):
            self.fail(state, step, words)
        return (*state[:number], self.number(became), *state[number + 1 :]), outcome

    # --- the end ----------------------------------------------------------------------------------

    def _drain(self, state: State) -> None:
        """Let agents that wait for no other agent claim and release: in the end every waiter has been
        granted."""
        way: list[State] = []
        while state not in self.drained and any(self.shapes[number].queue for number in state):
            way.append(state)
            graph = edges(self.shapes_of(state))
            step = next(self._forward(state, graph), None)
            if step is None:
                self.fail(way[0], None, f"no agent can go on: {graph}")
                return
            state, outcome = self.take(state, step)
            if isinstance(step[1], Acquire) and not isinstance(outcome, Granted):
                self.fail(way[0], step, f"claimed an offer and got {outcome}")
            state = min(self.orbit(state))
        self.drained.update(way)

    def _forward(self, state: State, graph: dict[int, set[int]]) -> Iterator[Step]:
        for agent in range(self.agents):
            if graph.get(agent):
                continue
            for number, shape in enumerate(self.shapes_of(state)):
                if place := shape.waits(agent):
                    yield number, Acquire(self.names[number], mode_of(place.shared), str(agent), "new")
            for number, shape in enumerate(self.shapes_of(state)):
                if shape.holds(agent) is not None:
                    yield number, Release(self.names[number], str(agent))

    def fail(self, state: State, step: Step | None, words: str) -> None:
        """Raise Violation with `words` and with steps that lead to a state like this one."""
        ways = [state]
        while (before := self.came.get(ways[0])) is not None:
            ways.insert(0, before)
        lines, here = [f"{self.world}: {words}"], ways[0]
        for goal in ways[1:]:
            taken, here = self._towards(here, goal)
            lines.append(str(taken))
        if step is not None:
            lines.append(f"then, perhaps under other names, {step}")
        raise Violation("\n".join(lines))

    def _towards(self, here: State, goal: State) -> tuple[Step | None, State]:
        for step in self.steps(here):
            after, _ = self.take(here, step)
            if goal in self.orbit(after):
                return step, after
        return None, goal


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.explore", description="Explore small worlds.")
    parser.add_argument("worlds", nargs="*", help=f"by default {' '.join(FULL)}")
    parser.add_argument("--quick", action="store_true", help=f"only {' '.join(QUICK)}")
    parser.add_argument("--most", type=int, help="stop a world after this many states")
    given = parser.parse_args(arguments)
    total = 0
    for world in given.worlds or (QUICK if given.quick else FULL):
        try:
            seen = Explorer(world).run(given.most)
        except Violation as violation:
            print(violation)
            return 1
        total += seen.states
        print(seen, flush=True)
    print(f"{total} states, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
