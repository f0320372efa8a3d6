"""What must hold of every step and of every state of a small world. A broken law is described in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coordination.core.messages import Acquire, Command, Deadlock, Granted, Held, Kind, Outcome
from coordination.core.model import Resource
from coordination.core.world import World

from .shapes import Ending, Shape, blockers, edges, lease_id, mode_of, reaches


@dataclass(frozen=True)
class Taken:
    """One step: what happened to one resource of a world. `outcome` is None where only time passed."""

    shapes: tuple[Shape, ...]  # before, of all resources
    number: int  # of the resource
    what: Command | Ending
    outcome: Outcome | None
    world: World  # after
    before: Resource
    after: Resource
    became: Shape

    def broken(self, judging: bool) -> Iterator[str]:
        """`judging`: also check the answer and the offers against the rule."""
        yield from self._tokens()
        yield from self._ends()
        if judging:
            yield from self._offers()
            if isinstance(self.what, Acquire):
                yield from self._answer(self.what)

    def _tokens(self) -> Iterator[str]:
        last, tokens = self.before.last_token, [lease.token for lease in self.after.leases]
        if self.after.last_token < last:
            yield f"the token went back from {last} to {self.after.last_token}"
        if tokens != sorted(set(tokens)) or (tokens and tokens[-1] > self.after.last_token):
            yield f"tokens {tokens} under a counter of {self.after.last_token}"
        granted = isinstance(self.outcome, Granted) and not self.outcome.renewed
        if granted and self.outcome.lease.token != last + 1:
            yield f"granted token {self.outcome.lease.token} after {last}"

    def _ends(self) -> Iterator[str]:
        """A lease ends because its agent ends or replaces it, or because it expires; an expiry costs trust
        once."""
        kept = {x.agent for x in self.after.leases if x.lease_id == lease_id(int(x.agent))}
        gone = {x.agent for x in self.before.leases} - kept
        paid = [e.agent for e in self.world.events if e.kind is Kind.EXPIRED and e.trust]
        if isinstance(self.what, Ending):
            due = {str(agent) for agent in self.what.leases}
            if gone != due:
                yield f"the leases of {sorted(gone)} ended, those of {sorted(due)} were due"
        else:
            due = set()
            if not gone <= {self.what.agent}:
                yield f"the leases of {sorted(gone)} ended by what {self.what.agent} did"
        if sorted(paid) != sorted(due):
            yield f"trust was taken from {sorted(paid)}, due from {sorted(due)}"

    def _offers(self) -> Iterator[str]:
        """No agent comes between a waiter and its offer: the waiter claims, withdraws or lets the offer
        lapse."""
        for place in self.shapes[self.number].queue:
            now = self.became.waits(place.agent)
            if place.offer and now and not now.offer and now.shared == place.shared:
                yield f"the offer to {place} was taken back"

    def _answer(self, ask: Acquire) -> Iterator[str]:
        """Granted, refused as a deadlock or refused as held: the state alone decides which."""
        agent, shared = int(ask.agent), ask.mode == mode_of(True)
        shape = self.shapes[self.number]
        held, place = shape.holds(agent), shape.waits(agent)
        if held is not None and (shared or not held):
            right: type = Granted
        else:
            if place and place.shared != shared:
                shape = shape._replace(queue=tuple(other for other in shape.queue if other is not place))
            shapes = (*self.shapes[: self.number], shape, *self.shapes[self.number + 1 :])
            blocking = blockers(shape, agent, shared)
            right = Deadlock if reaches(edges(shapes), blocking, agent) else Held if blocking else Granted
        if not isinstance(self.outcome, right):
            yield f"answered {self.outcome}, not {right.__name__}"


def broken_by(shapes: tuple[Shape, ...]) -> Iterator[str]:
    """The laws that a state with these shapes breaks."""
    graph = edges(shapes)
    for agent in graph:
        if reaches(graph, sorted(graph[agent]), agent):
            yield f"a cycle: {graph}"
    for number, shape in enumerate(shapes):
        if len(shape.holders) > 1 and not all(shared for _, shared in shape.holders):
            yield f"r{number} has conflicting holders"
        for agents in ([agent for agent, _ in shape.holders], [place.agent for place in shape.queue]):
            if len(agents) != len(set(agents)):
                yield f"r{number} has an agent twice"
        for place in shape.queue:
            if bool(place.offer) == bool(blockers(shape, place.agent, place.shared)):
                yield f"r{number}: {place} is offered but not free, or free but not offered"
