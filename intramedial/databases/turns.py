"""One transaction at a time, where rows are counted before another is added."""

from django.db import connection


def take_turns(*names: str) -> None:
    """Until this transaction ends, no other that names one of these goes on. On SQLite it is alone anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in sorted(names):
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
