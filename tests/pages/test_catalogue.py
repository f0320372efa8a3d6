"""Every reason has a page in both languages; the type of every problem opens it; the examples are real."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import get_template
from django.test import Client
from django.utils.translation import override

from coordination.core.messages import Reason
from coordination.pages.module import article
from coordination.pages.texts.problems import REFUSALS
from intramedial.http.problems import REASONS, Problem, problem_body
from intramedial.http.shapes import ProblemShape
from intramedial.web import errors
from tests.pages.conftest import localized, parsed, text_of

ALL = [*(reason.value for reason in Reason), *REASONS]


def test_no_reason_is_missing() -> None:
    assert [entry.reason for entry in article.reasons()] == ALL
    assert set(REFUSALS) == set(Reason)
    assert set(errors.WHAT) == set(errors.DETAILS) == set(REASONS)
    for reason in ALL:
        get_template(f"errors/{reason}.html")


@pytest.mark.parametrize("reason", ALL)
def test_a_page_explains_the_reason_the_remedy_and_an_example(reason: str, language: str) -> None:
    page = parsed(localized(f"/errores/{reason}/", language))
    headings = [text_of(heading) for heading in page.iter("h2")]
    expected = {
        "es": ["Por qué", "Cómo arreglarlo", "Un ejemplo"],
        "en": ["Why", "How to mend it", "An example"],
    }
    assert headings == expected[language]
    assert text_of(next(page.iter("h1"))) == reason
    parts = [e for e in page.iter("section") if "prose" in (e.get("class") or "")]
    assert [len(text_of(part)) > 60 for part in parts] == [True, True]
    body = json.loads(text_of(next(page.iter("pre"))))
    assert (body["ok"], body["reason"]) == (False, reason)


@pytest.mark.parametrize("reason", REASONS)
def test_the_type_of_a_problem_opens_its_page(reason: str) -> None:
    address = problem_body(Problem(reason, "x"), "r")["type"]
    assert address == f"{settings.BASE_URL}/errores/{reason}"
    answer = Client().get(address.removeprefix(settings.BASE_URL), follow=True)
    assert answer.status_code == 200
    assert answer.redirect_chain == [(f"/errores/{reason}/", 301)]


@pytest.mark.parametrize("reason", REASONS)
def test_an_example_is_the_problem_that_the_api_answers(reason: str) -> None:
    entry = next(entry for entry in errors.platform_entries() if entry.reason == reason)
    body = entry.example()
    ProblemShape.model_validate_json(json.dumps(body))
    assert body["status"] == entry.status == REASONS[reason][0]
    assert ("errors" in body) == (reason == "invalid_request")


def test_the_lists_name_every_reason(language: str) -> None:
    for path in ("/errores/", "/"):
        page = parsed(localized(path, language))
        tables = [e for e in page.iter("table") if "reasons" in (e.get("class") or "")]
        listed = [
            text_of(cell) for table in tables for cell in table.iter("th") if cell.get("scope") == "row"
        ]
        assert listed == ALL


def test_the_explanation_differs_by_language() -> None:
    for entry in article.reasons():
        with override("es"):
            spanish = str(entry.what)
        with override("en"):
            assert str(entry.what) != spanish


@pytest.mark.parametrize("reason", ["nope", "LEASE_HELD", "lease-held"])
def test_an_unknown_reason_is_an_unknown_page(reason: str, client_get: Any) -> None:
    assert client_get(f"/errores/{reason}/").status_code == 404
    assert client_get(f"/en/errores/{reason}/").status_code == 404
