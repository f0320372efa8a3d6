"""No page of the admin, nor of a workspace's records, looks at rows without a bound.

Every statement that a page makes is explained by the database. A statement that counts, or goes through a
table, must be bounded; what it is asked for, and the order, must be an index's. Held on the plan alone, which
is the same on every machine and with every number of rows.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.contrib import admin
from django.db import connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from coordination.models import TrustMoveRow
from coordination.read import history
from intramedial.ledger import entries
from intramedial.web.admin_search import SHOWN, IndexedAdmin
from tests.people import client_of, person

ALIASES = ("leases", "ledger", "default")
LARGE = {model: found for model, found in admin.site._registry.items() if isinstance(found, IndexedAdmin)}
CASES = [
    (model, way) for model, found in LARGE.items() for way in (None, *found.ways)
]  # None: the list that is not searched
GIVEN = {kind: text.replace("…", "x") for kind, text in SHOWN.items()} | {"agent": "did:example:x"}
READS = re.compile(r"\s*(?:SELECT|WITH)\b")
TABLES = re.compile(r'FROM "?((?:lease|ledger|audit)_\w+)"?')

INDEX = re.compile(r"Index (?:Only )?Scan (?:Backward )?using (\w+)")


@contextmanager
def told() -> Iterator[list[tuple[str, str]]]:
    """What is asked of each database within, as (alias, statement), after the end."""
    said: list[tuple[str, str]] = []
    with ExitStack() as stack:
        contexts = {
            alias: stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ALIASES
        }
        yield said
        for alias, context in contexts.items():
            said += [(alias, query["sql"]) for query in context.captured_queries]


def faults(said: list[tuple[str, str]]) -> list[str]:
    """The statements over large tables that are not bounded, or not by an index."""
    asked = {(alias, sql) for alias, sql in said if TABLES.search(sql) and READS.match(sql)}
    assert asked
    return [f"{fault}: {sql}" for alias, sql in sorted(asked) if (fault := fault_of(alias, sql))]


def fault_of(alias: str, sql: str) -> str:
    """What is wrong with a statement; empty if nothing is."""
    if "COUNT(" in sql and "LIMIT" not in sql:
        return "counts"
    with connections[alias].cursor() as cursor:
        if connections[alias].vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            return fault_of_sqlite([row[3] for row in cursor.fetchall()], sql)
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        # As if going through a table, or sorting, cost more than anything: what is left has no other way.
        for way in ("seqscan", "sort", "bitmapscan"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        plan = plan_of_postgres(cursor, sql)
        # Of two indexes it may take the worse one, the rows being few: is there a good one?
        while "Filter:" in plan and (worse := INDEX.search(plan)):
            cursor.execute(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [worse[1]]
            )
            plan = plan_of_postgres(cursor, sql)
        transaction.set_rollback(True, using=alias)
        return fault_of_postgres(plan, sql)


def plan_of_postgres(cursor: Any, sql: str) -> str:
    cursor.execute(f"EXPLAIN {sql}")
    plan = "\n".join(row[0] for row in cursor.fetchall())
    # What a recursion has found so far is no table; how far it goes is a condition on it.
    return re.sub(r"WorkTable Scan on .*\n +Filter: .*", "WorkTable Scan", plan)


def fault_of_sqlite(plan: list[str], sql: str) -> str:
    if any("TEMP B-TREE" in step for step in plan):
        return "sorts"
    through = [step for step in plan if re.match("SCAN (?!chain$)", step) and "subquery" not in step]
    if through and ("WHERE" in sql or "LIMIT" not in sql):
        return f"goes through a table ({through[0]})"
    return ""


def fault_of_postgres(plan: str, sql: str) -> str:
    if re.search(r"\bSort\b", plan):
        return "sorts"
    if "Seq Scan" in plan and ("WHERE" in sql or "LIMIT" not in sql):
        return "goes through a table"
    # A row that an index does not tell apart is one that is looked at for nothing.
    return "looks at rows in vain" if "Filter:" in plan else ""


@pytest.fixture(scope="module")
def administrator(migrated_databases: None) -> Client:
    return client_of(person(is_staff=True, is_superuser=True))


@pytest.mark.parametrize(("model", "way"), CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_a_list_of_the_admin(administrator: Client, model: Any, way: Any) -> None:
    query = {"q": " ".join(GIVEN[kind] for kind in way.given)} if way else {}
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    with told() as said:
        answer = administrator.get(address, query)
    assert answer.status_code == 200
    assert "Así no se puede buscar" not in answer.content.decode()
    assert faults(said) == []


@pytest.mark.parametrize("model", LARGE)
def test_what_has_no_index_is_not_looked_for(administrator: Client, model: Any) -> None:
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    with told() as said:
        answer = administrator.get(address, {"q": "rcp_x lse_x"})
        assert "Así no se puede buscar" in answer.content.decode()
        assert administrator.get(address, {"workspace__icontains": "x"}).status_code == 400
        assert administrator.get(address, {"o": "1"}).status_code == 200
    assert [sql for _, sql in said if "LIKE" in sql] == []


def test_the_large_tables_are_all_among_them() -> None:
    ours = {m for m in admin.site._registry if m._meta.app_label in ("coordination", "ledger", "audit")}
    few = {"PulseRow", "OutageRow", "DatabaseRow"}  # a row a process, a row an absence, one row
    assert {model.__name__ for model in ours - LARGE.keys()} == few


def test_what_records_read() -> None:
    with told() as said:
        history.agents("ws_x", "did:x", 50)
        history.moves("ws_x", "did:x", None, 50)
        history.moves("ws_x", "did:x", 9, 50)
        history.pending("ws_x")
        history.pending_one("ws_x", "rcp_x")
        history.counts("ws_x")
        entries.page("ws_x", None, 50)
        entries.page("ws_x", 9, 50, lambda claims: True)
        entries.one("ws_x", "rcp_x")
        entries.instants("ws_x")
    assert faults(said) == []


@pytest.mark.parametrize(
    "rows",
    [
        TrustMoveRow.objects.filter(delta=1),
        TrustMoveRow.objects.filter(workspace="x").order_by("at"),
        TrustMoveRow.objects.all(),
    ],
    ids=["no index", "another order", "everything"],
)
def test_a_fault_would_be_seen(rows: Any) -> None:
    with told() as said:
        list(rows)
        rows.all().count()
    assert len(faults(said)) == 2
