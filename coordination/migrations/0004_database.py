"""The database of leases gets a row about itself, by which a restored one is recognised."""

from django.db import migrations, models

from coordination.models import KeyField


class Migration(migrations.Migration):
    dependencies = [("coordination", "0003_due_in_workspace")]

    operations = [
        migrations.CreateModel(
            name="DatabaseRow",
            fields=[
                (
                    "name",
                    KeyField(max_length=8, primary_key=True, serialize=False, verbose_name="nombre"),
                ),
                ("database_id", models.CharField(max_length=32, verbose_name="base de datos")),
                ("token_floor", models.BigIntegerField(default=0, verbose_name="suelo de testigos")),
                ("restored_at", models.BigIntegerField(null=True, verbose_name="restaurada")),
                ("why", models.TextField(default="", verbose_name="por qué")),
                ("made_in", models.TextField(default="", verbose_name="hecha en")),
                ("written_by", models.BigIntegerField(default=0, verbose_name="escrita por")),
            ],
            options={
                "verbose_name": "base de datos de leases",
                "verbose_name_plural": "base de datos de leases",
                "db_table": "lease_database",
            },
        ),
    ]
