"""Chromium against a real server.

Every page that a test opens is watched. It must not ask another host, break the content security policy,
throw an error, or write an error to the console.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.panel import Panel, Team
from tests.server import ServerProcess

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these, the browser would look for updates at other hosts.
FLAGS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
# The browser logs each answer that is not a success. Tests intend refusals and problems.
ANSWER_LOGGED = re.compile(r"^Failed to load resource: the server responded with a status of 4\d\d")


expect.set_options(timeout=30_000)  # for a busy machine


@dataclass
class Watched:
    """A page that is watched. `faults` lists what it did wrong."""

    page: Page
    faults: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)


def chromium() -> str:
    """The path of the system's Chromium."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    assert path, f"none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"
    return path


@pytest.fixture(scope="package")
def served(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for all browser tests. Each visitor has their own trial."""
    data_dir = tmp_path_factory.mktemp("browser") / "data"
    shutil.copytree(bootstrapped, data_dir)
    many = ("INTRAMEDIAL_TRIALS_PER_HOUR", "INTRAMEDIAL_LOGIN_TRIES", "INTRAMEDIAL_ACCESS_REQUESTS")
    server = ServerProcess(data_dir, dict.fromkeys(many, "1000"))
    try:
        yield server.start()
    finally:
        server.kill()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium.

    It is not open for the whole session: while it is open, Playwright's event loop runs in this thread, and
    neither asynchronous tests nor Django's synchronous calls can run.
    """
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, served: ServerProcess) -> Iterator[Callable[..., Page]]:
    """`visit(path="/", origin=…, expect=…, **context)` opens a page as a new visitor, watched until the end.

    `expect` has patterns of console errors that the test causes. `context` goes to the browser context.
    """
    contexts: list[BrowserContext] = []
    watched: list[tuple[Watched, tuple[str, ...], str]] = []

    def open_page(path: str = "/", *, origin: str = "", expect: tuple[str, ...] = (), **context: Any) -> Page:
        origin = origin or served.url
        contexts.append(browser.new_context(locale="es-ES", **context))
        page = contexts[-1].new_page()
        watched.append((_watch(page), expect, origin))
        page.goto(origin + path)
        return page

    yield open_page
    try:
        for seen, expect, origin in watched:
            host = urlsplit(origin).netloc
            assert {urlsplit(url).netloc for url in seen.requested} <= {host, ""}
            assert [fault for fault in seen.faults if not any(re.search(p, fault) for p in expect)] == []
    finally:
        for context in contexts:
            context.close()


@pytest.fixture
def board(visit: Callable[..., Page]) -> Callable[..., Panel]:
    """`board(team, query="", …)` opens the board in a new browser context, watched like every page."""

    def open_board(team: Team, query: str = "", **context: Any) -> Panel:
        page = visit("/llms.txt", origin=team.server.url, **context)
        page.context.add_cookies([team.cookie])
        return Panel(page, team.url + query)

    return open_board


def _watch(page: Page) -> Watched:
    watched = Watched(page)

    def logged(message: Any) -> None:
        if message.type in ("error", "warning") and not ANSWER_LOGGED.match(message.text):
            watched.faults.append(f"console: {message.text}")

    page.on("console", logged)
    page.on("pageerror", lambda error: watched.faults.append(f"thrown: {error}"))
    page.on("request", lambda request: watched.requested.append(request.url))
    return watched
