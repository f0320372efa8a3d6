"""A browser loads little at its first visit, and no static file again at its second visit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.panel import Team
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
FIRST_VISIT_BYTES = 200_000
"""The most that the first visit of `/` may transfer, with headers."""


@dataclass
class Fetched:
    """The answers that came over the network: the bytes of each, by its address."""

    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def static(self) -> list[str]:
        """The static files among them."""
        return [url for url in self.sizes if "/static/" in url]


@contextmanager
def watched(page: Page) -> Iterator[Fetched]:
    """All that the page loads, except from the browser's cache."""
    fetched, addresses = Fetched(), dict[str, str]()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def answered(event: Any) -> None:
        if not event["response"]["fromDiskCache"]:
            addresses[event["requestId"]] = event["response"]["url"]

    session.on("Network.responseReceived", answered)
    session.on("Network.requestServedFromCache", lambda event: addresses.pop(event["requestId"], None))

    def done(event: Any) -> None:
        if event["requestId"] in addresses and event["encodedDataLength"]:
            fetched.sizes[addresses[event["requestId"]]] = event["encodedDataLength"]

    session.on("Network.loadingFinished", done)
    yield fetched
    session.detach()


def visited(context: BrowserContext, url: str, last: str, ready: str) -> Fetched:
    """Visit a page, scroll to `last` and wait for `ready`; returns what the page loads."""
    page = context.new_page()
    with watched(page) as fetched:
        page.goto(url)
        page.locator(last).scroll_into_view_if_needed()
        page.locator(ready).wait_for()
        page.wait_for_load_state("networkidle")
    page.close()
    return fetched


@pytest.mark.parametrize(
    ("path", "last", "ready"),
    [
        ("/", ".scenarios", ".scenarios[data-ready]"),
        ("/docs/", ".site-footer", "theme-switch button"),
        ("board", "#board", "#board[data-ready]"),
    ],
)
def test_a_second_visit_asks_for_no_static_file(
    browser: Browser, served: ServerProcess, path: str, last: str, ready: str
) -> None:
    with browser.new_context(locale="es-ES") as context:
        url = served.url + path
        if path == "board":
            team = Team(served)
            context.add_cookies([team.cookie])
            url = team.url
        first = visited(context, url, last, ready)
        assert len(first.static) > 10, first
        second = visited(context, url, last, ready)
        assert second.static == []
        assert second.sizes  # the page itself


def test_the_first_visit_is_light(browser: Browser, served: ServerProcess) -> None:
    with browser.new_context(locale="es-ES") as context:
        fetched = visited(context, served.url, "#lanzar", "#lanzar[data-ready]")
        total = sum(fetched.sizes.values())
        assert 50_000 < total < FIRST_VISIT_BYTES, fetched
