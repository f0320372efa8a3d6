"""The admin's pages and the records of a workspace, over a million leases and ten million receipts.

    python -m tests.bench.admin sqlite
    python -m tests.bench.admin postgresql --receipts 1000000

Fills a private database by SQL, then requests each page in this process, as a browser would: once, and
five more times for the median. Half of all rows are in one workspace. Prints a table and keeps nothing.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from .lab import Lab

AGAIN = 5
AT_ONCE = 1_000_000
BIG = "ws_" + "big".ljust(22, "0")
START = int(time.time() * 1000)
LASTS = 3_600_000
# Half in one workspace, the rest in others with a thousand rows each.
WORKSPACE = f"CASE WHEN i % 2 = 0 THEN '{BIG}' ELSE 'ws_' || (i / 2000) END"


class Sizes(NamedTuple):
    """Numbers of rows."""

    leases: int
    receipts: int


def numbers(vendor: str, last: int, first: int = 1) -> str:
    """The numbers from `first` to `last`, as a table `n` with the column `i`."""
    if vendor == "postgresql":
        return f"(SELECT generate_series({first}, {last}) AS i) AS n"
    rows = f"WITH RECURSIVE c (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM c WHERE i < {last})"
    return f"({rows} SELECT i FROM c) AS n"


def did(vendor: str, number: str) -> str:
    """The DID of a number."""
    if vendor == "postgresql":
        return f"'did:web:agents.example:' || lpad(({number})::text, 33, '0')"
    return f"'did:web:agents.example:' || printf('%033d', {number})"


def name(vendor: str, beginning: str, number: str = "i") -> str:
    """A name for a number; all have the same length and sort by number, like ids."""
    if vendor == "postgresql":
        return f"'{beginning}' || lpad(({number})::text, 8, '0')"
    return f"'{beginning}' || printf('%08d', {number})"


def fillings(vendor: str, sizes: Sizes, jws: str) -> Iterator[tuple[str, str]]:
    """(alias, statement): the statements that fill each table."""
    held, waits, moves = sizes.leases, sizes.leases // 5, sizes.leases * 2
    whole, agent, now = name(vendor, "lock:filled/"), did(vendor, "i"), "'2026-11-29 12:00:00+00:00'"
    yield (
        "leases",
        (
            "INSERT INTO lease_resource (workspace, name, last_token, due_at, contended, used_at)"
            f" SELECT {WORKSPACE}, {whole}, 1, {START + LASTS} + i, {_true(vendor, 'i % 5 = 0')}, {START}"
            f" FROM {numbers(vendor, held)}"
        ),
    )
    yield (
        "leases",
        (
            "INSERT INTO lease_lease"
            " (workspace, resource, lease_id, agent, mode, token, acquired_at, expires_at)"
            f" SELECT {WORKSPACE}, {whole}, {name(vendor, 'lse_')}, {agent}, 'exclusive', 1, {START},"
            f" {START + LASTS} + i FROM {numbers(vendor, held)}"
        ),
    )
    yield (
        "leases",
        "INSERT INTO lease_tenant (workspace, active, token_floor, stamp)"
        f" SELECT 'ws_of_' || i, 1, 0, 1 FROM {numbers(vendor, held)}",
    )
    for table, columns, values in (
        ("lease_wait", "since, asked_at", f"{START}, {START}"),
        ("lease_refusal", "holder, at", f"{agent}, {START}"),
    ):
        yield (
            "leases",
            (
                f"INSERT INTO {table} (workspace, resource, agent, mode, {columns})"
                f" SELECT {WORKSPACE}, {whole}, {did(vendor, 'i + 1')}, 'exclusive', {values}"
                f" FROM {numbers(vendor, waits)}"
            ),
        )
    yield (
        "leases",
        (
            "INSERT INTO lease_agent (workspace, did, score, releases, expiries, moved_by)"
            f" SELECT {WORKSPACE}, {agent}, 500, 0, 0,"
            f" CASE WHEN i < 1000 THEN {name(vendor, 'lse_old', f'{moves - 1000} + i')} END"
            f" FROM {numbers(vendor, held)}"
        ),
    )
    yield (
        "leases",
        (
            "INSERT INTO lease_trust_move (workspace, agent, lease_id, delta, score, at, before)"
            f" SELECT {WORKSPACE}, {did(vendor, 'i % 1000')}, {name(vendor, 'lse_old')}, 5, 500, {START} + i,"
            f" {name(vendor, 'lse_old', 'i - 1000')} FROM {numbers(vendor, moves)}"
        ),
    )
    for first in range(1, sizes.receipts + 1, AT_ONCE):
        some = numbers(vendor, min(first + AT_ONCE - 1, sizes.receipts), first)
        yield (
            "ledger",
            'INSERT INTO ledger_entry ("index", receipt_id, workspace, leaf, appended_at)'
            f" SELECT i - 1, {name(vendor, 'rcp_')}, {WORKSPACE}, '{jws}', {now} FROM {some}",
        )
    yield (
        "default",
        (
            "INSERT INTO audit_entry (at, workspace, actor, action, target, detail, address)"
            f" SELECT {now}, {WORKSPACE}, i % 100, 'test.filled', 'x', '{{}}', '127.0.0.1'"
            f" FROM {numbers(vendor, sizes.leases)}"
        ),
    )


def _true(vendor: str, condition: str) -> str:
    return condition if vendor == "postgresql" else f"CASE WHEN {condition} THEN 1 ELSE 0 END"


def fill(vendor: str, sizes: Sizes) -> None:
    """Fill everything, and let the database analyse it."""
    from django.db import connections

    for alias, statement in fillings(vendor, sizes, _jws()):
        began = time.perf_counter()
        with connections[alias].cursor() as cursor:
            if vendor == "sqlite":
                cursor.execute("PRAGMA synchronous=OFF")
            cursor.execute(statement)
            print(f"{statement.split()[2]}: {cursor.rowcount} rows in {time.perf_counter() - began:.0f} s")
    for alias in ("default", "leases", "ledger"):
        with connections[alias].cursor() as cursor:
            cursor.execute("ANALYZE")


def _jws() -> str:
    """A typical receipt."""
    import orjson

    from coordination.pages.module import fields, samples
    from intramedial.receipts import signing

    answer = samples.one_lock()[0].answer
    return signing.current().sign(orjson.dumps(fields.example_claims(answer)))


def pages(vendor: str, sizes: Sizes) -> Iterator[tuple[str, str]]:
    """(name, address) of each page."""
    from django.contrib import admin
    from django.urls import reverse

    from intramedial.web.admin_search import IndexedAdmin

    big = sizes.leases // 2 * 2
    agent = f"did:web:agents.example:{big:033d}"
    given = {"workspace": BIG, "agent": agent, "resource": f"lock:filled/{big:08d}"}
    given |= {"receipt_id": f"rcp_{sizes.receipts:08d}", "lease_id": "lse_00000007"}
    yield "admin", reverse("admin:index")
    for model, found in admin.site._registry.items():
        if not isinstance(found, IndexedAdmin):
            continue
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        yield f"{model._meta.db_table}", address
        yield f"{model._meta.db_table}, page 20", f"{address}?p=20"
        for way in found.ways:
            query = " ".join(given[kind] for kind in way.given)
            yield f"{model._meta.db_table}: {way}", f"{address}?{urlencode({'q': query})}"
    lease = {"espacio": BIG, "recurso": given["resource"], "agente": agent}
    yield "end a lease", f"{reverse('admin:coordination_leaserow_end')}?{urlencode(lease)}"
    for page in ("agents", "receipts", "usage"):
        yield f"records: {page}", reverse(page, args=[BIG])
    moved = urlencode({"did": f"did:web:agents.example:{100:033d}"})
    yield "records: agent", f"{reverse('agent', args=[BIG])}?{moved}"
    yield "records: receipts found by agent", f"{reverse('receipts', args=[BIG])}?agente={agent}"
    yield "records: receipt", reverse("receipt", args=[BIG, f"rcp_{sizes.receipts // 2 * 2:08d}"])


def measure(vendor: str, sizes: Sizes) -> None:
    """Request each page, and print how long it took."""
    from intramedial.workspaces.models import Workspace
    from tests.people import client_of, member, person

    user = person(is_staff=True, is_superuser=True)
    member(Workspace.objects.create(name="big", public_id=BIG), user=user)
    client = client_of(user)
    print(f"\n{'page':<58}{'first':>9}{'median':>9}")
    slowest: list[float] = []
    for title, address in pages(vendor, sizes):
        times = []
        for _ in range(1 + AGAIN):
            began = time.perf_counter()
            answer = client.get(address)
            times.append((time.perf_counter() - began) * 1000)
            assert answer.status_code == 200, (address, answer.status_code)
        slowest.append(statistics.median(times[1:]))
        print(f"{title:<58}{times[0]:>6.0f} ms{slowest[-1]:>6.0f} ms", flush=True)
    print(f"\nslowest median: {max(slowest):.0f} ms, median of medians: {statistics.median(slowest):.0f} ms")


def main(arguments: Any) -> None:
    """Fill, measure, delete."""
    with Lab() as lab:
        data_dir = lab.place("admin")
        data_dir.mkdir()
        os.environ["INTRAMEDIAL_DATA_DIR"] = str(data_dir)
        os.environ["DJANGO_SETTINGS_MODULE"] = "intramedial.settings"
        os.environ["INTRAMEDIAL_ALLOWED_HOSTS"] = "testserver"
        os.environ["INTRAMEDIAL_LOG_LEVEL"] = "ERROR"
        os.environ["INTRAMEDIAL_LEASE_TTL_MS"] = os.environ["INTRAMEDIAL_WAIT_TTL_MS"] = str(LASTS)
        os.environ["DATABASE_URL"] = ""
        if arguments.vendor == "postgresql":
            os.environ["DATABASE_URL"] = lab.postgres.url(lab.postgres.create_database())
        import django

        django.setup()
        from django.core.management import call_command

        from coordination.authority import process as authority
        from intramedial import databases

        for alias in databases.distinct_aliases():
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        sizes = Sizes(arguments.leases, arguments.receipts)
        fill(arguments.vendor, sizes)
        authority.current().start()
        try:
            measure(arguments.vendor, sizes)
        finally:
            authority.current().stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vendor", choices=["sqlite", "postgresql"])
    parser.add_argument("--leases", type=int, default=1_000_000)
    parser.add_argument("--receipts", type=int, default=10_000_000)
    sys.exit(main(parser.parse_args()))
