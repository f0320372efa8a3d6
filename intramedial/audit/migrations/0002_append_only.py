"""Triggers that keep the log append-only: no entry is changed, and none is deleted before the least `AUDIT_DAYS`.

On SQLite, Django rebuilds a table to alter it, which drops its triggers. So a later migration that alters this
table must end with `guard` too.
"""

from typing import Any

from django.db import migrations

KEPT_DAYS = 30

SQLITE = (
    """CREATE TRIGGER audit_entry_unchanged BEFORE UPDATE ON audit_entry
    BEGIN SELECT RAISE(ABORT, 'An audit entry is never changed.'); END""",
    f"""CREATE TRIGGER audit_entry_kept BEFORE DELETE ON audit_entry
    WHEN OLD.at > datetime('now', '-{KEPT_DAYS} days')
    BEGIN SELECT RAISE(ABORT, 'An audit entry is kept.'); END""",
)
SQLITE_BACK = ("DROP TRIGGER audit_entry_unchanged", "DROP TRIGGER audit_entry_kept")
POSTGRES = (
    f"""CREATE FUNCTION audit_entry_kept() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' AND OLD.at <= now() - interval '{KEPT_DAYS} days' THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'An audit entry is never changed, and kept.' USING ERRCODE = 'restrict_violation';
    END $$""",
    """CREATE TRIGGER audit_entry_kept BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION audit_entry_kept()""",
    """CREATE TRIGGER audit_entry_whole BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_kept()""",
)
POSTGRES_BACK = (
    "DROP TRIGGER audit_entry_whole ON audit_entry",
    "DROP TRIGGER audit_entry_kept ON audit_entry",
    "DROP FUNCTION audit_entry_kept()",
)


def guard(apps: Any, schema_editor: Any) -> None:
    """Create the triggers."""
    _run(schema_editor, SQLITE, POSTGRES)


def unguard(apps: Any, schema_editor: Any) -> None:
    """Drop the triggers."""
    _run(schema_editor, SQLITE_BACK, POSTGRES_BACK)


def _run(schema_editor: Any, sqlite: tuple[str, ...], postgres: tuple[str, ...]) -> None:
    for statement in postgres if schema_editor.connection.vendor == "postgresql" else sqlite:
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunPython(guard, unguard)]
