"""The catalogue of English is complete, true to its placeholders, and compiled as it stands."""

import gettext
import re
from typing import Any

import pytest
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


def test_it_has_what_the_project_says_and_nothing_else() -> None:
    said = {message for message, _file in messages.said()}
    there = {(*texts(entry.id), None)[:2] for entry in ENTRIES}
    assert said - there == set(), "make messages"
    assert there - said == set(), "make messages"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: texts(entry.id)[0][:40])
def test_a_string_is_translated(entry: Message) -> None:
    assert all(texts(entry.string)), "without a translation"
    assert not entry.fuzzy
    for original, translated in zip(texts(entry.id), texts(entry.string), strict=True):
        assert sorted(set(PLACEHOLDER.findall(original))) == sorted(set(PLACEHOLDER.findall(translated)))
        assert sorted(TAG.findall(original)) == sorted(TAG.findall(translated))
        assert original.endswith(".") == translated.endswith(".")
        assert (original == translated) == (original in SAME), "not translated"


def test_the_compiled_catalogue_is_that_of_the_source() -> None:
    with messages.MO.open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for entry in ENTRIES:
        if isinstance(entry.id, tuple):
            forms = [compiled.ngettext(*entry.id, number) for number in (1, 2)]
            assert tuple(forms) == tuple(entry.string)
        else:
            assert compiled.gettext(entry.id) == entry.string
    assert len(compiled._catalog) == sum(len(texts(entry.id)) for entry in ENTRIES) + 1  # and the header


def test_what_others_say_in_spanish_is_compiled_as_it_stands() -> None:
    assert messages.THEIRS_MO.read_bytes() == messages.compiled(messages.theirs())
