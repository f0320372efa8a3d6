"""Limits per hour that are counted in rows, so that all processes count together."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

HOUR = timedelta(hours=1)


def seconds_until_room(rows: QuerySet[Any], field: str, limit: int, now: datetime) -> int | None:
    """Seconds until fewer than `limit` of the rows are from the last hour, at least 1; None if that is so
    already.

    `field` is the column with the instant of a row. The query reads one row, that at the limit: there is room
    once it is an hour old.
    """
    recent = rows.filter(**{f"{field}__gt": now - HOUR}).order_by(f"-{field}")
    for at in recent.values_list(field, flat=True)[limit - 1 : limit]:
        return max(1, int((at + HOUR - now).total_seconds()))
    return None
