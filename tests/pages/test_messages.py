"""The English catalogue is complete, keeps its placeholders, and is compiled from its source."""

import gettext
import re
from typing import Any

from babel.messages.catalog import Message

from tests import messages

PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}|%%")
TAG = re.compile(r"</?\w+[^>]*>")
# Names, and words that are the same in both languages.
SAME = {"REST", "MCP", "Error", "%(count)s bytes", "Cookies", "intramedial · preview@intramedial.com"}

CATALOG = messages.read()
ENTRIES = [entry for entry in CATALOG if entry.id]


def texts(value: Any) -> tuple[str, ...]:
    """The text, or the forms of a plural."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def test_the_catalogue_has_exactly_the_projects_messages() -> None:
    extracted = {message for message, _file in messages.extracted()}
    there = {(*texts(entry.id), None)[:2] for entry in ENTRIES}
    assert extracted - there == set(), "make messages"
    assert there - extracted == set(), "make messages"


def faults(entry: Message) -> list[str]:
    """What is wrong with the translation of one entry."""
    if not all(texts(entry.string)):
        return ["has no translation"]
    found = ["is marked fuzzy"] if entry.fuzzy else []
    for original, translated in zip(texts(entry.id), texts(entry.string), strict=True):
        if set(PLACEHOLDER.findall(original)) != set(PLACEHOLDER.findall(translated)):
            found.append("has other placeholders")
        if sorted(TAG.findall(original)) != sorted(TAG.findall(translated)):
            found.append("has other tags")
        if original.endswith(".") != translated.endswith("."):
            found.append("ends in another way")
        if (original == translated) != (original in SAME):
            found.append("is not translated")
    return found


def test_every_string_is_translated() -> None:
    assert [(texts(entry.id)[0], fault) for entry in ENTRIES for fault in faults(entry)] == []


def test_the_compiled_catalogue_matches_its_source() -> None:
    with messages.MO.open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for entry in ENTRIES:
        if isinstance(entry.id, tuple):
            forms = [compiled.ngettext(*entry.id, number) for number in (1, 2)]
            assert tuple(forms) == tuple(entry.string)
        else:
            assert compiled.gettext(entry.id) == entry.string
    assert len(compiled._catalog) == sum(len(texts(entry.id)) for entry in ENTRIES) + 1  # and the header


def test_the_spanish_texts_of_dependencies_match_their_source() -> None:
    assert messages.DEPENDENCIES_MO.read_bytes() == messages.compiled(messages.of_dependencies())
