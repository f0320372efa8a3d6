"""A trigger against REPLACE on SQLite, which replaces a row without firing the triggers of a deletion.

PostgreSQL has no such statement; its ON CONFLICT DO UPDATE fires the triggers of an update.
"""

from typing import Any

from django.db import migrations

SQLITE = """CREATE TRIGGER audit_entry_never_replaced BEFORE INSERT ON audit_entry
    WHEN EXISTS (SELECT 1 FROM audit_entry WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'An audit entry is never changed.'); END"""


def guard(apps: Any, schema_editor: Any) -> None:
    """Create the trigger."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(SQLITE, None)


def unguard(apps: Any, schema_editor: Any) -> None:
    """Drop the trigger."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER audit_entry_never_replaced", None)


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_append_only")]
    operations = [migrations.RunPython(guard, unguard)]
