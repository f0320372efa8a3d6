"""What a workspace is made of: frozen values, and the `World` that a decision works on."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from .messages import Event


class Mode(StrEnum):
    """How a lease is held. Two modes conflict unless both are shared."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"

    def conflicts(self, other: Mode) -> bool:
        return self is Mode.EXCLUSIVE or other is Mode.EXCLUSIVE

    def covers(self, other: Mode) -> bool:
        """Whether a lease in this mode already gives all that `other` asks for."""
        return self is Mode.EXCLUSIVE or other is Mode.SHARED


@dataclass(frozen=True, slots=True)
class Rules:
    """The constants of the authority; durations in milliseconds, trust in exact decimals with one place."""

    lease_ttl_ms: int = 30_000
    stampede_base_ms: int = 25
    stampede_cap_ms: int = 800
    queue_limit: int = 8
    offer_ms: int = 2_000
    wait_ttl_ms: int = 35_000
    trust_start: Decimal = Decimal("50.0")
    trust_release: Decimal = Decimal("0.5")
    trust_expiry: Decimal = Decimal("-5.0")

    def wait_ms(self, ahead: int) -> int:
        """The back-off told to a caller with `ahead` waits in front of it: min(cap, base · 2^ahead)."""
        return min(self.stampede_cap_ms, self.stampede_base_ms << min(ahead, 62))


@dataclass(frozen=True, slots=True)
class Lease:
    lease_id: str
    agent: str
    mode: Mode
    token: int
    acquired_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Wait:
    """A place in a queue. `asked_at` is when its agent last asked; `offered_at` when its offer began."""

    agent: str
    mode: Mode
    since: int
    asked_at: int
    offered_at: int | None = None

    def ends_at(self, rules: Rules) -> int:
        """An offer replaces the wait's own end: under offer, a wait does not run out."""
        if self.offered_at is not None:
            return self.offered_at + rules.offer_ms
        return self.asked_at + rules.wait_ttl_ms


@dataclass(frozen=True, slots=True)
class Refusal:
    """A deadlock refusal, remembered for the list of deadlocks. It adds no edge to the graph."""

    agent: str
    mode: Mode
    holder: str
    at: int


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: its token counter, its holders in grant order, its queue in order, its refusals."""

    name: str
    last_token: int = 0
    leases: tuple[Lease, ...] = ()
    queue: tuple[Wait, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def active(self) -> bool:
        """Held or waited for."""
        return bool(self.leases or self.queue)

    def lease_of(self, agent: str) -> Lease | None:
        for lease in self.leases:
            if lease.agent == agent:
                return lease
        return None

    def wait_of(self, agent: str) -> Wait | None:
        for wait in self.queue:
            if wait.agent == agent:
                return wait
        return None

    def next_change(self, rules: Rules) -> int | None:
        """The earliest instant at which time alone changes this resource; None when nothing will."""
        if not (self.queue or self.refusals):
            return min((lease.expires_at for lease in self.leases), default=None)
        ends = [lease.expires_at for lease in self.leases]
        ends += [wait.ends_at(rules) for wait in self.queue]
        ends += [refusal.at + rules.wait_ttl_ms for refusal in self.refusals]
        return min(ends)


@dataclass(frozen=True, slots=True)
class Agent:
    """What conduct has made of an agent. Known once it has acquired or waited."""

    did: str
    trust: Decimal
    releases: int = 0
    expiries: int = 0


@dataclass(frozen=True, slots=True)
class Outage:
    """A time when no process of the authority ran: after `since`, up to and including `until`."""

    since: int
    until: int

    def covers(self, instant: int) -> bool:
        return self.since < instant <= self.until


@dataclass(slots=True)
class World:
    """The part of one workspace that a decision needs; the only mutable thing in the core.

    Changes go through `put` and `put_agent`, which keep the index of waits, the count of active resources
    and the events in step. `token_floor` is where the counter of an unknown resource starts.
    """

    rules: Rules
    resources: dict[str, Resource] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()
    active: int = 0
    active_limit: int | None = None
    token_floor: int = 0
    events: list[Event] = field(default_factory=list)
    waiting: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Rules, resources: Iterable[Resource] = (), agents: Iterable[Agent] = ()) -> World:
        """A world of these parts, with its indexes made."""
        world = cls(rules, agents={agent.did: agent for agent in agents})
        for resource in resources:
            world.put(resource)
        return world

    def resource(self, name: str) -> Resource:
        found = self.resources.get(name)
        return found if found is not None else Resource(name, last_token=self.token_floor)

    def load(self, resource: Resource) -> None:
        """Take in a resource as it was remembered: `active` counts it already."""
        self.resources[resource.name] = resource
        if resource.queue:
            self._index(resource.name, (), resource.queue)

    def put(self, resource: Resource) -> None:
        """A resource as a decision leaves it."""
        before = self.resources.get(resource.name)
        self.resources[resource.name] = resource
        self.active += resource.active - (before is not None and before.active)
        old_queue = before.queue if before is not None else ()
        if old_queue is not resource.queue:
            self._index(resource.name, old_queue, resource.queue)

    def _index(self, name: str, old: tuple[Wait, ...], new: tuple[Wait, ...]) -> None:
        for wait in old:
            names = self.waiting.get(wait.agent)
            if names is not None:
                names.discard(name)
        for wait in new:
            self.waiting.setdefault(wait.agent, set()).add(name)

    def waits_of(self, agent: str) -> list[tuple[Resource, Wait]]:
        """All that `agent` waits for, the oldest wait first."""
        names = self.waiting.get(agent)
        if not names:
            return []
        pairs = list(self._waits(agent, names))
        if len(pairs) > 1:
            pairs.sort(key=lambda pair: (pair[1].since, pair[0].name))
        return pairs

    def _waits(self, agent: str, names: Iterable[str]) -> Iterator[tuple[Resource, Wait]]:
        for name in names:
            resource = self.resources[name]
            wait = resource.wait_of(agent)
            if wait is not None:
                yield resource, wait

    def know(self, did: str) -> Agent:
        """The agent, made known with the starting trust if it was not."""
        agent = self.agents.get(did)
        if agent is None:
            agent = self.agents[did] = Agent(did, self.rules.trust_start)
        return agent


READ_SAFE_CLASSES = frozenset({"doc", "file", "data", "config"})
_SUFFIXES = {"read": Mode.SHARED, "write": Mode.EXCLUSIVE, "delete": Mode.EXCLUSIVE}
MAX_NAME = 256
# Characters that make a name look like another one: bidi controls and what has no width.
_DECEPTIVE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufeff\uffa0"
)


def normal_name(text: str) -> str:
    """A resource's name as asked for, in NFC. Raises ValueError with words for one that is refused."""
    if text.isascii():
        if not text.isprintable():
            raise ValueError("must not contain control characters")
    else:
        text = unicodedata.normalize("NFC", text)
        for char in text:
            if char in _DECEPTIVE or "\ufff9" <= char <= "\ufffb":
                raise ValueError("must not contain bidirectional or zero-width characters")
            if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or "\U000e0000" <= char <= "\U000e0fff":
                raise ValueError("must not contain control or surrogate characters")
    if not 1 <= len(text) <= MAX_NAME:
        raise ValueError(f"must have 1 to {MAX_NAME} characters")
    if text != text.strip():
        raise ValueError("must not begin or end with white space")
    return text


def parse_resource(text: str, classes: Mapping[str, str] | None = None) -> tuple[str, Mode]:
    """The base name and the mode that a requested name asks for.

    `class:name#read` is shared when the class is read-safe, else exclusive; `#write`, `#delete` and no suffix
    are exclusive. `classes` is the workspace's own table, `{class: "shared" | "exclusive"}`, before the
    defaults. Raises ValueError with words for a name that is refused.
    """
    name = normal_name(text)
    base, mark, suffix = name.partition("#")
    if not mark:
        return name, Mode.EXCLUSIVE
    if "#" in suffix or not base or suffix not in _SUFFIXES:
        raise ValueError(
            "may end in #read, #write or #delete after a name; write %23 for a # that belongs to the name"
        )
    if base != base.strip():
        raise ValueError("must not have white space before #")
    return base, _SUFFIXES[suffix] if _read_safe(base, classes) else Mode.EXCLUSIVE


def _read_safe(base: str, classes: Mapping[str, str] | None) -> bool:
    prefix, colon, _ = base.partition(":")
    if not colon:
        return False
    own = classes.get(prefix) if classes else None
    return own == Mode.SHARED if own is not None else prefix in READ_SAFE_CLASSES
