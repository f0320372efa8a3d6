"""Histories of calls recorded over HTTP, and whether each is linearizable.

`make prove` has the long runs.

Each history is about one new resource that a few agents acquire and release at once. The agents are spread
over the processes. Some calls are abandoned before their answer, and some leases are left to expire.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.server import ServerProcess
from tests.store.kill9 import BASE, Caller
from tests.store.linearizability import Answer, Call

TTL_MS = 1_000
AGENTS, CALLS = 4, 7
LEFT = 0.02  # share of calls that are abandoned
ONE_IN = 50  # of so many histories one has leases that expire
ENV = {"INTRAMEDIAL_LEASE_TTL_MS": str(TTL_MS), "INTRAMEDIAL_LOG_LEVEL": "WARNING"}
VERBS = {"acquire": "/lease", "release": "/release"}


class Recorder:
    """Agents that call at the same time, one history after the other. `dice` is seeded."""

    def __init__(self, servers: Sequence[ServerProcess], seed: int) -> None:
        self.callers = [Caller(servers[number % len(servers)]) for number in range(AGENTS)]
        self.seed = seed
        self.number = 0

    def record(self) -> list[Call]:
        """Record one history; its calls are in no order."""
        self.number += 1
        calls: list[Call] = []
        runs_out = self.number % ONE_IN == 1
        together = threading.Barrier(AGENTS)
        threads = [
            threading.Thread(target=self._calls, args=(agent, runs_out, together, calls))
            for agent in range(AGENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return calls

    def _calls(self, number: int, runs_out: bool, together: threading.Barrier, calls: list[Call]) -> None:
        dice = random.Random(f"{self.seed}/{self.number}/{number}")
        agent, kinds = f"did:example:{number}", ["acquire", "release"]
        together.wait()
        for at in range(CALLS):
            if runs_out and at == CALLS // 2:
                # Servers that are called over HTTP have the real clock, by which a lease must expire.
                time.sleep(TTL_MS / 1000 * dice.uniform(0.9, 1.1))
            kind = kinds[at % 2] if dice.random() < 0.7 else dice.choice(kinds)
            calls.append(self._call(self.callers[number], kind, agent, dice.random() < LEFT))

    def _call(self, caller: Caller, kind: str, agent: str, left: bool) -> Call:
        body = {"resource": f"lock:history/{self.seed}/{self.number}", "actorDid": agent}
        begun = now_ms()
        try:
            if left:
                headers = caller.headers | {"prefer": "wait=0"}
                caller.connection.request("POST", BASE + VERBS[kind], json.dumps(body), headers)
                caller.connection.close()
                return Call(kind, agent, begun)
            _, answer = caller.call("POST", VERBS[kind], body, queue=False)
        except (OSError, http.client.HTTPException):
            return Call(kind, agent, begun)
        return Call(kind, agent, begun, now_ms(), answer_of(answer))

    def close(self) -> None:
        for caller in self.callers:
            caller.connection.close()


def now_ms() -> float:
    return time.perf_counter_ns() / 1e6


def answer_of(body: dict[str, Any]) -> Answer:
    """What an answer says about the resource."""
    if (lease := body.get("lease")) is not None:
        return "renewed" if lease["renewed"] else "granted", lease["fencingToken"]
    if (released := body.get("released")) is not None:
        return "released", released["fencingToken"]
    return "held" if body["reason"] == "lease_held" else body["reason"], body.get("holder")


def flipped(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """The histories with one answer changed. Only for a history in which every call was answered: otherwise a
    call whose answer is unknown might explain the change."""
    if any(call.answer is None for call in calls):
        return
    for at, call in enumerate(calls):
        assert call.answer is not None
        what, detail = call.answer
        wrong: Answer | None = {
            "granted": ("granted", int(detail or 0) + 1) if what == "granted" else None,
            "released": ("not_held", None),
            "held": ("granted", 1_000),
        }.get(what)
        if wrong is not None:
            yield [*calls[:at], Call(call.kind, call.agent, call.begun, call.ended, wrong), *calls[at + 1 :]]


def show(calls: Sequence[Call]) -> str:
    """A history as text, in the order in which its calls began."""
    ordered = sorted(calls, key=lambda call: call.begun)
    first = ordered[0].begun
    return "\n".join(
        f"{call.begun - first:8.2f} {call.ended - first:8.2f} {call.agent} {call.kind} {call.answer}"
        for call in ordered
    )
