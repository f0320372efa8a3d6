"""Every state that a small world can come to, by every order of requests, releases, withdrawals and ends.

    python -m tests.core.explore                     the full run: over a million states
    python -m tests.core.explore --quick             the slice that the test suite runs
    python -m tests.core.explore 3:es 4:s/2          these worlds: agents, a letter for each resource (s: both
                                                     modes, e: exclusive only), the length of a queue

Each step is a decision of the real core on a whole world. What must hold is worked out apart from it, in
`shapes`. A violation is shown with the way that leads to it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from coordination.core import decide as rules_of
from coordination.core import settle as time_of
from coordination.core.messages import (
    Acquire,
    Command,
    Deadlock,
    Granted,
    Held,
    Kind,
    Outcome,
    Release,
    Withdraw,
)
from coordination.core.world import World

from .shapes import (
    NOTHING,
    NOW,
    RULES,
    Ending,
    Shape,
    blockers,
    edges,
    endings,
    lease_id,
    make,
    mode_of,
    reaches,
    shape_of,
)

QUICK = ("2:ss", "3:s", "3:ee", "3:ss/1", "4:s")
FULL = (*QUICK, "2:sss", "5:e", "3:eee", "4:ee", "3:ss", "4:ss/1", "3:sse/2")

State = tuple[int, ...]  # one number a resource, of a shape that the explorer has met
Step = tuple[int, Command | Ending]  # the resource's number, and what happens there


class Violation(AssertionError):
    """The core did what the rules do not allow."""


@dataclass
class Explored:
    """How much of a world was seen: states, steps between them, the longest of the shortest ways."""

    world: str
    states: int = 0
    steps: int = 0
    depth: int = 0
    refused: int = 0
    seconds: float = 0.0
    complete: bool = True


@dataclass
class Explorer:
    """`world` is as in the module's text, for example `4:se/2`. `judging`: hold each step against the rule;
    else a wrong step has to show in the states that it leads to."""

    world: str
    judging: bool = True
    came: dict[State, State | None] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)

    def __post_init__(self) -> None:
        agents, _, rest = self.world.partition(":")
        kinds, _, limit = rest.partition("/")
        self.agents, self.kinds = int(agents), kinds
        self.rules = replace(RULES, queue_limit=int(limit or 8))
        self.names = [f"r{number}" for number in range(len(kinds))]
        self.numbers: dict[Shape, int] = {}
        self.drained: set[State] = set()

    def number(self, shape: Shape) -> int:
        known = self.numbers.setdefault(shape, len(self.shapes))
        if known == len(self.shapes):
            self.shapes.append(shape)
        return known

    def shapes_of(self, state: State) -> tuple[Shape, ...]:
        return tuple(self.shapes[number] for number in state)

    def run(self, most: int | None = None) -> Explored:
        """Breadth first from the empty world. Raises Violation, with the way, at the first one met."""
        report = Explored(self.world)
        began = time.perf_counter()
        start = tuple(self.number(Shape()) for _ in self.kinds)
        self.came[start] = None
        level = [start]
        while level:
            following: list[State] = []
            for state in level:
                for step in self.steps(state):
                    after, outcome = self.take(state, step)
                    report.steps += 1
                    report.refused += isinstance(outcome, Deadlock)
                    if after not in self.came:
                        self.came[after] = state
                        self.check_state(after)
                        following.append(after)
                if most is not None and len(self.came) >= most:
                    report.complete = False
                    following = []
                    break
            level = following
            report.depth += bool(level)
        report.states = len(self.came)
        report.seconds = time.perf_counter() - began
        return report

    # --- steps ------------------------------------------------------------------------------------

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
        """The state that the core makes of `state`, checked against what the rules allow."""
        number, what = step
        world = World(self.rules)
        for place, shape in enumerate(self.shapes_of(state)):
            ending = what if place == number and isinstance(what, Ending) else NOTHING
            world.load(make(self.names[place], shape, ending))
        before = world.resources[self.names[number]]
        outcome = None
        time_of.settle(world, NOW)
        if not isinstance(what, Ending):
            outcome = rules_of.decide(world, what, NOW)
        resource = world.resources[self.names[number]]
        after = (*state[:number], self.number(shape_of(resource)), *state[number + 1 :])
        self.check_tokens(
            state, step, before.last_token, outcome, [x.token for x in resource.leases], resource
        )
        self.check_ends(state, step, world, before.leases, resource.leases)
        if self.judging:
            self.check_offers(state, step, after)
            if isinstance(what, Acquire):
                self.check_answer(state, step, outcome)
        return after, outcome

    # --- what must hold of a step -----------------------------------------------------------------

    def check_tokens(self, state, step, last, outcome, tokens, resource) -> None:
        if resource.last_token < last:
            self.fail(state, step, f"the token went back from {last} to {resource.last_token}")
        if tokens != sorted(set(tokens)) or (tokens and tokens[-1] > resource.last_token):
            self.fail(state, step, f"tokens {tokens} under a counter of {resource.last_token}")
        if isinstance(outcome, Granted) and not outcome.renewed and outcome.lease.token != last + 1:
            self.fail(state, step, f"granted token {outcome.lease.token} after {last}")

    def check_ends(self, state, step, world, before, after) -> None:
        """A lease ends because its agent ends or replaces it, or because its time is over; it costs once."""
        _, what = step
        gone = {x.agent for x in before} - {x.agent for x in after if x.lease_id == lease_id(int(x.agent))}
        ended = {str(agent) for agent in what.leases} if isinstance(what, Ending) else {what.agent}
        if not gone <= ended or (isinstance(what, Ending) and gone != ended):
            self.fail(state, step, f"the leases of {sorted(gone)} ended, those of {sorted(ended)} may")
        paid = [event.agent for event in world.events if event.kind is Kind.EXPIRED and event.trust]
        due = sorted(ended) if isinstance(what, Ending) else []
        if sorted(paid) != due:
            self.fail(state, step, f"trust was taken from {sorted(paid)}, due from {due}")

    def check_offers(self, state, step, after) -> None:
        """Nobody comes between a waiter and what is on offer to it: it claims, leaves or lets it lapse."""
        number = step[0]
        for place in self.shapes[state[number]].queue:
            now = self.shapes[after[number]].waits(place.agent)
            if place.offer and now and not now.offer and now.shared == place.shared:
                self.fail(state, step, f"the offer to {place} was taken back")

    def check_answer(self, state, step, outcome) -> None:
        """Granted, refused as a deadlock or refused as held: which one, follows from the state alone."""
        number, ask = step
        agent, shared = int(ask.agent), ask.mode == mode_of(True)
        shapes = self.shapes_of(state)
        shape = shapes[number]
        held, place = shape.holds(agent), shape.waits(agent)
        if held is not None and (shared or not held):
            right: type = Granted
        else:
            if place and place.shared != shared:
                shape = shape._replace(queue=tuple(other for other in shape.queue if other is not place))
            blocking = blockers(shape, agent, shared)
            graph = edges((*shapes[:number], shape, *shapes[number + 1 :]))
            right = Deadlock if reaches(graph, blocking, agent) else Held if blocking else Granted
        if not isinstance(outcome, right):
            self.fail(state, step, f"answered {outcome}, not {right.__name__}")

    # --- what must hold of a state ----------------------------------------------------------------

    def check_state(self, state: State) -> None:
        shapes = self.shapes_of(state)
        graph = edges(shapes)
        for agent in graph:
            if reaches(graph, sorted(graph[agent]), agent):
                self.fail(state, None, f"a cycle: {graph}")
        for name, shape in zip(self.names, shapes, strict=True):
            if len(shape.holders) > 1 and not all(shared for _, shared in shape.holders):
                self.fail(state, None, f"{name} has conflicting holders")
            for agents in ([a for a, _ in shape.holders], [place.agent for place in shape.queue]):
                if len(agents) != len(set(agents)):
                    self.fail(state, None, f"{name} has an agent twice")
            for place in shape.queue:
                if bool(place.offer) == bool(blockers(shape, place.agent, place.shared)):
                    self.fail(
                        state, None, f"{name}: {place} is offered but not free, or free but not offered"
                    )
        self.check_drains(state)

    def check_drains(self, state: State) -> None:
        """Let whoever waits for nobody claim and release: in the end every waiter has been granted."""
        way: list[State] = []
        while state not in self.drained and any(self.shapes[number].queue for number in state):
            way.append(state)
            graph = edges(self.shapes_of(state))
            step = next(self._forward(state, graph), None)
            if step is None:
                self.fail(way[0], None, f"nobody can go on: {graph}")
            state, outcome = self.take(state, step)
            if isinstance(step[1], Acquire) and not isinstance(outcome, Granted):
                self.fail(way[0], step, f"claimed an offer and got {outcome}")
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
        way = [] if step is None else [str(step)]
        while (before := self.came.get(state)) is not None:
            way.append(str(self._step_between(before, state)))
            state = before
        raise Violation("\n".join([f"{self.world}: {words}", *reversed(way)]))

    def _step_between(self, before: State, after: State) -> Step | None:
        return next((step for step in self.steps(before) if self.take(before, step)[0] == after), None)


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
