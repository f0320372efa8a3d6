"""Every page is valid HTML, has a title and headings, and works with a screen reader."""

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tests.pages.conftest import PATHS, fetched, localized, parsed, text_of

ALL = tuple(localized(path, language) for path in PATHS for language in ("es", "en"))
REFERS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")


@pytest.mark.parametrize("path", ALL)
def test_a_page_is_valid_and_whole(path: str) -> None:
    page = parsed(path)  # raises on a fault
    assert page.get("lang") == ("en" if path.startswith("/en/") else "es")
    assert not re.search(r"\{[{%]|%\(|None\b(?!<)", fetched(path))

    ids = Counter(element.get("id") for element in page.iter() if element.get("id"))
    assert [name for name, count in ids.items() if count > 1] == []
    for element in page.iter():
        for attribute in REFERS:
            for name in (element.get(attribute) or "").split():
                assert name in ids, (attribute, name)
        if element.tag == "a" and (element.get("href") or "").startswith("#"):
            assert element.get("href")[1:] in ids, element.get("href")


@pytest.mark.parametrize("path", ALL)
def test_a_page_has_one_title_and_headings_in_order(path: str) -> None:
    page = parsed(path)
    levels = [int(e.tag[1]) for e in page.iter() if isinstance(e.tag, str) and re.fullmatch("h[1-6]", e.tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert text_of(page.find("head/title"))
    metas = {e.get("name") or e.get("property"): e.get("content") for e in page.iter("meta")}
    assert metas["description"]
    assert metas["og:image"].startswith("http")


@pytest.mark.parametrize("path", ALL)
def test_every_control_has_a_name(path: str) -> None:
    for element in (e for e in parsed(path).iter() if e.tag in ("a", "button", "summary")):
        pictures = [e.get("aria-label") for e in element.iter() if e.get("aria-label")]
        assert element.get("aria-label") or text_of(element) or pictures, element.attrib


@pytest.mark.parametrize("path", ALL)
def test_tables_have_headers(path: str) -> None:
    for table in parsed(path).iter("table"):
        assert table.find("caption") is not None
        heads = list(table.iter("th"))
        assert heads
        assert all(head.get("scope") in ("row", "col") for head in heads)


def test_titles_differ() -> None:
    titles = Counter((text_of(parsed(path).find("head/title")), path.startswith("/en/")) for path in ALL)
    assert [title for title, count in titles.items() if count > 1] == []


def sections(page: Any) -> list[str]:
    """The ids of the module page's chapters."""
    return [e.get("id") for e in page.iter("section") if "chapter" in (e.get("class") or "")]


def test_both_languages_have_the_same_anchors() -> None:
    ids = [[e.get("id") for e in parsed(path).iter() if e.get("id")] for path in ("/", "/en/")]
    assert ids[0] == ids[1]
    assert sections(parsed("/"))[0] == "registro"
