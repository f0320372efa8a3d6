"""The audit log as a file: CSV or JSON, written as it is read."""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from asgiref.sync import sync_to_async

from intramedial.audit import entries as log
from intramedial.audit.models import Entry

MOST = 100_000
COLUMNS = ("at", "action", "account", "email", "target", "detail", "address")
# A spreadsheet takes a cell that begins so for a formula. Where decimals have a comma, a semicolon ends it.
FORMULA = re.compile(r"(^|;\s*)(?=[=+\-@\t\r\n])")

Row = dict[str, Any]


async def streamed(asked: log.Asked, write: Callable[[list[Row], bool], str], end: str) -> AsyncIterator[str]:
    """The file in pieces, a piece a look at the database."""
    batches, first = log.batches(asked, MOST), True
    while (rows := await sync_to_async(_next)(batches)) is not None:
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
    known = log.accounts(entries)
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
