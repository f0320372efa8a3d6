"""Names are stored as they are displayed, and no name looks like another."""

import unicodedata

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from intramedial.workspaces.names import MAX_NAME, normal


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  Equipo   de pagos ", "Equipo de pagos"),
        ("n\u0303andu\u0301", "ñandú"),
        ("a\u00a0b", "a b"),
        ("Проект Альфа", "Проект Альфа"),
        ("支払いチーム A", "支払いチーム A"),
        ("2.º equipo", "2.º equipo"),
        ("🚆 trenes", "🚆 trenes"),
        ("Marca™ №", "Marca™ №"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("x" * MAX_NAME, "x" * MAX_NAME),
    ],
)
def test_good_names_are_accepted(typed: str, kept: str) -> None:
    assert normal(typed) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "x" * (MAX_NAME + 1),
        "a\nb",
        "Subject: x\r\nBcc: y@example.com",
        "a\x00b",
        "a\u202eb",  # the rest is shown from right to left
        "a\u200bb",  # shown as nothing
        "\u3164",  # a letter that is shown as nothing
        "\ud800",
        "\ue000",
        "pаypal",
        "Αdmin",
        "𝐀dmin",
        "ａdmin",
        "ⓐⓓⓜⓘⓝ",
        "🄰dmin",
        "⒜dmin",
        "a\u0301\u0302\u0303b",
    ],
)
def test_bad_names_are_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        normal(typed)


@given(st.text(max_size=100))
def test_a_stored_name_is_stored_unchanged_again(typed: str) -> None:
    try:
        kept = normal(typed)
    except ValidationError:
        return
    assert normal(kept) == kept
    assert unicodedata.is_normalized("NFC", kept)
    assert kept == kept.strip()
    assert not any(unicodedata.category(char)[0] == "C" for char in kept)
