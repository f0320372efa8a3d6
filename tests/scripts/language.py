"""Scripts: what several agents do, and when, in a form that every engine can run.

A script is text, one step a line: the instant in milliseconds (absolute, or `+n` after the step before), the
agent, the verb, the resource, and what else the verb takes. Empty lines and `# remarks` are left out.

    0      A acquire lock:a           # exclusive; `lock:a shared` asks for shared
    +0     B acquire lock:a nowait    # not admitted to the queue when refused
    5000   A release lock:a           # no lease id; `id=1` gives the id of the lease granted in step 1
    +0     B withdraw lock:a
    +0     A revoke lock:a id=1       # its lease is revoked; no trust moves
    +0     B acquire lock:a -> lease_held position=1 holder=A     # the expected result; see `unmet`

Steps count from 1. A lease granted in step n has the id `lse_n`: the same script, the same ids everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from itertools import groupby, pairwise
from typing import Any, Protocol

from coordination.core.decide import decide
from coordination.core.messages import Acquire, Command, Outcome, Release, Revoke, Withdraw
from coordination.core.model import Mode, Resource, Rules
from coordination.core.settle import settle
from coordination.core.waitgraph import deadlocks
from coordination.core.world import World

VERBS = ("acquire", "release", "withdraw", "revoke")


@dataclass(frozen=True, slots=True)
class Step:
    """`granted_in`: the step whose lease id is given (0: an id that no lease ever had), or None for no id."""

    at_ms: int
    agent: str
    verb: str
    resource: str
    mode: Mode = Mode.EXCLUSIVE
    queue: bool = True
    granted_in: int | None = None
    expected: tuple[str, ...] = ()

    def line(self) -> str:
        words = [str(self.at_ms), self.agent, self.verb, self.resource]
        if self.verb == "acquire":
            words += ["shared"] * (self.mode is Mode.SHARED) + ["nowait"] * (not self.queue)
        if self.granted_in is not None:
            words.append(f"id={self.granted_in}")
        return " ".join(words)

    def command(self, number: int, suffix: str = "") -> Command:
        given = None if self.granted_in is None else f"lse_{self.granted_in}{suffix}"
        match self.verb:
            case "acquire":
                return Acquire(self.resource, self.mode, self.agent, f"lse_{number}{suffix}", self.queue)
            case "release":
                return Release(self.resource, self.agent, given)
            case "withdraw":
                return Withdraw(self.resource, self.agent)
            case "revoke" if given is not None:
                return Revoke(self.resource, given)
        raise ValueError(f"no such step: {self.line()}")


@dataclass(frozen=True, slots=True)
class Script:
    """Steps in time order. `name` says where the script comes from: a rule's name, or the seed that made
    it."""

    name: str
    steps: tuple[Step, ...]
    rules: Rules = field(default_factory=Rules)

    def __str__(self) -> str:
        return "\n".join([f"# {self.name}", *(step.line() for step in self.steps)])


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a script: a plain outcome for each step, the events, the picture at the last instant."""

    outcomes: tuple[dict[str, Any], ...]
    events: tuple[dict[str, Any], ...]
    picture: dict[str, Any]


class Engine(Protocol):
    """Runs scripts: the bare core, or a store. Up to `batch` steps of one instant are taken together."""

    def run(self, script: Script, batch: int = 1) -> Result: ...


# --- reading --------------------------------------------------------------------------------------


def parse(name: str, text: str, rules: Rules | None = None) -> Script:
    """The script that `text` describes. Raises ValueError with the line that cannot be parsed."""
    steps: list[Step] = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            cut = words.index("->") if "->" in words else len(words)
            step = _step(words[:cut], steps[-1].at_ms if steps else 0)
            steps.append(replace(step, expected=tuple(words[cut + 1 :])))
    if any(later.at_ms < earlier.at_ms for earlier, later in pairwise(steps)):
        raise ValueError(f"{name}: time goes backwards")
    return Script(name, tuple(steps), rules or Rules())


def _step(words: list[str], before_ms: int) -> Step:
    when, agent, verb, resource, *extra = words
    at_ms = before_ms + int(when) if when.startswith("+") else int(when)
    step = Step(at_ms, agent, verb, resource)
    for word in extra:
        match word.split("="):
            case ["shared"]:
                step = replace(step, mode=Mode.SHARED)
            case ["nowait"]:
                step = replace(step, queue=False)
            case ["id", number]:
                step = replace(step, granted_in=int(number))
            case _:
                raise ValueError(f"cannot read {word!r} in {' '.join(words)!r}")
    if verb not in VERBS:
        raise ValueError(f"cannot read {verb!r} in {' '.join(words)!r}")
    return step


def batches(script: Script, size: int, suffix: str = "") -> Iterator[tuple[int, list[Command]]]:
    """The commands as they reach an engine: those of one instant together, at most `size` at once.
    `suffix` is appended to every lease id, for scripts that share a database: `@…`."""
    numbered = enumerate(script.steps, start=1)
    for at_ms, group in groupby(numbered, key=lambda pair: pair[1].at_ms):
        commands = [step.command(number, suffix) for number, step in group]
        for start in range(0, len(commands), size):
            yield at_ms, commands[start : start + size]


# --- plain values ---------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Dataclasses, enumerations and decimals as values that compare and print the same from every engine.
    Of a lease id, the part before `@`."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__, **plain(asdict(value))}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return str(value)
    return value.partition("@")[0] if isinstance(value, str) else value


def picture(world: World) -> dict[str, Any]:
    """Everything in a settled world: resources that are or were used, agents, deadlock pairs."""
    return {
        "resources": {name: plain(r) for name, r in sorted(world.resources.items()) if r != Resource(name)},
        "agents": {did: plain(agent) for did, agent in sorted(world.agents.items())},
        "deadlocks": plain(deadlocks(world)),
        "active": world.active,
    }


def unmet(step: Step, outcome: dict[str, Any]) -> list[str]:
    """The expectations of a step that its outcome does not meet."""
    known = {**outcome, **outcome.get("lease", {})}
    return [word for word in step.expected if not _is_met(word, known)]


def _is_met(word: str, known: dict[str, Any]) -> bool:
    key, equals, value = word.partition("=")
    if equals:
        return str(known[key]) == value
    match key:
        case "granted" | "renewed":
            return known["is"] == "Granted" and known["renewed"] == (key == "renewed")
        case "withdrawn" | "ended":
            return known["is"] == key.capitalize() and bool(known[key])
        case "nothing":
            return known["is"] in ("Withdrawn", "Ended") and not known.get("withdrawn", known.get("ended"))
        case "lease_held" | "deadlock" | "stale_lease" | "not_held":
            return bool(known.get("reason") == key)
        case "released":
            return bool(known["is"] == "Released")
    raise ValueError(f"cannot expect {word!r}")


# --- the bare core --------------------------------------------------------------------------------


class BareCore:
    """The rules alone, on a world in memory."""

    def run(self, script: Script, batch: int = 1) -> Result:
        world = World.of(script.rules)
        outcomes = [outcome for _, _, outcome in play(world, script, batch)]
        return Result(
            tuple(plain(outcome) for outcome in outcomes),
            tuple(plain(event) for event in world.events),
            picture(world),
        )


def play(world: World, script: Script, batch: int = 1) -> Iterable[tuple[int, Command, Outcome]]:
    """Take each batch in turn: settle once, then decide its commands in order."""
    for now, commands in batches(script, batch):
        settle(world, now)
        for command in commands:
            yield now, command, decide(world, command, now)


def run_bare(script: Script) -> Result:
    """The result that every other engine must equal."""
    return BareCore().run(script)
