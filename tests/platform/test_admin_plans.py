"""The statements of the admin's pages, and of a workspace's records, read a bounded number of rows.

The database explains each statement. A statement that counts rows, or scans a table, must have a limit. Its
conditions and its order must be those of an index. The tests read only the plan, which is the same on every
machine and with any number of rows.
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
]  # None: the list without a search
GIVEN = {kind: text.replace("…", "x") for kind, text in SHOWN.items()} | {"agent": "did:example:x"}
READS = re.compile(r"\s*(?:SELECT|WITH)\b")
TABLES = re.compile(r'FROM "?((?:lease|ledger|audit)_\w+)"?')

INDEX = re.compile(r"Index (?:Only )?Scan (?:Backward )?using (\w+)")


@contextmanager
def captured_statements() -> Iterator[list[tuple[str, str]]]:
    """The statements of the context as (alias, statement). The list is filled at the end of the context."""
    statements: list[tuple[str, str]] = []
    with ExitStack() as stack:
        contexts = {
            alias: stack.enter_context(CaptureQueriesContext(connections[alias])) for alias in ALIASES
        }
        yield statements
        for alias, context in contexts.items():
            statements += [(alias, query["sql"]) for query in context.captured_queries]


def faults(statements: list[tuple[str, str]]) -> list[str]:
    """The statements over large tables without a limit or without an index."""
    asked = {(alias, sql) for alias, sql in statements if TABLES.search(sql) and READS.match(sql)}
    assert asked
    return [f"{fault}: {sql}" for alias, sql in sorted(asked) if (fault := fault_of(alias, sql))]


def fault_of(alias: str, sql: str) -> str:
    """What is wrong with a statement, or an empty text."""
    if "COUNT(" in sql and "LIMIT" not in sql:
        return "counts"
    with connections[alias].cursor() as cursor:
        if connections[alias].vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            return fault_of_sqlite([row[3] for row in cursor.fetchall()], sql)
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        # With these off, the planner scans a table or sorts only if it has no other way.
        for way in ("seqscan", "sort", "bitmapscan"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        plan = plan_of_postgres(cursor, sql)
        # With few rows the planner can choose the worse of two indexes, so look for a better one.
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
    # The work table of a recursion is not a table of the database. Its filter is the recursion's limit.
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
    # A filter beside an index reads rows that the statement does not need.
    return "looks at rows in vain" if "Filter:" in plan else ""


@pytest.fixture(scope="module")
def administrator(migrated_databases: None) -> Client:
    return client_of(person(is_staff=True, is_superuser=True))


@pytest.mark.parametrize(("model", "way"), CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_a_list_of_the_admin(administrator: Client, model: Any, way: Any) -> None:
    query = {"q": " ".join(GIVEN[kind] for kind in way.given)} if way else {}
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    with captured_statements() as statements:
        answer = administrator.get(address, query)
    assert answer.status_code == 200
    assert "Así no se puede buscar" not in answer.content.decode()
    assert faults(statements) == []


@pytest.mark.parametrize("model", LARGE)
def test_a_search_without_an_index_is_refused(administrator: Client, model: Any) -> None:
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    with captured_statements() as statements:
        answer = administrator.get(address, {"q": "rcp_x lse_x"})
        assert "Así no se puede buscar" in answer.content.decode()
        assert administrator.get(address, {"workspace__icontains": "x"}).status_code == 400
        assert administrator.get(address, {"o": "1"}).status_code == 200
    assert [sql for _, sql in statements if "LIKE" in sql] == []


def test_all_large_tables_are_tested() -> None:
    of_the_project = {
        m for m in admin.site._registry if m._meta.app_label in ("coordination", "ledger", "audit")
    }
    few = {"PulseRow", "OutageRow", "DatabaseRow"}  # one row for each process, one for each outage, one row
    assert {model.__name__ for model in of_the_project - LARGE.keys()} == few


def test_the_records_of_a_workspace() -> None:
    with captured_statements() as statements:
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
    assert faults(statements) == []


@pytest.mark.parametrize(
    "rows",
    [
        TrustMoveRow.objects.filter(delta=1),
        TrustMoveRow.objects.filter(workspace="x").order_by("at"),
        TrustMoveRow.objects.all(),
    ],
    ids=["no index", "another order", "everything"],
)
def test_a_statement_without_limit_or_index_is_found(rows: Any) -> None:
    with captured_statements() as statements:
        list(rows)
        rows.all().count()
    assert len(faults(statements)) == 2
