"""The four scenarios, played to the last step on the real authority, in the visitor's own workspace."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from coordination.pages.module.scenarios import FILES, STORIES
from tests.browser.lanzar import Lanzar, change_trial
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
CALLS = {story.id: story.calls for story in STORIES}
TTL_S = 4
PLAYED = """async () => {
  const { Player } = await import("/static/js/scenarios/player.js");
  const seen = [];
  for (const presses of [["run", "pause", "run"], ["step", "pause", "step"], ["step", "pause", "run"]]) {
    let [done, at, most] = [0, 0, 0];
    const player = new Player(async () => {
      most = Math.max(most, (at += 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      at -= 1;
      return (done += 1) < 4 ? 1 : null;
    });
    await Promise.all(presses.map((press) => player[press]()));
    seen.push([player.state, done, most]);
  }
  return seen;
}"""


@pytest.fixture(scope="module")
def quick(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose leases expire in a few seconds."""
    data_dir = tmp_path_factory.mktemp("scenarios") / "data"
    shutil.copytree(bootstrapped, data_dir)
    env = {"INTRAMEDIAL_LEASE_TTL_MS": str(TTL_S * 1000), "INTRAMEDIAL_TRIALS_PER_HOUR": "1000"}
    server = ServerProcess(data_dir, env)
    try:
        yield server.start()
    finally:
        server.kill()


def server_of(story: str) -> str:
    """The name of the fixture with the server of a story. Only one story needs leases that expire soon."""
    return "quick" if story == "crash" else "served"


class Scenarios:
    """The scenarios as a visitor uses them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.locator("#lanzar[data-ready]").wait_for()
        self.root = page.locator('[data-part="scenarios"]')
        self.root.scroll_into_view_if_needed()
        page.locator('[data-part="scenarios"][data-ready]').wait_for()
        self.main = self.root.locator('[data-part="run"]')
        self.step = self.root.get_by_role("button", name="Paso")
        self.status = self.root.get_by_role("status")
        self.key = page.locator('[data-part="key"]')

    def choose(self, story: str, speed: str = "4") -> None:
        """Choose a story and its speed."""
        self.root.locator(f'input[name="scenario"][value="{story}"]').check()
        expect(self.root.locator(f'.choice input[value="{story}"]')).to_be_checked()
        self.root.locator(f'.speeds input[value="{speed}"]').check()

    def to_the_end(self) -> None:
        """Run the story and wait for its last step."""
        self.main.click()
        expect(self.root.locator(".story-stage")).to_have_attribute("data-state", "done", timeout=60_000)
        checks = {
            check.get_attribute("data-check"): check.get_attribute("data-ok")
            for check in self.root.locator("[data-check]").all()
        }
        assert checks
        assert set(checks.values()) == {"true"}, checks
        expect(self.status).to_contain_text("Se cumple todo.")


@pytest.mark.parametrize("story", CALLS)
def test_a_story_ends_and_costs_the_calls_that_it_shows(
    visit: Visit, request: pytest.FixtureRequest, story: str
) -> None:
    server: ServerProcess = request.getfixturevalue(server_of(story))
    scenarios = Scenarios(visit(origin=server.url))
    scenarios.choose(story)
    assert CALLS[story] <= 6
    words = "una de tus llamadas" if CALLS[story] == 1 else f"{CALLS[story]} de tus llamadas"
    expect(scenarios.root).to_contain_text(words)
    scenarios.to_the_end()
    expect(scenarios.key).to_contain_text(f"{35 - CALLS[story]} de 35")
    if story == "stampede":
        expect(scenarios.root.locator('.crowd [data-state="done"]')).to_have_count(50)
    else:
        expect(scenarios.root.locator(".receipt-mark.is-go")).to_have_count(CALLS[story])


def test_a_story_runs_step_by_step_pauses_and_begins_again(visit: Visit) -> None:
    scenarios = Scenarios(visit())
    scenarios.choose("lock", "0.5")
    steps = scenarios.root.locator(".lane-step")
    scenarios.step.click()
    expect(steps.nth(0)).to_have_attribute("data-state", "done")
    expect(steps.nth(0)).to_contain_text("testigo 1")
    expect(scenarios.root.locator(".story-track-part .holder")).to_contain_text("Agente A")
    expect(scenarios.main).to_have_text("Seguir")
    scenarios.step.click()
    expect(steps.nth(1)).to_contain_text("puesto 1, vuelve en 25 ms")
    expect(scenarios.root.locator(".story-track-part .queue li")).to_contain_text("Agente B")
    expect(steps.nth(2)).to_have_attribute("data-state", "todo")
    scenarios.main.click()
    expect(steps.nth(2)).to_have_attribute("data-state", "done")
    scenarios.main.click()
    expect(scenarios.main).to_have_text("Seguir")
    expect(steps.nth(4)).to_have_attribute("data-state", "todo")
    scenarios.choose("lock", "4")
    scenarios.to_the_end()
    scenarios.main.click()
    expect(steps.nth(4)).to_have_attribute("data-state", "todo")
    expect(scenarios.root.locator(".story-stage")).to_have_attribute("data-state", "done", timeout=30_000)
    expect(scenarios.key).to_contain_text("25 de 35")


def test_a_press_during_a_step_begins_no_second_step(visit: Visit) -> None:
    assert visit("/docs/mcp/").evaluate(PLAYED) == [["done", 4, 1], ["paused", 1, 1], ["done", 4, 1]]


def test_a_resource_in_use_is_not_touched(visit: Visit) -> None:
    page = visit()
    page.locator("#lanzar[data-ready]").wait_for()
    page.keyboard.press("Control+Enter")
    expect(page.locator('[data-part="answer"]')).to_contain_text("Concedido")
    scenarios = Scenarios(page)
    scenarios.choose("lock")
    scenarios.step.click()
    expect(scenarios.root.locator(".lane-step").nth(0)).to_contain_text("lock:deploy/production-2")


def test_the_reason_that_stops_a_story_is_shown(visit: Visit) -> None:
    scenarios = Scenarios(visit(expect=("net::ERR_FAILED",)))
    scenarios.choose("lock")
    scenarios.step.click()
    expect(scenarios.root.locator(".lane-step").nth(0)).to_have_attribute("data-state", "done")
    scenarios.page.route("**/acp/**", lambda route: route.abort())
    scenarios.step.click()
    expect(scenarios.status).to_contain_text("No se ha podido llegar al servidor.")
    expect(scenarios.main).to_have_text("Otra vez")


def test_too_few_calls_are_shown_before_they_are_spent(visit: Visit, served: ServerProcess) -> None:
    lanzar = Lanzar(visit())
    did = lanzar.launch()["lease"]["holder"]
    change_trial(served, did, "calls_used = 32")
    lanzar.launch()
    scenarios = Scenarios(lanzar.page)
    expect(scenarios.root).to_contain_text("Cuesta 5 llamadas y te quedan 2.")
    expect(scenarios.main).to_be_disabled()


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1600, "light")])
def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Visit, width: int, theme: str) -> None:
    page = visit(color_scheme=theme, viewport={"width": width, "height": 900})
    scenarios = Scenarios(page)
    scenarios.choose("deadlock")
    scenarios.to_the_end()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    scenarios.choose("stampede")
    scenarios.main.click()
    expect(scenarios.root.locator('.crowd [data-state="done"]').first).to_be_attached()
    scenarios.main.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


@pytest.mark.parametrize("file", FILES)
def test_a_program_runs_as_it_is_downloaded(
    request: pytest.FixtureRequest, tmp_path: Path, file: str
) -> None:
    story, _ = FILES[file]
    server: ServerProcess = request.getfixturevalue(server_of(story.id))
    program = tmp_path / file
    got = subprocess.run(
        ["curl", "-sSf", "-o", str(program), f"{server.url}/escenarios/{file}"],
        capture_output=True,
        text=True,
    )
    assert got.returncode == 0, got.stderr
    shell = ["sh"] if file.endswith(".sh") else [sys.executable, "-I"]
    env = {"PATH": os.environ["PATH"], "INTRAMEDIAL_KEY": server.secrets["apiKey"]}
    done = subprocess.run([*shell, str(program)], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    line = done.stdout.splitlines()[-1]
    if story.id == "deadlock":
        assert re.search("did:web:agents.example:bea → |released", line)
    else:
        assert re.search(r"\b\d+ > \d+$", line), done.stdout
