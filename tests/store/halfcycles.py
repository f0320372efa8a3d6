"""Several processes, each closing its part of a cycle of waits in the same moment.

    python -m tests.store.halfcycles 1000

Each round: agents 1 … n hold one resource each; then each asks for the next one's, all at once, through two
processes on one PostgreSQL. Exactly one of them must be refused as a deadlock, and the others wait. Processes
are real ones (`multiprocessing`), each with a connection of its own; a barrier lets them go together.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

PROCESSES = 2
CYCLES = (2, 3, 5)
RELEASE = "release"

Ask = tuple[str, ...]  # workspace, agent, resource, and perhaps RELEASE


def work(url: str, number: int, together: Barrier, pipe: Connection) -> None:
    """One process: decides the asks it is sent, each in a transaction of its own. With RELEASE, what is
    granted is released again."""
    from psycopg.conninfo import conninfo_to_dict

    from coordination.core.decide import decide
    from coordination.core.messages import Acquire, Granted, Release
    from coordination.core.model import Mode, Rules
    from coordination.storage.engines.postgres.engine import PostgresEngine
    from coordination.storage.store import Needs, Store

    engine = PostgresEngine(conninfo_to_dict(url))
    store = Store(engine, Rules(), f"process-{number}", outage_after_ms=None, remember=True)
    numbers = count()
    while (asks := pipe.recv()) is not None:
        heard = []
        together.wait(30)
        for workspace, agent, resource, *release in asks:
            need = Needs({resource}, {agent}, {resource: {agent}})
            command = Acquire(resource, Mode.EXCLUSIVE, agent, f"lse_{number}_{next(numbers)}")
            with store.transaction({workspace: need}) as transaction:
                outcome = decide(transaction.worlds[workspace], command, transaction.now)
            heard.append((type(outcome).__name__, getattr(getattr(outcome, "lease", None), "token", 0)))
            if release and isinstance(outcome, Granted):
                with store.transaction({workspace: need}) as transaction:
                    decide(transaction.worlds[workspace], Release(resource, agent), transaction.now)
        pipe.send(heard)
    engine.close()


class Processes:
    """Two processes that decide at the same time."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        together = self._together = context.Barrier(PROCESSES)
        pairs = [context.Pipe() for _ in range(PROCESSES)]
        self._pipes = [ours for ours, _ in pairs]
        self._processes = [
            context.Process(target=work, args=(url, number, together, theirs), daemon=True)
            for number, (_, theirs) in enumerate(pairs)
        ]
        for process in self._processes:
            process.start()

    def decide(self, *asks: Iterable[Ask]) -> list[list[tuple[str, int]]]:
        """What each of them answered to its asks: (kind of outcome, token)."""
        for pipe, mine in zip(self._pipes, asks, strict=True):
            pipe.send(list(mine))
        heard = []
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            while not pipe.poll(1):
                assert process.is_alive(), "a process ended"
            heard.append(pipe.recv())
        return heard

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(10)


def close_cycle(processes: Processes, workspace: str, length: int) -> Counter[str]:
    """One round; how many asks of the closing step were answered how."""
    agents = [f"did:{number}" for number in range(length)]
    processes.decide([(workspace, agent, f"lock:{agent}") for agent in agents], [])
    wanted = [
        (workspace, agent, f"lock:{agents[(number + 1) % length]}") for number, agent in enumerate(agents)
    ]
    heard = processes.decide(wanted[::2], wanted[1::2])
    return Counter(kind for answers in heard for kind, _ in answers)


def faults(processes: Processes, rounds: int) -> list[str]:
    """Rounds in which not exactly one was refused."""
    found = []
    for number in range(rounds):
        length = CYCLES[number % len(CYCLES)]
        heard = close_cycle(processes, f"ws_{number}", length)
        if heard != {"Deadlock": 1, "Held": length - 1}:
            found.append(f"round {number}, a cycle of {length}: {dict(heard)}")
    return found


def contend(processes: Processes, workspace: str, rounds: int) -> list[int]:
    """Both ask for one resource again and again, and release it; all tokens that were granted."""
    asks = [[(workspace, agent, "lock:a", RELEASE)] * rounds for agent in ("did:one", "did:two")]
    heard = processes.decide(*asks)
    return [token for answers in heard for kind, token in answers if kind == "Granted"]


def contend_to_hold(processes: Processes, workspace: str, rounds: int) -> list[int]:
    """Both ask for the same resources in the same order; how many of each round's were granted."""
    heard = [
        processes.decide(*([(workspace, agent, f"lock:{number}")] for agent in ("did:one", "did:two")))
        for number in range(rounds)
    ]
    return [sum(kind == "Granted" for answers in one for kind, _ in answers) for one in heard]


def main() -> int:
    """Run the rounds on a PostgreSQL of its own; prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    rounds = parser.parse_args().rounds
    from tests.store.authorities import private_postgres

    with private_postgres() as url:
        processes = Processes(url)
        found = faults(processes, rounds)
        processes.end()
    print(json.dumps({"rounds": rounds, "faults": found}))
    return 1 if found else 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    os.environ.setdefault("INTRAMEDIAL_DATA_DIR", tempfile.mkdtemp(prefix="intramedial-halfcycles-"))
    import django

    django.setup()
    sys.exit(main())
