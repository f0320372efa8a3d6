"""Measurements within the product, without a server, in a process of their own.

    python -m tests.bench.inside snapshot WORKSPACE    ms of the picture that a live board begins with
    python -m tests.bench.inside chain LENGTH          ms of the deadlock check alone, in memory
    python -m tests.bench.inside ledger SIZE …         entries/s appended at each size of the ledger

Prints one JSON document. The environment names the databases.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable

import django

from .figures import percentile

REPEAT_S = 1.0
LEAVES = 500  # as many as the outbox moves at once


def repeated_ms(action: Callable[[], object]) -> float:
    """The median time of an action that is repeated for a while, at least three times."""
    took: list[float] = []
    until = time.perf_counter() + REPEAT_S
    while len(took) < 3 or time.perf_counter() < until:
        begun = time.perf_counter()
        action()
        took.append((time.perf_counter() - begun) * 1000)
    return percentile(took, 0.5)


def snapshot(workspace: str) -> float:
    """ms of `current.snapshot`."""
    from coordination.authority import process
    from coordination.read import current

    process.current().clock = lambda: int(time.time() * 1000)
    with asyncio.Runner() as runner:
        took = repeated_ms(lambda: runner.run(current.snapshot(workspace)))
    process.current().stop()
    return took


def chain(length: int) -> float:
    """ms of deciding an acquire that would close a chain of that many waits, with the whole cycle in the
    outcome."""
    from coordination.core.decide import decide
    from coordination.core.messages import Acquire
    from coordination.core.model import Mode, Rules
    from coordination.core.world import World

    world = World(Rules())
    for number in range(length):
        decide(world, Acquire(f"r{number}", Mode.EXCLUSIVE, f"a{number}", f"lse_{number}"), 0)
    for number in range(length - 1):
        decide(world, Acquire(f"r{number + 1}", Mode.EXCLUSIVE, f"a{number}", f"lse_w{number}"), 0)
    ask = Acquire("r0", Mode.EXCLUSIVE, f"a{length - 1}", "lse_s")
    return repeated_ms(lambda: decide(world, ask, 0))


def ledger(sizes: list[int]) -> list[list[float]]:
    """For each size: entries/s of the last appends before it is reached, and bytes of the database for
    each entry."""
    from django.db import connections

    from intramedial.ledger import log

    jws = "x" * 1100  # as long as a receipt's
    measured, count = [], 0
    for size in sizes:
        rate = 0.0
        while count < size:
            begun = time.perf_counter()
            leaves = [(f"rcp_{n:024d}", "ws_filled", jws) for n in range(count, min(count + LEAVES, size))]
            log.append(leaves)
            count += len(leaves)
            rate = len(leaves) / (time.perf_counter() - begun)
        with connections["ledger"].cursor() as cursor:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            measured.append([size, rate, cursor.fetchone()[0] / size])
    return measured


def main(what: str, arguments: list[str]) -> None:
    """Measure one thing."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    django.setup()
    measure: dict[str, Callable[[], object]] = {
        "snapshot": lambda: snapshot(arguments[0]),
        "chain": lambda: chain(int(arguments[0])),
        "ledger": lambda: ledger([int(size) for size in arguments]),
    }
    print(json.dumps(measure[what]()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
