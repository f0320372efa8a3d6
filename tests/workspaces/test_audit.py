"""The audit log: owners read it, in pages and as a file; no one changes it."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError, connection
from django.utils import timezone

from intramedial.audit import entries, record
from intramedial.audit.models import Entry
from intramedial.workspaces.pages import audit
from tests.people import member

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)


def note(workspace: Any, **fields: Any) -> Entry:
    """An entry of a workspace."""
    return Entry.objects.create(
        workspace=workspace.public_id, **{"action": "key.created", "at": NOW} | fields
    )


def targets(answer: Any) -> list[str]:
    """The targets of the entries on a page."""
    assert answer.status_code == 200
    return [row["entry"].target for row in answer.context["rows"]]


def text_of(answer: Any) -> str:
    """The whole of a streamed file."""

    async def whole() -> str:
        return b"".join([piece async for piece in answer]).decode()

    assert answer.status_code == 200
    return async_to_sync(whole)()


def test_the_pages_show_every_entry_once(owner, at, workspace, monkeypatch):
    monkeypatch.setattr(audit, "PAGE", 3)
    for number in range(8):  # some at the same instant
        note(workspace, target=str(number), at=NOW + timedelta(seconds=number // 3))
    seen, after = [], ""
    while True:
        answer = owner.get(at("auditoria/"), {"after": after})
        seen += targets(answer)
        if not (after := answer.context["next"]):
            break
    assert seen == list("76543210")


def test_the_log_is_filtered(owner, at, workspace):
    other = member(workspace)
    note(workspace, target="a", actor=owner.user.pk, at=NOW - timedelta(days=2))
    note(workspace, target="b", actor=other.pk, at=NOW)
    note(workspace, target="c", actor=other.pk, action="key.revoked", at=NOW + timedelta(days=1))
    for asked, found in (
        ({}, "cba"),
        ({"action": "key.created"}, "ba"),
        ({"person": other.pk}, "cb"),
        ({"person": other.pk, "action": "key.created"}, "b"),
        ({"since": "2031-05-01"}, "cb"),
        ({"until": "2031-05-01"}, "ba"),
        ({"since": "2031-05-01", "until": "2031-05-01"}, "b"),
    ):
        assert "".join(targets(owner.get(at("auditoria/"), asked))) == found, asked


def test_a_former_name_of_an_act_is_shown_and_found_as_the_current_one(owner, at, workspace):
    note(workspace, target="old", action="lease.forced")
    note(workspace, target="new", action="lease.revoked", at=NOW + timedelta(days=1))
    answer = owner.get(at("auditoria/"), {"action": "lease.revoked"})
    assert targets(answer) == ["new", "old"]
    assert len({str(row["words"]) for row in answer.context["rows"]}) == 1


def test_an_empty_page_says_why(owner, at, workspace):
    assert "No hay nada anotado todavía." in owner.get(at("auditoria/")).content.decode()
    note(workspace)
    for asked in ({"action": "key.revoked"}, {"since": "2031-05-02"}, {"since": "yesterday"}):
        answer = owner.get(at("auditoria/"), asked).content.decode()
        assert "No hay nada que cumpla eso." in answer
        assert f'href="{at("auditoria/")}">Quitar el filtro' in answer


def test_entries_of_another_workspace_are_not_shown(owner, at, newcomer):
    newcomer.fill("/espacios/", name="foreign")
    assert targets(owner.get(at("auditoria/"))) == []
    assert owner.get(at("auditoria/"), {"person": newcomer.user.pk}).status_code == 422


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"since": "yesterday"}, 422),
        ({"since": "9999-12-31"}, 200),
        ({"until": "9999-12-31"}, 200),
        ({"since": "0001-01-01"}, 200),
        ({"action": "x"}, 422),
        ({"person": "x"}, 422),
        ({"person": str(10**30)}, 422),
        ({"after": "x"}, 404),
        ({"after": "1_x"}, 404),
        ({"after": "-1_1"}, 404),
        ({"after": "1_1\n"}, 404),
        ({"after": "9" * 18 + "_1"}, 404),
        ({"after": "9" * 19 + "_1"}, 404),
        ({"after": "1_" + "9" * 18}, 200),
    ],
    ids=str,
)
def test_any_query_is_answered(owner, at, asked, status):
    assert owner.get(at("auditoria/"), asked).status_code == status


def test_a_deleted_account_is_shown_as_a_number(owner, at, workspace):
    other = member(workspace)
    number = other.pk
    note(workspace, actor=number, action="member.role", target=f"account {number}")
    assert other.email in owner.get(at("auditoria/")).content.decode()
    other.delete()
    page = owner.get(at("auditoria/")).content.decode()
    assert other.email not in page
    assert page.count(f"cuenta borrada, n.º {number}") == 2


def test_the_file_has_every_entry_and_no_formula(owner, at, workspace, monkeypatch):
    monkeypatch.setattr(entries, "AT_ONCE", 2)
    for target in ("=1+1", "+1", "-1", "@a", "\tx", "a;=1+1; -1;b", 'a,"b"\nñ', "plain"):
        note(workspace, target=target, actor=owner.user.pk, detail={"a": 1})
    rows = list(csv.DictReader(io.StringIO(text_of(owner.get(at("auditoria/auditoria.csv")))), strict=True))
    harmless = ["plain", 'a,"b"\nñ', "a;'=1+1; '-1;b", "'\tx", "'@a", "'-1", "'+1", "'=1+1"]
    assert [row["target"] for row in rows] == harmless
    assert {row["email"] for row in rows} == {owner.user.email}
    assert {row["detail"] for row in rows} == {'{"a": 1}'}
    found = json.loads(text_of(owner.get(at("auditoria/auditoria.json"), {"action": "key.created"})))
    assert [row["target"] for row in found][-1] == "=1+1"
    assert found[0]["at"] == "2031-05-01T12:00:00.000Z"
    assert json.loads(text_of(owner.get(at("auditoria/auditoria.json"), {"action": "key.revoked"}))) == []
    assert owner.get(at("auditoria/auditoria.xlsx")).status_code == 404
    assert owner.get(at("auditoria/auditoria.csv"), {"since": "x"}).status_code == 404


def test_the_file_is_bounded(owner, at, workspace, monkeypatch):
    monkeypatch.setattr(entries, "AT_ONCE", 2)
    monkeypatch.setattr(entries, "MOST", 3)
    for _ in range(5):
        note(workspace)
    assert len(json.loads(text_of(owner.get(at("auditoria/auditoria.json"))))) == 3


def test_entries_are_added_and_never_changed(workspace):
    record.act(None, "key.created", workspace=workspace.public_id)
    entry = Entry.objects.get(workspace=workspace.public_id)
    assert entry.actor is None
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()
    mine = Entry.objects.filter(pk=entry.pk)
    with pytest.raises(DatabaseError, match="never changed"):
        mine.update(action="x")
    with pytest.raises(DatabaseError, match="kept"):
        mine.delete()
    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET at = '2001-01-01' WHERE id = %s", [entry.pk])
    columns = "(id, at, workspace, action, target, detail, address)"
    values = "VALUES (%s, '2031-05-01', 'ws_x', 'x', '', '{}', '')"
    replace = {
        "sqlite": f"REPLACE INTO audit_entry {columns} {values}",
        "postgresql": f"INSERT INTO audit_entry {columns} {values}"
        " ON CONFLICT (id) DO UPDATE SET action = excluded.action",
    }
    with pytest.raises(DatabaseError, match="never changed"), connection.cursor() as cursor:
        cursor.execute(replace[connection.vendor], [entry.pk])
    assert mine.get().action == "key.created"


def test_only_old_entries_are_deleted(workspace):
    old, young = (note(workspace, at=timezone.now() - timedelta(days=days)) for days in (366, 364))
    assert entries.purge(365) >= 1
    assert list(Entry.objects.filter(pk__in=[old.pk, young.pk])) == [young]


def test_postgresql_protects_the_log_too(postgres_cluster, bootstrapped_postgres):
    _directory, template = bootstrapped_postgres
    url = postgres_cluster.url(postgres_cluster.create_database(template))
    columns = "(at, workspace, action, target, detail, address)"
    with psycopg.connect(url, autocommit=True) as database:
        for at in ("now()", "now() - interval '31 days'"):
            database.execute(f"INSERT INTO audit_entry {columns} VALUES ({at}, 'ws_x', 'a', '', '{{}}', '')")
        for statement in (
            "UPDATE audit_entry SET action = 'b'",
            "UPDATE audit_entry SET at = '2001-01-01'",
            "DELETE FROM audit_entry",
            "TRUNCATE audit_entry",
        ):
            with pytest.raises(psycopg.errors.RestrictViolation):
                database.execute(statement)
        old = "DELETE FROM audit_entry WHERE workspace = 'ws_x' AND at < now() - interval '30 days'"
        assert database.execute(old).rowcount == 1
        database.execute("DELETE FROM audit_entry WHERE false")
