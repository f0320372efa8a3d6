"""A browser whose tabs hide one another, as in ordinary use.

Playwright makes every page visible. So these tests use the browser's own protocol (CDP).
"""

import itertools
import json
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import connect

from tests.browser.conftest import FLAGS, chromium

PATIENCE_S = 30.0


class Tab:
    """A tab. `session` is the id of the protocol session for it."""

    def __init__(self, tabs: "Tabs") -> None:
        self.tabs = tabs
        self.target = tabs.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = tabs.ask("Target.attachToTarget", targetId=self.target, flatten=True)
        self.session = attached["sessionId"]

    def ask(self, method: str, **what: Any) -> Any:
        """The result of a method of the protocol for this tab."""
        return self.tabs.ask(method, self.session, **what)

    def show(self) -> None:
        """Bring the tab to the front, which hides the one that was there."""
        self.tabs.ask("Target.activateTarget", targetId=self.target)

    def run(self, script: str) -> Any:
        """The value of an expression on the tab's page."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait(self, script: str, wanted: Any = True) -> None:
        """Wait until an expression on the page has a value."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.run(script)) != wanted:
            assert time.monotonic() < deadline, f"{script} is {found!r}, not {wanted!r}"
            time.sleep(0.05)


class Tabs:
    """The browser with its own profile."""

    def __init__(self, profile: Path) -> None:
        self.profile = profile
        self.numbers = itertools.count(1)
        self.open_until_end = ExitStack()

    def __enter__(self) -> Self:
        own = ["--headless=new", f"--user-data-dir={self.profile}", "--remote-debugging-port=0"]
        with (self.profile / "log").open("wb") as log:
            self.process = subprocess.Popen([chromium(), *FLAGS, *own, "about:blank"], stdout=log, stderr=log)
        where = self.profile / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE_S
        while not (where.exists() and len(where.read_text().split()) == 2):
            assert time.monotonic() < deadline, (self.profile / "log").read_text()
            time.sleep(0.05)
        port, path = where.read_text().split()
        address = f"ws://127.0.0.1:{port}{path}"
        self.socket = self.open_until_end.enter_context(connect(address, max_size=None, proxy=None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open_until_end.close()
        self.process.kill()
        self.process.wait()

    def ask(self, method: str, session: str | None = None, **what: Any) -> Any:
        """The result of a method of the protocol."""
        number = next(self.numbers)
        given = {"id": number, "method": method, "params": what}
        self.socket.send(json.dumps(given | ({"sessionId": session} if session else {})))
        while (answer := json.loads(self.socket.recv(PATIENCE_S))).get("id") != number:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, url: str, cookie: dict[str, Any], first: str, ready: Callable[[Tab], None]) -> Tab:
        """Open a page in a new tab, with a script that runs before all others."""
        tab = Tab(self)
        tab.ask("Network.setCookie", **cookie)
        tab.ask("Page.enable")
        tab.ask("Page.addScriptToEvaluateOnNewDocument", source=first)
        tab.ask("Page.navigate", url=url)
        ready(tab)
        return tab
