"""Names: one resource under all its spellings, the mode that follows, and names that are refused."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordination.core.model import Mode
from coordination.core.names import normal_name, parse_resource

READ, WRITE = Mode.SHARED, Mode.EXCLUSIVE

# Default_Ignorable_Code_Point of Unicode 15.0 (DerivedCoreProperties.txt): characters that are shown as
# nothing.
INVISIBLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


@pytest.mark.parametrize(
    ("asked", "base", "mode"),
    [
        ("lock:deploy/production", "lock:deploy/production", WRITE),
        ("doc:handbook", "doc:handbook", WRITE),
        ("doc:handbook#read", "doc:handbook", READ),
        ("doc:handbook#write", "doc:handbook", WRITE),
        ("doc:handbook#delete", "doc:handbook", WRITE),
        ("file:a#read", "file:a", READ),
        ("data:a#read", "data:a", READ),
        ("config:a#read", "config:a", READ),
        ("lock:a#read", "lock:a", WRITE),  # an exclusive class: every operation is exclusive
        ("lock:a#write", "lock:a", WRITE),
        ("handbook#read", "handbook", WRITE),  # no class
        ("doc#read", "doc", WRITE),  # the class needs its colon
        ("DOC:a#read", "DOC:a", WRITE),
        ("doc:a:b#read", "doc:a:b", READ),
        ("x:doc:a#read", "x:doc:a", WRITE),
        ("doc:a%23b#read", "doc:a%23b", READ),  # the character itself, written out
        ("doc:a%23read", "doc:a%23read", WRITE),
        ("doc:informe anual#read", "doc:informe anual", READ),
    ],
)
def test_the_mode_follows_from_the_name(asked: str, base: str, mode: Mode) -> None:
    assert parse_resource(asked) == (base, mode)


@pytest.mark.parametrize(
    ("asked", "classes", "mode"),
    [
        ("doc:a#read", {"doc": "exclusive"}, WRITE),
        ("lock:a#read", {"lock": "shared"}, READ),
        ("lock:a#write", {"lock": "shared"}, WRITE),
        ("lock:a", {"lock": "shared"}, WRITE),
        # the default classes apply where the workspace's own table has no entry
        ("doc:a#read", {"lock": "shared"}, READ),
        ("doc:a#read", {}, READ),
        ("a#read", {"": "shared"}, WRITE),  # no prefix is no class
    ],
)
def test_a_workspace_can_have_its_own_table_of_classes(
    asked: str, classes: dict[str, str], mode: Mode
) -> None:
    assert parse_resource(asked, classes)[1] is mode


@pytest.mark.parametrize(
    "asked",
    [
        "#read",
        "#",
        "a#",
        "a#rea",
        "a#READ",
        "a#read ",
        "a# read",
        "a##read",
        "a#read#read",
        "a#b#read",
        "a#read#",
        "#a",
    ],
)
def test_an_unknown_suffix_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=r"%23|white space"):
        parse_resource(asked)


@pytest.mark.parametrize("asked", ["doc:a#archive", "#read"])
def test_the_error_says_how_to_write_the_character(asked: str) -> None:
    with pytest.raises(ValueError, match="%23"):
        parse_resource(asked)


@pytest.mark.parametrize(
    "asked",
    ["", " ", " a", "a ", "\ta", "a\n", "a\u00a0", "\u3000a", "\u2003a", "a #read", "doc:a\u00a0#read"],
)
def test_an_empty_name_and_white_space_at_the_ends_are_refused(asked: str) -> None:
    with pytest.raises(ValueError):
        parse_resource(asked)


@pytest.mark.parametrize(
    "code", [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xD800, 0xDBFF, 0xDC00, 0xDFFF]
)
def test_control_separator_and_surrogate_characters_are_refused(code: int) -> None:
    for name in (f"lock:{chr(code)}a", f"lock:a{chr(code)}b", f"doc:ñ{chr(code)}b#read"):
        with pytest.raises(ValueError):
            parse_resource(name)


@pytest.mark.parametrize(("first", "last"), INVISIBLE)
def test_invisible_characters_are_refused(first: int, last: int) -> None:
    """Two names that look the same must not be two resources."""
    for code in range(first, last + 1):
        with pytest.raises(ValueError):
            parse_resource(f"lock:a{chr(code)}b")


@pytest.mark.parametrize("code", [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_characters_that_turn_the_direction_are_refused_with_words(code: int) -> None:
    with pytest.raises(ValueError, match="bidirectional"):
        parse_resource(f"lock:a{chr(code)}b")


def test_one_to_256_characters_after_normalisation() -> None:
    assert parse_resource("a" * 256)[0] == "a" * 256
    assert len(parse_resource("e\u0301" * 256)[0]) == 256  # 512 before, 256 after
    for name in ("a" * 257, "e\u0301" * 257, "ñ" * 257):
        with pytest.raises(ValueError, match="256"):
            parse_resource(name)


def test_composed_and_decomposed_spellings_are_one_resource() -> None:
    composed, decomposed = "doc:caf\u00e9", "doc:cafe\u0301"
    assert parse_resource(composed) == parse_resource(decomposed)
    assert parse_resource(decomposed + "#read") == (composed, READ)


def test_names_that_only_look_alike_are_different() -> None:
    """NFC, not NFKC: compatibility characters are names of their own."""
    assert parse_resource("lock:\ufb01")[0] != parse_resource("lock:fi")[0]


@given(st.text(max_size=300))
def test_a_parsed_name_parses_to_itself(text: str) -> None:
    """The base is normalised, has no mark, and parses to the same resource again; nothing else is raised."""
    try:
        base, _ = parse_resource(text)
    except ValueError as refused:
        assert str(refused)
        return
    assert unicodedata.is_normalized("NFC", base)
    assert "#" not in base
    assert parse_resource(base) == (base, Mode.EXCLUSIVE)
    assert normal_name(base) == base
    assert base == base.strip()
    assert all(unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} for char in base)
