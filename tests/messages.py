"""The catalogue of English: extracts what code and templates say, merges it, compiles it.

`python -m tests.messages` (`make messages`) brings `intramedial/locale/en` in line with the code: new strings
are added without a translation, those that are gone are dropped, and `django.mo` is written from `django.po`.
The program that extracts reads syntax trees and parsed templates; no gettext needs to be there.
"""

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.template import engines
from django.template.base import Node
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "intramedial" / "locale" / "en" / "LC_MESSAGES"
PO, MO = LOCALE / "django.po", LOCALE / "django.mo"
# What Django and allauth say in Spanish, in our words: written by hand, compiled here.
THEIRS_PO = ROOT / "intramedial" / "locale" / "es" / "LC_MESSAGES" / "django.po"
THEIRS_MO = THEIRS_PO.with_suffix(".mo")
SINGULAR = {"_", "gettext", "gettext_lazy"}
PLURAL = {"ngettext", "ngettext_lazy"}

# No true date: the same strings make the same file.
DATE = datetime(2026, 1, 1, tzinfo=UTC)

# A message as code says it: (singular, plural or None), and the file that does.
Said = tuple[tuple[str, str | None], str]


def said() -> list[Said]:
    """Every translatable string of the project, in the order of files and lines, each once."""
    found: dict[tuple[str, str | None], str] = {}
    for message, file in (*_in_code(), *_in_templates()):
        found.setdefault(message, file)
    return list(found.items())


def _in_code() -> Iterator[Said]:
    for package in ("coordination", "intramedial"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and (message := _of_call(node)):
                    yield message, file.relative_to(ROOT).as_posix()


def _of_call(node: ast.Call) -> tuple[str, str | None] | None:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    if name in SINGULAR and texts and isinstance(texts[0], str):
        return texts[0], None
    if name in PLURAL and len(texts) >= 2:
        return str(texts[0]), str(texts[1])
    return None


def _in_templates() -> Iterator[Said]:
    for file in sorted((ROOT / "templates").rglob("*")):
        if file.is_file():
            template: Any = engines["django"].from_string(file.read_text("utf-8"))
            for message in _of_nodes(template.template.nodelist):
                yield message, file.relative_to(ROOT).as_posix()


def _of_nodes(nodes: Any) -> Iterator[tuple[str, str | None]]:
    for node in nodes.get_nodes_by_type(Node):
        if isinstance(node, TranslateNode):
            yield node.filter_expression.var.literal, None
        elif isinstance(node, BlockTranslateNode):
            plural = node.render_token_list(node.plural)[0] if node.plural else None
            yield node.render_token_list(node.singular)[0], plural


def read() -> Catalog:
    """The catalogue as it lies in the project."""
    with PO.open("rb") as file:
        return read_po(file, locale="en")


def merged(old: Catalog, messages: list[Said]) -> Catalog:
    """A catalogue of just these messages, with the translations that `old` has."""
    new = Catalog(
        locale="en",
        project="intramedial",
        version="1",
        header_comment="",
        last_translator="",
        language_team="",
        msgid_bugs_address="",
        creation_date=DATE,
        revision_date=DATE,
        fuzzy=False,
    )
    for (singular, plural), file in messages:
        known: Message | None = old.get(singular)
        ident = (singular, plural) if plural else singular
        string = known.string if known is not None else ""
        if isinstance(string, tuple) != bool(plural):
            string = ("", "") if plural else ""
        new.add(ident, string, locations=[(file, 0)], flags=_flags(known))
    return new


def _flags(known: Message | None) -> set[str]:
    return set(known.flags) if known is not None else set()


def theirs() -> Catalog:
    """The catalogue of what other people's code says."""
    with THEIRS_PO.open("rb") as file:
        catalog = read_po(file, locale="es")
    catalog.creation_date = DATE
    return catalog


def compiled(catalog: Catalog) -> bytes:
    """The catalogue as gettext reads it at run time."""
    buffer = BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def main() -> None:
    """Bring both files in line with the code; say what lacks a translation."""
    LOCALE.mkdir(parents=True, exist_ok=True)
    catalog = merged(read() if PO.exists() else Catalog(locale="en"), said())
    with PO.open("wb") as file:
        # In alphabetical order and without places, so that moved code changes nothing here.
        write_po(file, catalog, width=0, sort_output=True, no_location=True)
    MO.write_bytes(compiled(catalog))
    THEIRS_MO.write_bytes(compiled(theirs()))
    for message in catalog:
        if message.id and not (all(message.string) if isinstance(message.string, tuple) else message.string):
            print(f"without a translation: {message.id}")


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    django.setup()
    main()
