"""`kill -9` of a server, or of its PostgreSQL, while many clients work.

`make prove` has the long runs.

Afterwards no acknowledged grant is lost: the holder of a lease that has not expired still has it, with the
same lease id and token. No lease is granted twice, and tokens do not go back. Once the clients have
stopped, every lease is free again within its time to live and five seconds.
"""

import http.client
import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from tests.server import ServerProcess

TTL_MS = 10_000
RESOURCES = [f"lock:{number}" for number in range(40)]
BASE = "/api/v1/acp/coordination"
ENV = {"INTRAMEDIAL_LEASE_TTL_MS": str(TTL_MS), "INTRAMEDIAL_LOG_LEVEL": "WARNING"}


@dataclass
class Grant:
    """A lease that its agent received. `released`: its agent asked to release it, with or without an
    answer."""

    resource: str
    agent: str
    lease_id: str
    token: int
    acquired_at: int
    expires_at: int
    released: bool = False


def instant(text: str) -> int:
    """RFC 3339 as milliseconds since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


class Caller:
    """One connection to the API, opened again when it is lost."""

    def __init__(self, server: ServerProcess) -> None:
        self.address = urlsplit(server.url)
        self.headers = {
            "authorization": f"Bearer {server.secrets['apiKey']}",
            "content-type": "application/json",
        }
        self.connection = http.client.HTTPConnection(
            self.address.hostname or "", self.address.port, timeout=15
        )

    def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, queue: bool = True
    ) -> tuple[int, Any]:
        """Status and body; raises OSError or HTTPException when there is no answer."""
        headers = self.headers | ({} if queue else {"prefer": "wait=0"})
        try:
            self.connection.request(method, BASE + path, json.dumps(body) if body else None, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self.connection.close()  # the next request opens it again
            raise


@dataclass
class Record:
    """All answers that the clients received, by lease id."""

    grants: dict[str, Grant] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, lease: dict[str, Any]) -> Grant:
        """Note the answer of a new lease, or of its renewal."""
        new = Grant(
            lease["resource"],
            lease["holder"],
            lease["leaseId"],
            lease["fencingToken"],
            instant(lease["acquiredAt"]),
            instant(lease["expiresAt"]),
        )
        with self.lock:
            grant = self.grants.setdefault(new.lease_id, new)
        if (grant.token, grant.acquired_at) != (new.token, new.acquired_at):
            self.changed.append(f"{grant} became {new}")
        grant.expires_at = new.expires_at
        return grant

    def unreleased(self) -> list[Grant]:
        return [grant for grant in self.grants.values() if not grant.released]


class Client(threading.Thread):
    """One agent that acquires, renews and releases as fast as it is answered."""

    def __init__(self, server: ServerProcess, agent: str, record: Record, stopping: threading.Event) -> None:
        super().__init__(daemon=True)
        self.caller = Caller(server)
        self.agent = agent
        self.record = record
        self.stopping = stopping
        self.mine: dict[str, Grant] = {}
        self.choose = random.Random(agent)

    def run(self) -> None:
        with closing(self.caller.connection):
            while not self.stopping.is_set():
                try:
                    self.step()
                except (OSError, http.client.HTTPException):
                    self.stopping.wait(0.05)

    def step(self) -> None:
        own = list(self.mine) if self.choose.random() < 0.5 else []
        resource = self.choose.choice(own or RESOURCES)
        grant = self.mine.get(resource)
        if grant is not None and self.choose.random() < 0.6:
            del self.mine[resource]
            # asking is enough: until the answer comes, the release may or may not have happened
            grant.released = True
            body = {"resource": resource, "actorDid": self.agent, "leaseId": grant.lease_id}
            self.caller.call("POST", "/release", body)
            return
        body = {"resource": resource, "actorDid": self.agent}
        status, answer = self.caller.call("POST", "/lease", body, queue=self.choose.random() < 0.1)
        if status == 200:
            self.mine[resource] = self.record.note(answer["lease"])


class Trial:
    """A server, its clients and their answers, over all rounds."""

    def __init__(self, server: ServerProcess, clients: int) -> None:
        self.server = server
        self.clients = clients
        self.record = Record()
        self.faults: list[str] = []
        self.held_after = 0
        self.caller = Caller(server)

    def round(self, kill: Callable[[], None], restart: Callable[[], None], work_s: float = 0.8) -> None:
        """Let the clients work, kill the server, restart it and check."""
        self.work(kill, work_s)
        restart()
        self.caller.connection.close()  # this connection was to the old server
        self.check_held()
        self.faults += self.record.changed
        self.faults += double_grants(self.record.grants.values())

    def work(self, kill: Callable[[], None], work_s: float = 0.8) -> None:
        """Let the clients work, and kill the server meanwhile."""
        stopping = threading.Event()
        clients = [
            Client(self.server, f"did:web:agent-{number}.example", self.record, stopping)
            for number in range(self.clients)
        ]
        for client in clients:
            client.start()
        time.sleep(work_s)
        kill()
        stopping.set()
        for client in clients:
            client.join(20)

    def check_held(self) -> None:
        """Every agent that received a lease that has not expired still has it, by the picture and by asking
        again."""
        caller = self.caller
        status, picture = caller.call("GET", "/wait")
        assert status == 200, picture
        now = instant(picture["serverTime"])
        tokens = {(held["resource"], held["holder"]): held["fencingToken"] for held in picture["holders"]}
        for grant in self.record.unreleased():
            if grant.expires_at > now:
                self.held_after += 1
                if tokens.get((grant.resource, grant.agent)) != grant.token:
                    self.faults.append(f"lost: {grant}")
        for grant in [grant for grant in self.record.unreleased() if grant.expires_at > now + 1_000][:5]:
            body = {"resource": grant.resource, "actorDid": grant.agent}
            status, answer = caller.call("POST", "/lease", body)
            lease = answer.get("lease", {})
            if (lease.get("leaseId"), lease.get("fencingToken")) != (grant.lease_id, grant.token):
                self.faults.append(f"another lease: {grant}, {answer}")
            else:
                self.record.note(lease)

    def check_free(self, ttl_ms: int = TTL_MS) -> None:
        """Without clients, everything is free in time."""
        deadline = time.monotonic() + ttl_ms / 1000 + 5
        while True:
            _, picture = self.caller.call("GET", "/wait")
            if not picture["holders"]:
                return
            if time.monotonic() > deadline:
                self.faults.append(f"not free: {picture['holders']}")
                return
            time.sleep(0.1)

    def close(self) -> None:
        self.caller.connection.close()

    def result(self) -> dict[str, Any]:
        return {
            "granted": len(self.record.grants),
            "heldAfterwards": self.held_after,
            "faults": self.faults,
        }


def double_grants(grants: Iterable[Grant]) -> Iterator[str]:
    """Tokens that were given twice or went back, and leases that began while another was held."""
    by_resource = defaultdict(list)
    for grant in grants:
        by_resource[grant.resource].append(grant)
    for of_one in by_resource.values():
        of_one.sort(key=lambda grant: (grant.token, grant.acquired_at))
        for before, after in pairwise(of_one):
            if after.token == before.token or after.acquired_at < before.acquired_at:
                yield f"a token twice, or back: {before}, {after}"
            elif not before.released and after.acquired_at < before.expires_at:
                yield f"held twice: {before}, {after}"


def back(cluster: Any, server: ServerProcess) -> None:
    """Start PostgreSQL again; the server reconnects by itself."""
    cluster.start()
    while not server.ready():
        time.sleep(0.05)
