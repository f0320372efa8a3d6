"""The live board at all widths: words are cut only where there is no room, and then with an ellipsis."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.panel import ANA, BEA, CID, Panel, Team
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Board = Callable[..., Panel]

LONG_DID = "did:web:agents.platform.a-company-with-a-long-name.example:teams:deployment:an-agent-of-many-007"
KEY = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
LONG = "lock:deploy/" + "a-platform/of-many-parts/" * 6

# Texts cut without an ellipsis, and agents' names cut at their end or with room for two more letters.
CUT = """() => {
  const cut = [];
  for (const cell of document.querySelectorAll('.view:not([hidden]) .list-rows [role="cell"]')) {
    if (getComputedStyle(cell).textOverflow === "ellipsis") continue;
    if (cell.scrollWidth > cell.clientWidth + 1) cut.push(`${cell.className}: ${cell.textContent}`);
    const name = cell.querySelector(":scope > .who-did");
    if (!name?.title) continue;
    if (name.scrollWidth > name.clientWidth) cut.push(`end: ${name.textContent}`);
    if (!name.textContent.includes("…")) continue;
    const beside = [...cell.children].slice(1).reduce((sum, one) => sum + one.offsetWidth + 8, 0);
    const left = cell.clientWidth - name.offsetWidth - beside;
    const letter = name.offsetWidth / name.textContent.length;
    if (left > 2 * letter + 8 + beside) cut.push(`room for ${left / letter}: ${name.textContent}`);
  }
  return cut;
}"""


@pytest.fixture
def team(served: ServerProcess) -> Team:
    """A team with long names, a long queue and readers that share."""
    team = Team(served)
    team.take("lock:deploy", LONG_DID)
    for number in range(8):
        team.wait("lock:deploy", f"did:web:agents.example:a-waiter-of-many-{number}")
    team.take(LONG, KEY)
    team.take(LONG + "2", KEY)
    team.take("lock:z", KEY)
    team.wait(LONG, LONG_DID)
    for agent in (ANA, BEA, CID, LONG_DID):
        team.take("data:shared#read", agent)
    return team


@pytest.mark.parametrize("width", [360, 640, 768, 960, 1280, 1600, 2560])
def test_no_text_is_cut_where_there_is_room(board: Board, team: Team, width: int) -> None:
    panel = board(team, viewport={"width": width, "height": 1600})
    rows = {"Recursos": "lock:deploy", "Agentes": "lock:deploy", "Cronología": "data:shared"}
    for view, name in rows.items():
        panel.choose(view)
        if view == "Cronología":
            team.take("data:shared#read", LONG_DID)
        expect(panel.row(name).first).to_be_visible()
        assert panel.page.evaluate(CUT) == [], view
        assert panel.page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_two_names_share_the_room_and_a_short_one_stays_whole(board: Board, served: ServerProcess) -> None:
    team = Team(served)
    team.take("lock:short", ANA)
    team.take(LONG, ANA)
    panel = board(team, "?vista=agentes", viewport={"width": 1600, "height": 900})
    names = panel.view.get_by_role("row").nth(1).locator(".cell-holds button")
    expect(names).to_have_count(2)
    cut: Any = names.evaluate_all("all => all.map((one) => one.scrollWidth > one.clientWidth)")
    texts = names.all_inner_texts()
    assert dict(zip(texts, cut, strict=True)) == {"lock:short": False, LONG: True}


@pytest.mark.parametrize(("width", "whole"), [(360, 34), (1600, 44)])
def test_a_cycle_names_its_resources_in_full(
    board: Board, served: ServerProcess, width: int, whole: int
) -> None:
    team = Team(served)
    names = ["lock:" + letter * (whole - 5) for letter in "ab"]
    team.deadlock(*names)
    panel = board(team, "?vista=interbloqueos", viewport={"width": width, "height": 900})
    drawing = panel.view.locator(".circle-drawing")
    expect(drawing.locator(".section-node text")).to_have_text(names)
    outside: Any = drawing.locator(".section-node").evaluate_all(
        """all => all.filter((node) => {
          const [box, text] = [node.querySelector("rect"), node.querySelector("text")].map((one) =>
            one.getBoundingClientRect());
          return text.left < box.left || text.right > box.right || box.left < 0 || box.right > innerWidth;
        }).length"""
    )
    assert outside == 0


def test_icons_are_shown_without_the_server(board: Board, served: ServerProcess) -> None:
    team = Team(served)
    team.take("lock:a", ANA)
    team.wait("lock:a", BEA)
    panel = board(team)
    expect(panel.page.locator("body")).to_have_attribute("data-icons", "")
    panel.page.route("**/icons.svg", lambda route: route.abort())
    panel.row("lock:a").click()
    icons = panel.drawer.locator(".queue .icon use")
    expect(icons).to_have_count(1)
    assert icons.evaluate("icon => icon.getBBox().width") > 0
    assert violations(panel.page) == []


def test_the_time_of_day_has_24_hours_in_english_too(board: Board, served: ServerProcess) -> None:
    team = Team(served)
    panel = board(team, "?vista=cronologia")
    panel.page.goto(team.url.replace("/espacios/", "/en/espacios/") + "?vista=cronologia")
    panel.page.locator("#board[data-ready]").wait_for()
    team.take("lock:a")
    expect(panel.view.locator(".list-rows time")).to_have_text(re.compile(r"^\d{2}:\d{2}:\d{2}$"))
    assert panel.page.evaluate(CUT) == []
