"""The script that keeps a live socket open has one socket at a time, whatever the tab and the network do."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.server import ServerProcess

pytestmark = pytest.mark.browser

# Sockets that behave as `world` sets. `OPEN` counts those that are not closed.
WORLD = """async ({ ticket }) => {
  const { Live } = await import("/static/js/lib/live.js");
  const world = (window.world = { answers: true, tickets: [], sockets: [] });
  window.WebSocket = class {
    static OPEN = 1;
    readyState = 0;
    constructor() {
      world.sockets.push(this);
      setTimeout(() => (world.answers === null ? null : world.answers ? this.answer() : this.lose()), 1);
    }
    answer() {
      if (this.readyState > 1) return;
      this.readyState = 1;
      const serverTime = new Date().toISOString();
      const empty = { holders: [], queue: [], deadlocks: [], trust: {} };
      this.onmessage({ data: JSON.stringify({ type: "snapshot", seq: 1, serverTime, ...empty }) });
    }
    lose() {
      if (this.readyState !== 3) this.onclose({ code: 1006 });
      this.readyState = 3;
    }
    close() {
      this.readyState = 2;
    }
  };
  const asked = () => new Promise((resolve) => world.tickets.push(resolve));
  world.live = new Live("/ws/none/", ticket ? asked : null);
  world.live.start();
}"""
OPEN = "world.sockets.filter(({ readyState }) => readyState < 2).length"


class Tab:
    """A page with this script, whose clock moves only with `pass_s`."""

    def __init__(self, page: Page, url: str, ticket: bool = False) -> None:
        self.page = page
        page.goto(f"{url}/docs/mcp/")
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now() + 60_000"))
        page.evaluate(WORLD, {"ticket": ticket})
        self.pass_s(1)

    def pass_s(self, seconds: float) -> None:
        self.page.clock.run_for(round(seconds * 1000))

    def do(self, what: str) -> None:
        self.page.evaluate(f"() => {{ {what} }}")

    def hide(self, hidden: bool) -> None:
        self.page.evaluate(
            """(hidden) => {
              Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
              document.dispatchEvent(new Event("visibilitychange"));
            }""",
            hidden,
        )

    @property
    def state(self) -> Any:
        return self.page.evaluate("world.live.state")

    @property
    def open(self) -> Any:
        return self.page.evaluate(OPEN)


@pytest.fixture
def page(browser: Browser) -> Any:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_a_tab_shown_again_while_it_reconnects_has_one_socket(page: Page, served: ServerProcess) -> None:
    tab = Tab(page, served.url)
    assert (tab.state, tab.open) == ("live", 1)
    tab.do("world.answers = false; world.sockets.at(-1).lose()")
    tab.pass_s(20)
    assert (tab.state, tab.open) == ("reconnecting", 0)
    tab.hide(True)
    tab.do("world.answers = true")
    tab.hide(False)
    tab.pass_s(0.1)
    assert (tab.state, tab.open) == ("live", 1)
    tab.pass_s(10)
    assert (tab.state, tab.open) == ("live", 1)


def test_a_tab_hidden_for_a_minute_closes_its_socket_also_a_new_one(
    page: Page, served: ServerProcess
) -> None:
    tab = Tab(page, served.url)
    tab.do("world.answers = false; world.sockets.at(-1).lose()")
    tab.pass_s(5)
    tab.hide(True)
    tab.do("world.answers = true")
    for _ in range(21):  # the script waits a random time before it tries again
        if tab.state != "live":
            tab.pass_s(1)
    assert (tab.state, tab.open) == ("live", 1)
    for _ in range(6):
        tab.do("world.sockets.at(-1).answer()")
        tab.pass_s(10)
    assert (tab.state, tab.open) == ("paused", 0)
    tab.pass_s(300)
    assert (tab.state, tab.open) == ("paused", 0)
    tab.hide(False)
    tab.pass_s(0.1)
    assert (tab.state, tab.open) == ("live", 1)


def test_a_ticket_that_comes_late_opens_no_second_socket(page: Page, served: ServerProcess) -> None:
    tab = Tab(page, served.url, ticket=True)
    tab.hide(True)
    tab.hide(False)
    assert page.evaluate("world.tickets.length") == 2
    page.evaluate("world.tickets.forEach((given) => given('t'))")
    tab.pass_s(1)
    assert (tab.state, tab.open) == ("live", 1)
    assert page.evaluate("world.sockets.length") == 1


def test_a_silent_socket_is_replaced_before_it_closes(page: Page, served: ServerProcess) -> None:
    tab = Tab(page, served.url)
    tab.do("world.answers = null")
    tab.pass_s(17)
    assert tab.state == "reconnecting"
    # The next socket does not open.
    tab.pass_s(2)
    assert page.evaluate("world.sockets.length") == 2
    tab.do("world.answers = true")
    tab.pass_s(20)
    assert (tab.state, tab.open) == ("live", 1)
