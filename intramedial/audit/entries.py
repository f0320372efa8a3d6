"""Reading the audit log of a workspace, latest entry first, and deleting old entries.

Entries are read in pages, as a file (CSV or JSON), and with the texts that the page shows for actions.
"""

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
from intramedial.http.formats import rfc3339

# The texts by the action's name. Actions of accounts are not shown to a workspace, so they have none.
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
    "lease.revoked": _("revocó una concesión"),
    "lease.revoke_missed": _("quiso revocar una concesión que ya no existía"),
    "lease.revoke_unanswered": _("quiso revocar una concesión y la autoridad no contestó"),
    # Acts of operators: see `AuditedAdmin`.
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
"""Former names of actions, by the current ones. Old entries keep them, because entries never change."""

_WORDS = ACTIONS | {former: ACTIONS[now] for now, former in FORMER.items()}


AT_ONCE = 1_000
ACCOUNT = "account "
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# An entry's instant, in microseconds, and its number.
CURSOR = re.compile(r"([0-9]{1,18})_([0-9]{1,18})")

MOST = 100_000
COLUMNS = ("at", "action", "account", "email", "target", "detail", "address")
# A spreadsheet takes a cell that begins so for a formula. With decimal commas, a semicolon ends a cell.
FORMULA = re.compile(r"(^|;\s*)(?=[=+\-@\t\r\n])")

Row = dict[str, Any]


def words_of(action: str) -> Any:
    """The text of an action, given by its current or former name; an unknown name itself."""
    return _WORDS.get(action, action)


@dataclass(frozen=True)
class Filter:
    """Which entries of one workspace to read. None and empty texts do not limit them."""

    workspace: str
    action: str = ""
    actor: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def page(wanted: Filter, after: str, size: int) -> tuple[list[Entry], str]:
    """At most `size` entries after a cursor, and the cursor of the next page.

    With an empty cursor the page begins at the latest entry. An empty cursor is returned with the last page.
    ValueError for a bad cursor.
    """
    found = list(_after(_entries(wanted), after)[: size + 1])
    more = len(found) > size
    return found[:size], _cursor(found[size - 1]) if more else ""


def batches(wanted: Filter, most: int) -> Iterator[list[Entry]]:
    """The entries in lists, at most `most` in all."""
    after, left = "", most
    while left > 0:
        found, after = page(wanted, after, min(AT_ONCE, left))
        if found:
            yield found
        left -= len(found)
        if not after:
            return


def accounts(entries: Iterable[Entry]) -> dict[int, Any]:
    """The accounts that the entries name and that still exist, by their numbers."""
    named = {entry.actor for entry in entries if entry.actor is not None}
    named |= {number for entry in entries if (number := account_in(entry.target)) is not None}
    return {user.pk: user for user in get_user_model().objects.filter(pk__in=named)}


def account_in(target: str) -> int | None:
    """The number of the account in a target such as `account 7`; None for other targets."""
    number = target.removeprefix(ACCOUNT)
    return int(number) if number != target and number.isdecimal() else None


def purge(days: int) -> int:
    """Delete entries older than so many days. Returns how many."""
    deleted, _by_model = Entry.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()
    return deleted


def _entries(wanted: Filter) -> QuerySet[Entry]:
    found = Entry.objects.filter(workspace=wanted.workspace)
    if wanted.action:
        found = found.filter(action__in=[wanted.action, FORMER.get(wanted.action, wanted.action)])
    if wanted.actor is not None:
        found = found.filter(actor=wanted.actor)
    if wanted.since:
        found = found.filter(at__gte=wanted.since)
    if wanted.until:
        found = found.filter(at__lte=wanted.until)
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
    # The index is used for the last condition.
    return found.filter(Q(at__lt=at) | Q(pk__lt=pk), at__lte=at)


async def streamed(wanted: Filter, write: Callable[[list[Row], bool], str], end: str) -> AsyncIterator[str]:
    """The file in pieces, one for each query. `write` is `as_csv` or `as_json`; `end` comes last."""
    lists, first = batches(wanted, MOST), True
    while (rows := await sync_to_async(_next)(lists)) is not None:
        yield write(rows, first)
        first = False
    yield (write([], True) if first else "") + end


def as_csv(rows: list[Row], first: bool) -> str:
    """Rows of CSV (RFC 4180), the first ones after the names of the columns. No cell is taken for a
    formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    if first:
        writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in COLUMNS])
    return text.getvalue()


def as_json(rows: list[Row], first: bool) -> str:
    """Objects of a JSON array, without the end of the array."""
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
        "at": rfc3339(entry.at),
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
