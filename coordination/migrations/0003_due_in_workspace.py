"""What is due in one workspace is found in the index of what is due."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("coordination", "0002_chained_moves")]

    operations = [
        migrations.RemoveIndex("resourcerow", "resource_due"),
        migrations.AddIndex(
            "resourcerow",
            models.Index(
                fields=["due_at", "workspace"],
                name="resource_due",
                condition=models.Q(due_at__isnull=False),
            ),
        ),
    ]
