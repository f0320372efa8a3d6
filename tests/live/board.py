"""A board that applies the documented messages, as a page or a program does."""

from typing import Any

Json = dict[str, Any]
Key = tuple[str, str]


class Board:
    """`holders` and `queues` by (resource, agent). The order of `queues` is the order of each queue."""

    def __init__(self) -> None:
        self.seq = 0
        self.holders: dict[Key, Json] = {}
        self.queues: dict[Key, Json] = {}
        self.deadlocks: list[Json] = []
        self.trust: dict[str, float] = {}

    def apply(self, message: Json) -> None:
        """Apply one message. A gap in the numbers is a failure: the server leaves no gap."""
        assert message["seq"] == self.seq + 1
        self.seq = message["seq"]
        if message["type"] == "snapshot":
            self.holders = {(held["resource"], held["holder"]): held for held in message["holders"]}
            self.queues = {(wait["resource"], wait["actorDid"]): dict(wait) for wait in message["queue"]}
            self.trust = {did: trust["score"] for did, trust in message["trust"].items()}
        else:
            for event in message["events"]:
                self._apply_event(event)
        self.deadlocks = message.get("deadlocks", self.deadlocks)

    def _apply_event(self, event: Json) -> None:
        key = (event["resource"], event["actorDid"])
        match event["event"]:
            case "granted" | "renewed":
                shown = ("resource", "mode", "acquiredAt", "expiresAt", "fencingToken")
                self.holders[key] = {"holder": key[1]} | {name: event[name] for name in shown}
                if event["event"] == "granted":
                    self.queues.pop(key, None)
                    self._end_offers(event)
            case "released" | "expired":
                self.holders.pop(key, None)
            case "queued":
                self.queues.setdefault(key, {"mode": event["mode"], "since": event["at"]})
            case "withdrawn" | "lapsed":
                self.queues.pop(key, None)
            case "offered" if key in self.queues:
                self.queues[key]["offeredUntil"] = event["until"]
        if "trust" in event:
            self.trust[key[1]] = event["trust"]["score"]

    def _end_offers(self, granted: Json) -> None:
        for (resource, _), wait in self.queues.items():
            if resource == granted["resource"] and "exclusive" in (granted["mode"], wait["mode"]):
                wait.pop("offeredUntil", None)

    def queue(self) -> list[Json]:
        """The waits as `GET wait` returns them: by resource, each queue in order, with places."""
        shown: list[Json] = []
        for resource in sorted({resource for resource, _ in self.queues}):
            places = [(agent, wait) for (named, agent), wait in self.queues.items() if named == resource]
            for place, (agent, wait) in enumerate(places):
                shown.append(
                    {"resource": resource, "actorDid": agent, "mode": wait["mode"], "since": wait["since"]}
                    | {"position": place + 1, "waitMs": min(800, 25 * 2**place)}
                    | {name: wait[name] for name in ("offeredUntil",) if name in wait}
                )
        return shown
