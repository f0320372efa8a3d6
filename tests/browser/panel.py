"""The live board of a workspace as a member uses it, and the agents that it shows."""

import json
import time
import urllib.error
import urllib.request
from re import Pattern
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.membership import asked
from tests.server import ServerProcess

ANA, BEA, CID = (f"did:web:agents.example:{name}" for name in ("ana", "bea", "cid"))

KEEP = """(resource) => {
  const kept = Object.assign(document.createElement("div"), { id: "kept", hidden: true });
  document.body.append(kept);
  const look = () => {
    const names = [...document.querySelectorAll(".list-rows code")];
    const row = names.find((one) => one.textContent === resource)?.closest('[role="row"]');
    const shown = row && `${row.textContent} · ${row.querySelector('[role="timer"]')?.textContent}`;
    if (shown && kept.lastChild?.textContent !== shown) {
      kept.append(Object.assign(document.createElement("p"), { textContent: shown }));
    }
    requestAnimationFrame(look);
  };
  look();
}"""


class Team:
    """A new workspace on a server, with one member. `ask` sends requests for its agents."""

    def __init__(self, server: ServerProcess, role: str = "owner") -> None:
        self.server = server
        made = asked(server, role=role)
        self.workspace, self.key, self.user = made["workspace"], made["apiKey"], made["user"]
        self.cookie: Any = made["cookie"]
        self.url = f"{server.url}/espacios/{self.workspace}/panel/"

    def ask(self, operation: str, resource: str, agent: str = ANA) -> dict[str, Any]:
        """Send `lease` or `release`; returns the body of the answer."""
        request = urllib.request.Request(
            f"{self.server.url}/api/v1/acp/coordination/{operation}",
            json.dumps({"resource": resource, "actorDid": agent}).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            answer = urllib.request.urlopen(request, timeout=20)
        except urllib.error.HTTPError as refused:
            answer = refused
        body: dict[str, Any] = json.load(answer)
        return body

    def take(self, resource: str, agent: str = ANA) -> int:
        """Acquire a free resource; returns the fencing token."""
        answer = self.ask("lease", resource, agent)
        assert answer["ok"], answer
        return int(answer["lease"]["fencingToken"])

    def wait(self, resource: str, agent: str) -> None:
        """Acquire a resource that is held, and wait in its queue."""
        answer = self.ask("lease", resource, agent)
        assert (answer["ok"], answer.get("queued")) == (False, True), answer

    def deadlock(self, one: str = "lock:a", other: str = "lock:b") -> None:
        """Ana holds `one` and waits for `other`. Bea holds `other` and is refused `one`."""
        self.take(one, ANA)
        self.take(other, BEA)
        self.wait(other, ANA)
        assert self.ask("lease", one, BEA)["reason"] == "deadlock"


class Panel:
    """The elements of the board's page, and what a member does with them."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        page.goto(url)
        self.root = page.locator("#board")
        self.chip = page.locator('[data-part="connection"]')
        self.drawer = page.get_by_role("dialog")
        page.locator("#board[data-ready]").wait_for()

    @property
    def view(self) -> Locator:
        """The view that is shown."""
        return self.page.locator(".view:not([hidden])")

    @property
    def changes(self) -> Locator:
        """The button that shows how many rows have not been moved."""
        return self.view.locator('[data-part="changes"]')

    def row(self, resource: str) -> Locator:
        """A row of the list that is shown."""
        named = self.page.get_by_text(resource, exact=True)
        return self.view.get_by_role("row").filter(has=named)

    def keep(self, resource: str) -> None:
        """From now on record for `kept` what the row of a resource shows, followed by its timer."""
        self.page.evaluate(KEEP, resource)

    def kept(self, words: str | Pattern[str]) -> Locator:
        """The texts with these words that the row has shown, for however short a time."""
        return self.page.locator("#kept p").filter(has_text=words)

    def choose(self, view: str) -> None:
        """Choose another view."""
        self.page.get_by_role("navigation", name="Vistas del panel").get_by_role("link", name=view).click()

    def hide(self, hidden: bool) -> None:
        """Let the page believe that its tab went to the background or came to the front."""
        self.page.evaluate(
            """(hidden) => {
              Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
              document.dispatchEvent(new Event("visibilitychange"));
            }""",
            hidden,
        )


def opened(browser: Browser, team: Team, query: str = "", **context: Any) -> Panel:
    """The board in a new browser context."""
    fresh = browser.new_context(locale="es-ES", **context)
    fresh.add_cookies([team.cookie])
    return Panel(fresh.new_page(), team.url + query)


def seen_after_ms(panels: list[Panel], team: Team, resource: str) -> list[float]:
    """The milliseconds from the answer to a grant until each board shows it."""
    for panel in panels:
        panel.page.evaluate(
            """(resource) => {
              const look = () => {
                const names = [...document.querySelectorAll(".list-rows code")].map((one) => one.textContent);
                if (names.includes(resource)) window.seen = Date.now();
                else requestAnimationFrame(look);
              };
              look();
            }""",
            resource,
        )
    team.take(resource)
    granted = time.time() * 1000
    for panel in panels:
        expect(panel.row(resource)).to_be_visible()
    return [float(panel.page.evaluate("window.seen")) - granted for panel in panels]
