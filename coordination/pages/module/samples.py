"""The samples of the page: situations played through the core, so that each answer is one of the service.

Their clock is their own and their ids are always the same; the rules are those of the settings.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from urllib.parse import quote, urlencode

from django.utils.translation import gettext as _

from coordination.authority import process as authority
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Command, Outcome, Release
from coordination.core.model import Mode, Resource
from coordination.core.names import parse_resource
from coordination.core.settle import settle
from coordination.core.waitgraph import deadlocks
from coordination.core.world import World
from coordination.wire import serialize
from intramedial.http.formats import Json, rfc3339_of_ms
from intramedial.web import amounts
from intramedial.web.pretty_json import pretty

PREFIX = "/api/v1/acp/"

ANA, BEA, CAI = (f"did:web:agents.example:{name}" for name in ("ana", "bea", "cai"))
LETTERS = {ANA: "A", BEA: "B", CAI: "C"}
LOCK = "lock:deploy/production"
FIRST, SECOND = "lock:db/schema", "lock:deploy/staging"
FILE = "file:reports/2026-01.csv"
MANUAL = "doc:handbook"
# The drawing on the page begins with this fencing token.
TOKEN = 7
CROWD = 50


def _identifier(number: int) -> str:
    """The random part of an id, in the form of the service's, but always the same."""
    return hashlib.sha256(f"sample {number}".encode()).hexdigest()[:24]


# Shortened: a whole receipt would fill the page, and the page explains it elsewhere.
RECEIPT = {"id": f"rcp_{_identifier(0)}", "kid": "…", "jws": "eyJhbGciOiJFZERTQSIs…"}
START = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp() * 1000)
# The time between two requests of a sample; shorter where the settings make leases or offers very short.
MOMENT_MS = 400


@dataclass(frozen=True)
class Sample:
    """A request and its answer. `opens`: the operation of Lanzar that sends the same request, or None.

    `members` are those of the body or the query, `agent` is the letter of the agent, `at` the milliseconds
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
        """The request's body as text; empty without one."""
        return pretty(self.members) if self.method == "POST" else ""

    @property
    def text(self) -> str:
        """The answer as text. Its receipt is left out: the page explains it elsewhere."""
        text = pretty(self.answer)
        return f'{text[:-2]},\n  "receipt": {{ … }}\n}}' if self.method == "POST" else text

    @property
    def outcome(self) -> str:
        """The reason of a refusal; empty for other answers."""
        return str(self.answer.get("reason", ""))

    @property
    def resource(self) -> str:
        """The resource of the request; empty when the request line shows it."""
        return str(self.members["resource"]) if self.method == "POST" else ""

    @property
    def gist(self) -> str:
        """The answer in a few words."""
        return gist(self.answer)

    @property
    def launch(self) -> str:
        """What opens the request in Lanzar, as JSON; empty when nothing does."""
        if self.opens is None:
            return ""
        return json.dumps({"operation": self.opens, "members": self.members, "agent": self.agent})


class Stage:
    """A workspace for one situation, with a clock that the situation sets."""

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
        """Let `ms` milliseconds and a moment pass."""
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
            "serverTime": rfc3339_of_ms(self.now),
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
    """A holder crashes: its lease expires, its trust falls, the next is granted; its release comes too
    late."""
    stage = Stage(lock=TOKEN - 1)
    lost = stage.ask(ANA, LOCK)
    stage.wait()
    waiting = stage.ask(BEA, LOCK)
    stage.wait(stage.rules.lease_ttl_ms)
    after = [stage.look(BEA, LOCK), stage.agent(ANA), stage.ask(BEA, LOCK)]
    stage.wait()
    return [lost, waiting, *after, stage.release(ANA, LOCK, lost.answer["lease"]["leaseId"])]


def broken_deadlock() -> list[Sample]:
    """Each of two agents has what the other wants: the second request is refused, with the cycle."""
    stage = Stage()
    steps = [stage.ask(ANA, FIRST), stage.ask(BEA, SECOND)]
    stage.wait()
    steps.append(stage.ask(ANA, SECOND))
    stage.wait()
    return [*steps, stage.ask(BEA, FIRST), stage.look(BEA)]


@dataclass(frozen=True)
class StampedeSample:
    """The answers to `CROWD` agents that acquire one file at once."""

    grants: int
    places: list[tuple[int, int]]
    others: int
    others_wait_ms: int
    first: Sample


def stampede() -> StampedeSample:
    """Fifty agents acquire one file at once. `places` has (position, waitMs) of those in the queue."""
    stage = Stage()
    agents = [f"did:web:agents.example:agent-{number:02d}" for number in range(1, CROWD + 1)]
    answers = [stage.ask(agent, FILE) for agent in agents]
    held = [sample for sample in answers if not sample.answer["ok"]]
    queued = [sample for sample in held if sample.answer["queued"]]
    others = [sample for sample in held if not sample.answer["queued"]]
    return StampedeSample(
        grants=len(answers) - len(held),
        places=[(s.answer["position"], s.answer["stampede"]["waitMs"]) for s in queued],
        others=len(others),
        others_wait_ms=stage.rules.wait_ms(len(queued)),
        first=queued[0],
    )


def shared_reads() -> list[Sample]:
    """Two agents that read at once, and one that wants to write."""
    stage = Stage()
    steps = [stage.ask(ANA, f"{MANUAL}#read"), stage.ask(BEA, f"{MANUAL}#read")]
    stage.wait()
    return [*steps, stage.ask(CAI, MANUAL)]


def refusals() -> dict[str, Sample]:
    """One answer for each reason of a refused lease or release, by reason."""
    stage = Stage(lock=TOKEN - 1)
    stage.ask(ANA, LOCK)
    stage.wait()
    held = stage.ask(BEA, LOCK)
    stale = stage.release(ANA, LOCK, "lse_" + "f" * 24)
    found = [held, stale, stage.release(BEA, LOCK), broken_deadlock()[-2]]
    return {sample.answer["reason"]: sample for sample in found}


def modes(classes: Iterable[str]) -> list[tuple[str, Mode, Mode, Mode]]:
    """The mode of each suffix, by class: (class, #read, #write, #delete)."""

    def mode(name: str, suffix: str) -> Mode:
        return parse_resource(f"{name}:x#{suffix}")[1]

    return [(name, mode(name, "read"), mode(name, "write"), mode(name, "delete")) for name in classes]


def gist(answer: Json) -> str:
    """An answer of the API in a few words of the active language; empty for an answer without any."""
    reason = answer.get("reason")
    if lease := answer.get("lease"):
        return _("testigo %(token)s") % {"token": lease["fencingToken"]}
    if reason == "lease_held":
        return _gist_of_held(answer)
    if reason == "deadlock":
        return _("un círculo de %(count)s") % {"count": len(answer["cycle"])}
    if reason:
        return _("no cambia nada")
    if trust := answer.get("trust"):
        return _("confianza %(score)s") % {"score": amounts.number(Decimal(str(trust["score"])))}
    if "queue" in answer:
        counts = {name: len(answer[name]) for name in ("holders", "queue", "deadlocks")}
        return _("titulares: %(holders)s · en espera: %(queue)s · interbloqueos: %(deadlocks)s") % counts
    return ""


def _gist_of_held(answer: Json) -> str:
    wait = amounts.duration(answer["stampede"]["waitMs"])
    if not answer["queued"]:
        return _("sin puesto, vuelve en %(wait)s") % {"wait": wait}
    return _("puesto %(place)s, vuelve en %(wait)s") % {"place": answer["position"], "wait": wait}
