"""Reading a workspace's part of the audit log, the latest first, and letting go of what is old."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from intramedial.audit.models import Entry

# By the action's name; those of accounts alone are not shown to a workspace.
ACTIONS = {
    "workspace.created": _("creó el espacio"),
    "workspace.renamed": _("cambió el nombre del espacio"),
    "workspace.classes": _("cambió las clases semánticas"),
    "workspace.handed_over": _("traspasó el espacio"),
    "workspace.deleted": _("borró el espacio"),
    "trial.adopted": _("adoptó una prueba"),
    "key.created": _("creó una clave"),
    "key.rotated": _("rotó una clave"),
    "key.revoked": _("revocó una clave"),
    "agent.registered": _("registró un agente"),
    "agent.revoked": _("revocó un agente"),
    "invitation.created": _("invitó a alguien"),
    "invitation.accepted": _("aceptó una invitación"),
    "invitation.revoked": _("revocó una invitación"),
    "member.role": _("cambió el papel de alguien"),
    "member.removed": _("sacó a alguien"),
    "member.left": _("salió del espacio"),
    "lease.revoked": _("soltó algo por la fuerza"),
    "lease.revoke_missed": _("quiso soltar algo por la fuerza y ya no estaba"),
    "lease.revoke_unanswered": _("quiso soltar algo por la fuerza y la autoridad no contestó"),
    # What operators do: see `AuditedAdmin`.
    "admin.workspace.added": _("creó el espacio, desde la administración"),
    "admin.workspace.changed": _("cambió el espacio, desde la administración"),
    "admin.workspace.deleted": _("borró el espacio, desde la administración"),
    "admin.membership.added": _("añadió a alguien, desde la administración"),
    "admin.membership.changed": _("cambió el papel de alguien, desde la administración"),
    "admin.membership.deleted": _("sacó a alguien, desde la administración"),
    "admin.apikey.added": _("creó una clave, desde la administración"),
    "admin.apikey.changed": _("cambió una clave, desde la administración"),
    "admin.apikey.revoked": _("revocó una clave, desde la administración"),
    "admin.apikey.deleted": _("borró una clave, desde la administración"),
    "admin.registeredagent.added": _("registró un agente, desde la administración"),
    "admin.registeredagent.changed": _("cambió un agente registrado, desde la administración"),
    "admin.registeredagent.deleted": _("borró un agente registrado, desde la administración"),
    "admin.trial.changed": _("cambió la prueba, desde la administración"),
    "admin.trial.deleted": _("borró la prueba, desde la administración"),
}

FORMER = {
    "lease.revoked": "lease.forced",
    "lease.revoke_missed": "lease.force_missed",
    "lease.revoke_unanswered": "lease.force_unanswered",
}
"""Names that entries had before, which are never changed, by the names of today."""

_WORDS = ACTIONS | {former: ACTIONS[now] for now, former in FORMER.items()}


def words_of(action: str) -> Any:
    """What an act is called, by its name of today or a former one; an unknown name as it is."""
    return _WORDS.get(action, action)


AT_ONCE = 1_000
ACCOUNT = "account "
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# An entry's instant, in microseconds, and its number.
CURSOR = re.compile(r"([0-9]{1,18})_([0-9]{1,18})")


@dataclass(frozen=True)
class Asked:
    """What is asked of the log of one workspace; None and empty: whatever."""

    workspace: str
    action: str = ""
    actor: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def page(asked: Asked, after: str, size: int) -> tuple[list[Entry], str]:
    """So many entries after a cursor (empty: from the latest), and the cursor of the next page (empty: none).

    ValueError for a cursor that is not one.
    """
    found = list(_after(_entries(asked), after)[: size + 1])
    more = len(found) > size
    return found[:size], _cursor(found[size - 1]) if more else ""


def batches(asked: Asked, most: int) -> Iterator[list[Entry]]:
    """The entries in lists, at most so many in all."""
    after, left = "", most
    while left > 0:
        found, after = page(asked, after, min(AT_ONCE, left))
        if found:
            yield found
        left -= len(found)
        if not after:
            return


def accounts(entries: Iterable[Entry]) -> dict[int, Any]:
    """The accounts there still are that the entries name, by their numbers."""
    named = {entry.actor for entry in entries if entry.actor is not None}
    named |= {number for entry in entries if (number := account_in(entry.target)) is not None}
    return {user.pk: user for user in get_user_model().objects.filter(pk__in=named)}


def account_in(target: str) -> int | None:
    """The account that an entry is about, as `account 7` names it."""
    number = target.removeprefix(ACCOUNT)
    return int(number) if number != target and number.isdecimal() else None


def purge(days: int) -> int:
    """Delete what is older than it is kept; returns how many entries."""
    deleted, _by_model = Entry.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()
    return deleted


def _entries(asked: Asked) -> QuerySet[Entry]:
    found = Entry.objects.filter(workspace=asked.workspace)
    if asked.action:
        found = found.filter(action__in=[asked.action, FORMER.get(asked.action, asked.action)])
    if asked.actor is not None:
        found = found.filter(actor=asked.actor)
    if asked.since:
        found = found.filter(at__gte=asked.since)
    if asked.until:
        found = found.filter(at__lte=asked.until)
    return found.order_by("-at", "-pk")


def _cursor(entry: Entry) -> str:
    return f"{(entry.at - EPOCH) // MICROSECOND}_{entry.pk}"


def _after(found: QuerySet[Entry], cursor: str) -> QuerySet[Entry]:
    if not cursor:
        return found
    parts = CURSOR.fullmatch(cursor)
    if parts is None:
        raise ValueError("no cursor")
    at, pk = EPOCH + int(parts[1]) * MICROSECOND, int(parts[2])
    # The last condition is the one that the index answers.
    return found.filter(Q(at__lt=at) | Q(pk__lt=pk), at__lte=at)


MOST = 100_000
COLUMNS = ("at", "action", "account", "email", "target", "detail", "address")
# A spreadsheet takes a cell that begins so for a formula. Where decimals have a comma, a semicolon ends it.
FORMULA = re.compile(r"(^|;\s*)(?=[=+\-@\t\r\n])")

Row = dict[str, Any]


async def streamed(asked: Asked, write: Callable[[list[Row], bool], str], end: str) -> AsyncIterator[str]:
    """The file in pieces, a piece a look at the database."""
    lists, first = batches(asked, MOST), True
    while (rows := await sync_to_async(_next)(lists)) is not None:
        yield write(rows, first)
        first = False
    yield (write([], True) if first else "") + end


def as_csv(rows: list[Row], first: bool) -> str:
    """Rows of CSV (RFC 4180), after the names of the columns; no cell is taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    if first:
        writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in COLUMNS])
    return text.getvalue()


def as_json(rows: list[Row], first: bool) -> str:
    """Objects of a JSON array, whose end comes after the last."""
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    return ("[\n" if first else ",\n" if rows else "") + ",\n".join(texts)


def _next(batches: Iterator[list[Entry]]) -> list[Row] | None:
    entries = next(batches, None)
    if entries is None:
        return None
    known = accounts(entries)
    return [_row(entry, known) for entry in entries]


def _row(entry: Entry, known: dict[int, Any]) -> Row:
    user = known.get(entry.actor) if entry.actor is not None else None
    return {
        "at": entry.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "action": entry.action,
        "account": entry.actor,
        "email": user.email if user else None,
        "target": entry.target,
        "detail": entry.detail,
        "address": entry.address,
    }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return FORMULA.sub(r"\1'", text)
