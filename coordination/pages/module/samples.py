"""The four situations played through the core, so that every sample on a page is what would be answered.

Time stands still at an instant of the samples' own; ids are readable; the rules are those of the settings.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from coordination.authority import process as authority
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Command, Outcome, Release
from coordination.core.model import Mode, Resource
from coordination.core.names import parse_resource
from coordination.core.picture import deadlocks
from coordination.core.settle import settle
from coordination.core.world import World
from coordination.pages.module import gists
from coordination.wire import serialize
from intramedial.web.pretty_json import pretty

PREFIX = "/api/v1/acp/"

ANA, BEA, CAI = (f"did:web:agents.example:{name}" for name in ("ana", "bea", "cai"))
LETTERS = {ANA: "A", BEA: "B", CAI: "C"}
LOCK = "lock:deploy/production"
FIRST, SECOND = "lock:db/schema", "lock:deploy/staging"
FILE = "file:reports/2026-01.csv"
MANUAL = "doc:handbook"
# The drawing on the page begins with the staff that has this number.
TOKEN = 7
CROWD = 50


def _identifier(number: int) -> str:
    """As the service draws them, but always the same ones."""
    return hashlib.sha256(f"sample {number}".encode()).hexdigest()[:24]


# Its bytes would fill the page; what it says is told beside it.
RECEIPT = {"id": f"rcp_{_identifier(0)}", "kid": "…", "jws": "eyJhbGciOiJFZERTQSIs…"}
START = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp() * 1000)
# Between two requests of a sample; shorter where an operator has made leases or offers very short.
MOMENT_MS = 400

Json = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """A request and what is answered. `opens`: the operation of Lanzar that does the same, None for none.

    `members` are the request's own (body or query), `agent` the letter of who asks, `at` when: milliseconds
    since the sample's beginning.
    """

    method: str
    path: str
    members: Json
    agent: str
    status: int
    answer: Json
    opens: str | None
    at: int

    @property
    def line(self) -> str:
        """The request line: method and target."""
        query = "" if self.method == "POST" else urlencode(self.members, safe=":/", quote_via=quote)
        return f"{self.method} {PREFIX}{self.path}{'?' if query else ''}{query}"

    @property
    def body(self) -> str:
        """The request's body as text; empty where it has none."""
        return pretty(self.members) if self.method == "POST" else ""

    @property
    def text(self) -> str:
        """The answer as text. Its receipt is folded: what it says is told beside the samples."""
        text = pretty(self.answer)
        return f'{text[:-2]},\n  "receipt": {{ … }}\n}}' if self.method == "POST" else text

    @property
    def outcome(self) -> str:
        """The reason of a refusal, else nothing."""
        return str(self.answer.get("reason", ""))

    @property
    def resource(self) -> str:
        """The resource asked for, where the request line does not say it."""
        return str(self.members["resource"]) if self.method == "POST" else ""

    @property
    def gist(self) -> str:
        """What the answer comes to, in a few words."""
        return gists.of(self.answer)

    @property
    def launch(self) -> str:
        """What opens it in Lanzar, as JSON; empty where nothing does."""
        if self.opens is None:
            return ""
        return json.dumps({"operation": self.opens, "members": self.members, "agent": self.agent})


class Stage:
    """A workspace of its own, with a clock that samples set."""

    def __init__(self, **tokens: int) -> None:
        self.rules = authority.rules()
        names = {"lock": LOCK, "file": FILE}
        resources = [Resource(names[name], last_token=last) for name, last in tokens.items()]
        self.world = World.of(self.rules, resources)
        self.now = START
        self._moment = min(MOMENT_MS, self.rules.lease_ttl_ms // 10, self.rules.offer_ms // 2)
        self._leases = 0

    @property
    def at(self) -> int:
        """Milliseconds since the beginning."""
        return self.now - START

    def wait(self, ms: int = 0) -> None:
        """Let time pass: so many milliseconds and a moment."""
        self.now += ms + self._moment

    def do(self, command: Command) -> Outcome:
        """Decide a command now."""
        settle(self.world, self.now)
        return decide(self.world, command, self.now)

    def ask(self, agent: str, resource: str) -> Sample:
        """`POST lease`."""
        self._leases += 1
        name, mode = parse_resource(resource)
        lease_id = f"lse_{_identifier(self._leases)}"
        return self._post("lease", Acquire(name, mode, agent, lease_id), resource, agent)

    def release(self, agent: str, resource: str, lease_id: str | None = None) -> Sample:
        """`POST release`."""
        return self._post("release", Release(resource, agent, lease_id), resource, agent, lease_id)

    def _post(
        self, name: str, command: Command, resource: str, agent: str, lease_id: str | None = None
    ) -> Sample:
        outcome = self.do(command)
        answer = serialize.body(command.resource, outcome, self.rules)
        members = {"resource": resource, "actorDid": agent} | ({"leaseId": lease_id} if lease_id else {})
        status = 200 if answer["ok"] else 409
        return Sample(
            "POST", f"coordination/{name}", members, LETTERS.get(agent, ""), status, answer, name, self.at
        )

    def look(self, agent: str, resource: str | None = None) -> Sample:
        """`GET wait`."""
        settle(self.world, self.now)
        shown = [r for name, r in sorted(self.world.resources.items()) if resource in (None, name)]
        answer = {
            "ok": True,
            "serverTime": serialize.instant(self.now),
            "holders": [serialize.holder(r, lease) for r in shown for lease in r.leases],
            "queue": [serialize.waiter(r, w, n, self.rules) for r in shown for n, w in enumerate(r.queue)],
            "deadlocks": [serialize.deadlock(pair) for pair in deadlocks(self.world)],
        }
        members = {"resource": resource} if resource else {}
        return Sample("GET", "coordination/wait", members, LETTERS[agent], 200, answer, "wait", self.at)

    def agent(self, did: str) -> Sample:
        """`GET agents`."""
        settle(self.world, self.now)
        known = self.world.agents[did]
        named = self.world.resources.values()
        trust = {"score": float(known.trust), "releases": known.releases, "expiries": known.expiries}
        answer = {
            "did": did,
            "trust": trust,
            "holds": [serialize.holder(r, lease) for r in named for lease in r.leases if lease.agent == did],
            "waits": [
                serialize.waiter(r, w, n, self.rules)
                for r in named
                for n, w in enumerate(r.queue)
                if w.agent == did
            ],
        }
        return Sample("GET", "agents", {"did": did}, LETTERS[did], 200, answer, None, self.at)


def one_lock() -> list[Sample]:
    """Two agents, one lock: granted, refused, released, granted to the other with a higher token."""
    stage = Stage(lock=TOKEN - 1)
    steps = [stage.ask(ANA, LOCK)]
    stage.wait()
    steps.append(stage.ask(BEA, LOCK))
    stage.wait()
    steps.append(stage.release(ANA, LOCK))
    stage.wait()
    return [*steps, stage.ask(BEA, LOCK)]


def crashed_holder() -> list[Sample]:
    """A holder that falls silent: its lease runs out, its trust falls, the next is granted; it comes late."""
    stage = Stage(lock=TOKEN - 1)
    lost = stage.ask(ANA, LOCK)
    stage.wait()
    waiting = stage.ask(BEA, LOCK)
    stage.wait(stage.rules.lease_ttl_ms)
    after = [stage.look(BEA, LOCK), stage.agent(ANA), stage.ask(BEA, LOCK)]
    stage.wait()
    return [lost, waiting, *after, stage.release(ANA, LOCK, lost.answer["lease"]["leaseId"])]


def broken_deadlock() -> list[Sample]:
    """Each has what the other wants: the second to ask is refused, with the cycle."""
    stage = Stage()
    steps = [stage.ask(ANA, FIRST), stage.ask(BEA, SECOND)]
    stage.wait()
    steps.append(stage.ask(ANA, SECOND))
    stage.wait()
    return [*steps, stage.ask(BEA, FIRST), stage.look(BEA)]


@dataclass(frozen=True)
class Stampede:
    """What `CROWD` agents hear that ask for one file at once: one answer each."""

    grants: int
    places: list[tuple[int, int]]
    others: int
    others_wait_ms: int
    first: Sample


def stampede() -> Stampede:
    """Fifty agents ask for one file at once. `places` are (position, waitMs) of those in the queue."""
    stage = Stage()
    agents = [f"did:web:agents.example:agent-{number:02d}" for number in range(1, CROWD + 1)]
    answers = [stage.ask(agent, FILE) for agent in agents]
    held = [sample for sample in answers if not sample.answer["ok"]]
    queued = [sample for sample in held if sample.answer["queued"]]
    others = [sample for sample in held if not sample.answer["queued"]]
    return Stampede(
        grants=len(answers) - len(held),
        places=[(s.answer["position"], s.answer["stampede"]["waitMs"]) for s in queued],
        others=len(others),
        others_wait_ms=stage.rules.wait_ms(len(queued)),
        first=queued[0],
    )


def shared_reads() -> list[Sample]:
    """Two that read at once, and one that wants to write."""
    stage = Stage()
    steps = [stage.ask(ANA, f"{MANUAL}#read"), stage.ask(BEA, f"{MANUAL}#read")]
    stage.wait()
    return [*steps, stage.ask(CAI, MANUAL)]


def refusals() -> dict[str, Sample]:
    """One answer for each reason a lease or a release is refused for, by reason."""
    stage = Stage(lock=TOKEN - 1)
    stage.ask(ANA, LOCK)
    stage.wait()
    held = stage.ask(BEA, LOCK)
    stale = stage.release(ANA, LOCK, "lse_" + "f" * 24)
    found = [held, stale, stage.release(BEA, LOCK), broken_deadlock()[-2]]
    return {sample.answer["reason"]: sample for sample in found}


def modes(classes: Iterable[str]) -> list[tuple[str, Mode, Mode, Mode]]:
    """The mode that each suffix asks for, by class: (class, #read, #write, #delete)."""

    def mode(name: str, suffix: str) -> Mode:
        return parse_resource(f"{name}:x#{suffix}")[1]

    return [(name, mode(name, "read"), mode(name, "write"), mode(name, "delete")) for name in classes]
