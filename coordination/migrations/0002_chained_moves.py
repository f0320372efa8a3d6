"""An agent's moves of trust become a chain, numbers of rows are no longer counted beside SQLite's tables, and a
workspace has a stamp that changes with it."""

from django.db import migrations, models

from coordination.models import KeyField, RowId

CHAIN = (
    "UPDATE lease_trust_move SET before = (SELECT last.lease_id FROM lease_trust_move AS last"
    " WHERE last.workspace = lease_trust_move.workspace AND last.agent = lease_trust_move.agent"
    " AND last.id < lease_trust_move.id ORDER BY last.id DESC LIMIT 1)",
    "UPDATE lease_agent SET moved_by = (SELECT last.lease_id FROM lease_trust_move AS last"
    " WHERE last.workspace = lease_agent.workspace AND last.agent = lease_agent.did"
    " ORDER BY last.id DESC LIMIT 1)",
)
NUMBERED = ("agentrow", "outboxrow", "refusalrow", "resourcerow", "trustmoverow", "waitrow")


class Migration(migrations.Migration):
    dependencies = [("coordination", "0001_initial")]

    operations = [
        migrations.AddField("agentrow", "moved_by", KeyField("movida por", max_length=64, null=True)),
        migrations.AddField("trustmoverow", "before", KeyField("antes movida por", max_length=64, null=True)),
        migrations.AddField("tenantrow", "stamp", models.BigIntegerField("sello", default=0)),
        migrations.RunSQL(CHAIN, migrations.RunSQL.noop),
        migrations.RemoveIndex("trustmoverow", "trust_of_agent"),
        *(migrations.AlterField(model, "id", RowId(primary_key=True, serialize=False)) for model in NUMBERED),
        migrations.AddIndex(
            "trustmoverow", models.Index(fields=["workspace", "id"], name="trust_of_workspace")
        ),
    ]
