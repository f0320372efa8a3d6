"""The live board in a tab that is really hidden behind another one: shortly, for long, and frozen."""

from pathlib import Path

import pytest

from tests.browser.panel import Team
from tests.browser.tabs import Tab, Tabs
from tests.server import ServerProcess

pytestmark = pytest.mark.browser

# Here a hidden tab closes its socket after less than the usual minute.
FIRST = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    sockets.push(this);
  }
};
const later = window.setTimeout;
window.setTimeout = (then, ms, ...given) => later(then, ms === 60_000 ? 500 : ms, ...given);
"""
CHIP = """document.querySelector('[data-part="connection"]').textContent"""
NAMES = "[...document.querySelectorAll('.list-rows code')].map((one) => one.textContent).sort().join()"
OPEN = "sockets.filter(({ readyState }) => readyState < 2).length"


def ready(tab: Tab) -> None:
    """Wait until the board is ready."""
    tab.wait("document.querySelector('#board[data-ready]') !== null")


def test_a_tab_behind_another_stops_and_is_right_when_it_is_shown(
    served: ServerProcess, tmp_path: Path
) -> None:
    team = Team(served)
    team.take("lock:a")
    with Tabs(tmp_path) as tabs:
        tab = tabs.open(team.url, team.cookie, FIRST, ready)
        tab.wait(CHIP, "En vivo")
        assert (tab.run(NAMES), tab.run(OPEN)) == ("lock:a", 1)

        other = Tab(tabs)
        other.show()
        tab.wait("document.visibilityState", "hidden")
        tab.wait(CHIP, "En pausa")
        tab.wait(OPEN, 0)
        team.take("lock:b")
        assert tab.run(NAMES) == "lock:a"
        tab.show()
        tab.wait(NAMES, "lock:a,lock:b")
        tab.wait(CHIP, "En vivo")
        assert tab.run(OPEN) == 1

        # A browser may stop the scripts of a hidden tab.
        other.show()
        tab.wait(OPEN, 0)
        tab.ask("Page.setWebLifecycleState", state="frozen")
        team.ask("release", "lock:a")
        team.take("lock:c")
        tab.ask("Page.setWebLifecycleState", state="active")
        tab.show()
        tab.wait(NAMES, "lock:b,lock:c")
        tab.wait(CHIP, "En vivo")
        assert tab.run(OPEN) == 1
