"""What is due in one workspace is found by an index of its own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("coordination", "0002_chained_moves")]

    operations = [
        migrations.AddIndex(
            "resourcerow",
            models.Index(
                fields=["workspace", "due_at"],
                name="resource_due_there",
                condition=models.Q(due_at__gt=0),
            ),
        ),
    ]
