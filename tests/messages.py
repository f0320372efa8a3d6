"""The English catalogue: extracts the messages of code and templates, merges them, compiles the result.

`python -m tests.messages` (`make messages`) brings `intramedial/locale/en` in line with the code. New
messages are added without a translation, old ones are dropped, and `django.mo` is written from
`django.po`. Messages are extracted from syntax trees and parsed templates, without gettext.
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
# Django's and allauth's Spanish texts in our words: written by hand, compiled here.
DEPENDENCIES_PO = ROOT / "intramedial" / "locale" / "es" / "LC_MESSAGES" / "django.po"
DEPENDENCIES_MO = DEPENDENCIES_PO.with_suffix(".mo")
SINGULAR = {"_", "gettext", "gettext_lazy"}
PLURAL = {"ngettext", "ngettext_lazy"}

# A fixed date: the same messages give the same file.
DATE = datetime(2026, 1, 1, tzinfo=UTC)

# A message, (singular, plural or None), and the file that it is in.
Extracted = tuple[tuple[str, str | None], str]


def extracted() -> list[Extracted]:
    """Every translatable message of the project, in the order of files and lines, each once."""
    found: dict[tuple[str, str | None], str] = {}
    for message, file in (*_in_code(), *_in_templates()):
        found.setdefault(message, file)
    return list(found.items())


def _in_code() -> Iterator[Extracted]:
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


def _in_templates() -> Iterator[Extracted]:
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
    """The catalogue in the project."""
    with PO.open("rb") as file:
        return read_po(file, locale="en")


def merged(old: Catalog, messages: list[Extracted]) -> Catalog:
    """A catalogue of exactly these messages, with the translations in `old`."""
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


def of_dependencies() -> Catalog:
    """The catalogue of our texts for messages of dependencies."""
    with DEPENDENCIES_PO.open("rb") as file:
        catalog = read_po(file, locale="es")
    catalog.creation_date = DATE
    return catalog


def compiled(catalog: Catalog) -> bytes:
    """The catalogue as gettext reads it at run time."""
    buffer = BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def main() -> None:
    """Bring both files in line with the code; print the messages without a translation."""
    LOCALE.mkdir(parents=True, exist_ok=True)
    catalog = merged(read() if PO.exists() else Catalog(locale="en"), extracted())
    with PO.open("wb") as file:
        # In alphabetical order and without places, so that moved code changes nothing here.
        write_po(file, catalog, width=0, sort_output=True, no_location=True)
    MO.write_bytes(compiled(catalog))
    DEPENDENCIES_MO.write_bytes(compiled(of_dependencies()))
    for message in catalog:
        if message.id and not (all(message.string) if isinstance(message.string, tuple) else message.string):
            print(f"without a translation: {message.id}")


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    django.setup()
    main()
