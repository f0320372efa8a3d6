"""The long runs: `make prove`, or `python -m tests.prove [--minutes N] [--seed N] [PART …]`.

`make test` runs a short slice of each part; here each part runs to its target. With `--minutes` the parts
share that time, and each part ends when its share is over. Each part prints its counts, its target and its
seed. The first fault ends the program with exit code 1, and the same seed finds the fault again.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

Counts = Generator[int, None, None]
"""How much a part has done since the last value. The generator may be closed after any value."""


class Part(NamedTuple):
    """`run` takes the seed. `target` is how many of `unit` the part runs."""

    run: Callable[[int], Counts]
    target: int
    unit: str


def model(seed: int) -> Counts:
    """Every state of small worlds. It does not depend on the seed."""
    from tests.core.explore import FULL, Explorer

    for world in FULL:
        yield Explorer(world).run().states


def walks(seed: int) -> Counts:
    """Random histories in the core. Each step is compared with the reference."""
    from tests.core.test_against_reference import walk

    while True:
        walk(seed, 1_000)
        seed += 1
        yield 1_000


def stored(kind: str) -> Callable[[int], Counts]:
    """Random histories through a store. After each step the store is compared with the core."""

    def run(seed: int) -> Counts:
        from tests.store.test_machine import StoreMachine

        dice = random.Random(seed)
        with database(kind) as found, closing(found.engine()) as engine:
            while True:
                machine = StoreMachine(engine, remember=dice.random() < 0.5)
                machine.begin()
                leases = [("w", "A", "lse_0")]
                for _ in range(100):
                    step(machine, dice, leases)
                yield 100

    return run


def step(machine: Any, dice: random.Random, leases: list[tuple[str, str, str]]) -> None:
    """One random step of `tests.store.test_machine`."""
    from coordination.core.model import Mode

    lease = dice.choice(leases[-12:])
    chosen = dice.random()
    if chosen < 0.6:
        mode = Mode.SHARED if dice.random() < 1 / 3 else Mode.EXCLUSIVE
        agent, resource = dice.choice("ABCDE"), dice.choice("wxyz")
        leases.append(machine.acquire(agent=agent, resource=resource, mode=mode, queue=dice.random() < 0.75))
    elif chosen < 0.75:
        machine.release(lease=lease, with_id=dice.random() < 0.5)
    elif chosen < 0.79:
        machine.release_as_another(lease=lease, agent=dice.choice("ABCDE"))
    elif chosen < 0.83:
        machine.withdraw(lease=lease)
    elif chosen < 0.87:
        machine.revoke(lease=lease)
    elif chosen < 0.94:
        machine.let_time_pass(span=dice.randint(1, 15))
    elif chosen < 0.97:
        machine.let_time_pass_and_the_alarm_look(
            span=dice.randint(1, 30), parts=dice.randint(1, 4), limit=dice.randint(1, 2)
        )
    else:
        machine.go_away(span=dice.randint(1, 30))


def scripts(seed: int) -> Counts:
    """The same scripts through the bare core, SQLite and PostgreSQL."""
    from tests.scripts.generate import CHORUS, generate
    from tests.store.test_engines import StoreEngine, assert_alike

    with ExitStack() as stack:
        engines = []
        for kind in ("sqlite", "postgresql"):
            engine = stack.enter_context(closing(stack.enter_context(database(kind)).engine()))
            engines.append(StoreEngine(engine, remember=True))
        while True:
            chorus = [generate(number) for number in range(seed, seed + CHORUS)]
            for engine in engines:
                assert_alike(engine, chorus, random.Random(seed).choice([1, 256]))
            seed += CHORUS
            yield CHORUS


def histories(kind: str, processes: int) -> Callable[[int], Counts]:
    """Histories recorded over HTTP are linearizable."""

    def run(seed: int) -> Counts:
        from tests.server import ServerProcess
        from tests.store.histories import ENV, TTL_MS, Recorder, show
        from tests.store.linearizability import is_linearizable

        with served(kind, ENV) as (first, _), ExitStack() as stack:
            servers = [first]
            for _ in range(processes - 1):
                servers.append(ServerProcess(first.data_dir, {**first.env, "PORT": "0"}))
                stack.callback(servers[-1].kill)
                servers[-1].start()
            recorder = stack.enter_context(closing(Recorder(servers, seed)))
            while True:
                calls = recorder.record()
                assert is_linearizable(calls, TTL_MS), show(calls)
                yield 1

    return run


def kills(kind: str, killed: str) -> Callable[[int], Counts]:
    """`kill -9` of a server, or of its PostgreSQL, with 32 clients. The seed does not fix the instants."""

    def run(seed: int) -> Counts:
        from tests.store.kill9 import ENV, Trial, back

        with served(kind, ENV) as (server, cluster), closing(Trial(server, 32)) as trial:
            while True:
                if killed == "server":
                    trial.round(server.kill, lambda: server.start() and None)
                else:
                    trial.round(lambda: cluster.stop(signal.SIGQUIT), lambda: back(cluster, server))
                assert trial.faults == []
                yield 1

    return run


def half_cycles(seed: int) -> Counts:
    """Two processes close a cycle of 2, 3 or 5 agents at one instant. Exactly one request is refused."""
    from tests.store import halfcycles
    from tests.store.authorities import private_postgres

    with private_postgres() as url:
        processes = halfcycles.Processes(url)
        try:
            number = 0
            while True:
                length = halfcycles.CYCLES[number % len(halfcycles.CYCLES)]
                answered = halfcycles.close_cycle(processes, f"ws_{number}", length)
                assert answered == {"Deadlock": 1, "Held": length - 1}, (length, answered)
                number += 1
                yield 1
        finally:
            processes.end()


PARTS = {
    "model": Part(model, 1_000_000, "states"),
    "walks": Part(walks, 10_000_000, "steps in the core"),
    "stored-sqlite": Part(stored("sqlite"), 1_000_000, "steps on SQLite"),
    "stored-postgresql": Part(stored("postgresql"), 1_000_000, "steps on PostgreSQL"),
    "scripts": Part(scripts, 10_000, "scripts through core, SQLite and PostgreSQL"),
    "histories-sqlite": Part(histories("sqlite", 1), 10_000, "histories of one process on SQLite"),
    "histories-postgresql": Part(
        histories("postgresql", 3), 10_000, "histories of three processes on PostgreSQL"
    ),
    "half-cycles": Part(half_cycles, 3_000, "cycles closed by two processes at once"),
    "kills-sqlite": Part(kills("sqlite", "server"), 200, "kills of a server on SQLite"),
    "kills-postgresql": Part(kills("postgresql", "server"), 200, "kills of a server on PostgreSQL"),
    "kills-of-postgresql": Part(kills("postgresql", "postgresql"), 50, "kills of PostgreSQL"),
}


@contextmanager
def database(kind: str) -> Iterator[Any]:
    """A `Database` of `tests.store`, with the authority's tables."""
    from intramedial import databases
    from tests.store.authorities import (
        PostgresDatabase,
        SqliteDatabase,
        migrate,
        private_directory,
        private_postgres,
    )

    if kind == "postgresql":
        with private_postgres() as url:
            yield PostgresDatabase(url)
    else:
        with private_directory() as directory:
            path = directory / "leases.sqlite3"
            migrate(databases.sqlite_database(path))
            yield SqliteDatabase(path)


@contextmanager
def served(kind: str, env: dict[str, str]) -> Iterator[tuple[Any, Any]]:
    """A server, and the durable cluster if it uses one."""
    from tests.server import ServerProcess, bootstrap
    from tests.services import Postgres
    from tests.store.authorities import private_directory

    cluster = Postgres(durable=True)
    with private_directory() as directory:
        try:
            if kind == "postgresql":
                env = {**env, "DATABASE_URL": cluster.start().url(cluster.create_database())}
            server = ServerProcess(bootstrap(directory, env), env)
            try:
                yield server.start(), cluster
            finally:
                server.kill()
        finally:
            cluster.remove()


def prove(name: str, part: Part, seed: int, until: float) -> bool:
    """Run one part to its target or until an instant of the monotonic clock, and print a line; returns
    whether the part found no fault."""
    began, done, fault = time.monotonic(), 0, ""
    counts = part.run(seed)
    try:
        for count in counts:
            done += count
            if done >= part.target or time.monotonic() >= until:
                break
    except AssertionError as error:
        fault = str(error)
    finally:
        counts.close()
    figures = {"part": name, "done": done, "target": part.target, "of": part.unit, "seed": seed}
    print(
        json.dumps(figures | {"seconds": round(time.monotonic() - began), "faults": int(bool(fault))}),
        flush=True,
    )
    if fault:
        print(fault, file=sys.stderr)
    return not fault


def main() -> int:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(prog="make prove", description="The long runs of the tests.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default all: {' '.join(PARTS)}")
    parser.add_argument("--minutes", type=float, help="how long in all; by default until every target is met")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {' '.join(sorted(unknown))}")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    with tempfile.TemporaryDirectory(prefix="intramedial-prove-") as directory:
        os.environ["INTRAMEDIAL_DATA_DIR"] = str(Path(directory, "own"))
        os.environ["INTRAMEDIAL_LOG_LEVEL"] = "WARNING"
        Path(directory, "own").mkdir(mode=0o700)
        import django

        django.setup()
        from django.core.management import call_command

        from intramedial import databases

        for alias in databases.distinct_aliases():
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        names = given.parts or list(PARTS)
        end = None if given.minutes is None else time.monotonic() + given.minutes * 60
        for number, name in enumerate(names):
            now = time.monotonic()
            until = float("inf") if end is None else now + (end - now) / (len(names) - number)
            if not prove(name, PARTS[name], given.seed, until):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
