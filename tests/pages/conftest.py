"""Pages as they are served, without a browser: fetched once in each language."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import html5lib
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from intramedial import urls

LANGUAGES = tuple(code for code, _name in settings.LANGUAGES)
with override(settings.LANGUAGE_CODE):
    PATHS = tuple(reverse(name, args=arguments) for name, arguments in urls.pages())


@cache
def fetched(path: str) -> str:
    """The HTML of a page; fails unless the status is 200."""
    answer = Client().get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


@cache
def parsed(path: str) -> Any:
    """A page as a tree with elements without namespaces; raises on any fault of the HTML."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(fetched(path))


def localized(path: str, language: str) -> str:
    """The address of a Spanish page in a language."""
    return path if language == settings.LANGUAGE_CODE else f"/{language}{path}"


def text_of(element: Any) -> str:
    """All text inside an element, with white space collapsed."""
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Each language of the site."""
    return str(request.param)


@pytest.fixture
def home(language: str) -> Any:
    """The module page in a language, as a tree."""
    return parsed(localized("/", language))


@pytest.fixture
def client_get() -> Callable[..., Any]:
    """`client_get(path, **headers)`: an answer of the site."""
    return lambda path, **headers: Client().get(path, headers=headers)
