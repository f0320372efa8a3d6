"""Several processes, each of which closes its part of a cycle of waits at the same moment.

`make prove` has the long runs.

In each round, agents 1 … n hold one resource each. Then each agent asks for the next agent's resource, all
at once, through two processes on one PostgreSQL. Exactly one must be refused as a deadlock, and the others
wait. The processes are real (`multiprocessing`), each with its own connection; a barrier starts them
together.
"""

import multiprocessing
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
    """One process: decides the asks that it is sent, each in its own transaction. With RELEASE, a granted
    lease is released again."""
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
        outcomes = []
        together.wait(30)
        for workspace, agent, resource, *release in asks:
            need = Needs({resource}, {agent}, {resource: {agent}})
            command = Acquire(resource, Mode.EXCLUSIVE, agent, f"lse_{number}_{next(numbers)}")
            with store.transaction({workspace: need}) as transaction:
                outcome = decide(transaction.worlds[workspace], command, transaction.now)
            outcomes.append((type(outcome).__name__, getattr(getattr(outcome, "lease", None), "token", 0)))
            if release and isinstance(outcome, Granted):
                with store.transaction({workspace: need}) as transaction:
                    decide(transaction.worlds[workspace], Release(resource, agent), transaction.now)
        pipe.send(outcomes)
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
        """Let each process decide its asks; returns for each process (kind of outcome, token) of its asks."""
        for pipe, mine in zip(self._pipes, asks, strict=True):
            pipe.send(list(mine))
        outcomes = []
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            while not pipe.poll(1):
                assert process.is_alive(), "a process ended"
            outcomes.append(pipe.recv())
        return outcomes

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(10)


def close_cycle(processes: Processes, workspace: str, length: int) -> Counter[str]:
    """One round; returns how often each kind of outcome occurred in the closing step."""
    agents = [f"did:{number}" for number in range(length)]
    processes.decide([(workspace, agent, f"lock:{agent}") for agent in agents], [])
    wanted = [
        (workspace, agent, f"lock:{agents[(number + 1) % length]}") for number, agent in enumerate(agents)
    ]
    outcomes = processes.decide(wanted[::2], wanted[1::2])
    return Counter(kind for answers in outcomes for kind, _ in answers)


def faults(processes: Processes, rounds: int) -> list[str]:
    """Rounds in which not exactly one ask was refused."""
    found = []
    for number in range(rounds):
        length = CYCLES[number % len(CYCLES)]
        outcomes = close_cycle(processes, f"ws_{number}", length)
        if outcomes != {"Deadlock": 1, "Held": length - 1}:
            found.append(f"round {number}, a cycle of {length}: {dict(outcomes)}")
    return found


def contend(processes: Processes, workspace: str, rounds: int) -> list[int]:
    """Both processes ask for one resource again and again, and release it; returns all granted tokens."""
    asks = [[(workspace, agent, "lock:a", RELEASE)] * rounds for agent in ("did:one", "did:two")]
    outcomes = processes.decide(*asks)
    return [token for answers in outcomes for kind, token in answers if kind == "Granted"]


def contend_to_hold(processes: Processes, workspace: str, rounds: int) -> list[int]:
    """Both processes ask for the same resources in the same order; returns how many asks of each round were
    granted."""
    outcomes = [
        processes.decide(*([(workspace, agent, f"lock:{number}")] for agent in ("did:one", "did:two")))
        for number in range(rounds)
    ]
    return [sum(kind == "Granted" for answers in one for kind, _ in answers) for one in outcomes]
