"""The module page is true: figures, fields, samples, promises, paths."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import Resolver404, resolve
from django.utils.translation import override

from coordination import mcp
from coordination.api import schemas
from coordination.api.schemas import MAX_PAGE
from coordination.core.names import MAX_NAME, READ_SAFE_CLASSES
from coordination.live.consumers import websocket_urlpatterns
from coordination.pages.module import article, fields, figures, promises, reference
from intramedial import api
from tests.pages.conftest import fetched, localized, text_of

ROOT = Path(__file__).resolve().parent.parent.parent


def by_id(page: Any, name: str) -> Any:
    """The element with this id."""
    return next(element for element in page.iter() if element.get("id") == name)


# --- figures ------------------------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_settings(home: Any) -> None:
    steps = text_of(by_id(home, "mecanismo"))
    assert "waitMs = min(800, 25 · 2n)" in steps
    assert (settings.STAMPEDE_CAP_MS, settings.STAMPEDE_BASE_MS) == (800, 25)
    for ms in (settings.LEASE_TTL_MS, settings.OFFER_MS, settings.WAIT_TTL_MS):
        assert f"{ms // 1000}\N{NO-BREAK SPACE}s" in "".join(by_id(home, "mecanismo").itertext())
    assert settings.QUEUE_LIMIT == 8
    places = [text_of(item) for item in by_id(home, "mecanismo").iter("li")]
    waits = [place.split()[-2] for place in places if place.endswith(" ms") and len(place) < 20]
    assert waits == ["25", "50", "100", "200", "400", "800", "800", "800"]


def test_another_setting_is_another_figure(settings: Any) -> None:
    settings.LEASE_TTL_MS, settings.QUEUE_LIMIT, settings.STAMPEDE_CAP_MS = 12_500, 3, 60
    with override("es"):
        found = figures.figures()
        shown = article.context()
    assert found["ttl"] == "12,5\N{NO-BREAK SPACE}s"
    assert [wait for _place, wait in found["waits"]] == [f"{n}\N{NO-BREAK SPACE}ms" for n in (25, 50, 60)]
    assert shown["one_lock"][0].answer["lease"]["ttlMs"] == 12_500
    assert len(shown["stampede"].places) == 3


@pytest.mark.parametrize("ttl", [50, 700, 86_400_000])
@pytest.mark.parametrize("queue", [1, 1000])
def test_no_setting_breaks_the_page(settings: Any, ttl: int, queue: int) -> None:
    settings.LEASE_TTL_MS, settings.QUEUE_LIMIT, settings.OFFER_MS, settings.WAIT_TTL_MS = ttl, queue, 10, 50
    with override("en"):
        shown = article.context()
    assert shown["stampede"].grants == 1
    assert shown["refusals"][0].example()["reason"] == "lease_held"


def test_the_limits_are_those_of_the_settings(home: Any, language: str) -> None:
    with override(language):
        shown = [limit.amount for limit in reference.limits()]
    assert [text_of(cell) for cell in by_id(home, "construccion-limites").iter("td")][1::3] == [
        amount.replace("\N{NO-BREAK SPACE}", " ") for amount in shown
    ]
    spaced = "10.000" if language == "es" else "10,000"
    assert shown[:7] == ["16\N{NO-BREAK SPACE}KiB", "16", str(MAX_NAME), "256", str(MAX_PAGE), "8", spaced]
    assert settings.WORKSPACE_RESOURCES == 10_000


def test_trust_and_classes_are_those_of_the_core(home: Any, language: str) -> None:
    words = text_of(by_id(home, "construccion-confianza"))
    for figure in ("50,0", "+0,5", "−5,0") if language == "es" else ("50.0", "+0.5", "−5.0"):
        assert figure in words
    assert set(figures.CLASSES) == READ_SAFE_CLASSES
    rows = list(by_id(home, "construccion-lecturas").iter("tr"))[1:]
    assert [[text_of(cell) for cell in row.iter("td")] for row in rows] == [["shared", "exclusive"]] * 4 + [
        ["exclusive", "exclusive"]
    ]


# --- fields -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", fields.SHAPES, ids=lambda shape: shape.__name__)
def test_the_fields_are_those_of_the_api(shape: Any) -> None:
    wire_names = [field.alias or name for name, field in shape.model_fields.items()]
    assert list(fields.SHAPES[shape]) == wire_names
    assert [row.name for row in fields.of(shape)] == wire_names


def test_every_claim_of_a_receipt_is_described() -> None:
    assert list(fields.CLAIMS) == list(fields.example_claims({}))


def test_the_page_shows_every_field(home: Any) -> None:
    shown = {text_of(cell) for cell in by_id(home, "registro").iter("th")}
    names = [schemas.LeaseRequest, schemas.Lease, schemas.LeaseHeld, schemas.Deadlock]
    assert {row.name for shape in names for row in fields.of(shape)} <= shown


# --- promises -----------------------------------------------------------------------------------------------

PROMISES = (*promises.DOES, *promises.DOES_NOT)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_every_promise_names_an_existing_test(promise: promises.Promise) -> None:
    tree = ast.parse((ROOT / promise.file).read_text("utf-8"))
    functions = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert promise.name in functions


def test_every_promise_links_to_the_part_that_shows_it(home: Any) -> None:
    for name, listed in (("garantias", promises.DOES), ("no-garantiza", promises.DOES_NOT)):
        links = [link.get("href") for row in by_id(home, name).iter("td") for link in row.iter("a")]
        assert links == [f"#{promise.anchor}" for promise in listed]
        assert all(by_id(home, link[1:]) is not None for link in links)


# --- paths --------------------------------------------------------------------------------------------------


def served(path: str) -> bool:
    """Whether the service answers at this path."""
    if path in api.routes_by_path() or path in mcp.PATHS:
        return True
    if path.startswith("/ws/"):
        bare = re.sub(r"\{[^}]*\}", "x", path).lstrip("/")
        return any(route.pattern.match(bare) for route in websocket_urlpatterns)
    try:
        resolve(path)
    except Resolver404:
        return Client().get(path).status_code == 200  # static files
    return True


def test_every_named_path_is_served(language: str) -> None:
    page = fetched(localized("/", language))
    named = set(re.findall(r"""(?:>|\s|127\.0\.0\.1:8000)(/[a-z.][\w./{}-]*)""", page))
    named |= {
        link.partition("?")[0].partition("#")[0] for link in re.findall(r'(?:href|src)="(/[^"]*)"', page)
    }
    named = {path for path in named if not path.startswith("/static/")}
    assert len(named) > 30
    assert sorted(path for path in named if not served(path)) == []


def test_every_operation_is_described_on_the_page(home: Any) -> None:
    table = api.routes_by_path()
    operations = {(method, path) for path, methods in table.items() for method in methods}
    lines = [text_of(term) for term in by_id(home, "rest").iter("dt")]
    assert {tuple(line.split(" ")) for line in lines if " /" in line} == operations
    tags = {tag for tag, _title in reference.GROUPS}
    listed = [operation for _title, group in reference.operations() for operation in group]
    assert {operation.name for operation in listed} == set(reference.WORDS)
    assert len(listed) == len(operations)
    assert len(reference.operations()) == len(tags)


def test_every_mcp_tool_is_described_on_the_page(home: Any) -> None:
    names = [tool.name for tool in reference.tools()]
    assert {tool.dotted for tool in reference.tools()} == set(reference.TOOL_WORDS)
    assert [text_of(term).split()[0] for term in by_id(home, "mcp").iter("dt")] == names
    assert "/mcp" in mcp.PATHS
    assert "/mcp/compat" in mcp.PATHS


# --- the page as Markdown -----------------------------------------------------------------------------------


def test_the_markdown_has_the_text_of_the_page(home: Any, language: str) -> None:
    answer = Client().get(localized("/modulo.md", language))
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    text = answer.content.decode()
    for section in article.SECTIONS:
        title = text_of(by_id(home, f"{section.id}-title")).removesuffix(" #")
        assert f"\n## {title}\n" in text
    assert "<" not in re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert text.count("```") % 2 == 0
    assert "| `fencingToken` |" in text
    assert "`waitMs = min(800, 25 · 2^n)`" in text
    assert len(text) > 15_000


def test_every_situation_can_be_opened_in_lanzar(home: Any) -> None:
    opened = [json.loads(e.get("data-launch")) for e in home.iter("a") if e.get("data-launch")]
    assert len(opened) >= 12
    assert all(sample["operation"] in ("lease", "release", "wait") for sample in opened)
