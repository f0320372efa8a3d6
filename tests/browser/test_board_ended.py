"""A member who may no longer watch a board sees the reason, whether the socket or a request shows it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.membership import asked
from tests.browser.panel import ANA, Panel, Team
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Board = Callable[..., Panel]

ENDED, REMOVED, MISSING = (
    "Tu sesión ha terminado",
    "Ya no eres miembro de este espacio",
    "Este espacio ya no existe, o ya no eres miembro",
)


def end(team: Team, how: str) -> None:
    """End the member's session, or remove them from the workspace."""
    if how == ENDED:
        asked(team.server, log_out=team.cookie["value"])
    else:
        asked(team.server, remove=team.user)


def without_end_of_socket(panel: Panel) -> None:
    """Open the board again, with a socket whose end the page does not receive."""

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(socket.send)
        server.on_close(lambda code, reason: None)

    panel.page.route_web_socket("**/ws/espacios/**", between)
    panel.page.reload()
    panel.page.locator("#board[data-ready]").wait_for()


@pytest.mark.parametrize("how", [ENDED, REMOVED])
def test_the_socket_shows_the_end(board: Board, served: ServerProcess, how: str) -> None:
    team = Team(served, role="viewer")
    team.take("lock:a")
    panel = board(team)
    end(team, how)
    notice = panel.page.locator("#board > .notices")
    expect(notice).to_contain_text(how)
    panel.row("lock:a").click()
    expect(panel.drawer).to_contain_text(how)
    expect(panel.drawer).not_to_contain_text("No se ha podido pedir")
    expect(panel.drawer).not_to_contain_text("Pidiendo")
    assert violations(panel.page) == []
    panel.page.keyboard.press("Escape")
    if how == ENDED:
        notice.get_by_role("link", name="Inicia sesión").click()
        assert panel.page.url.endswith(f"/acceso/?next=/espacios/{team.workspace}/panel/")
    else:
        notice.get_by_role("link", name="Tus espacios").click()
        assert panel.page.url.endswith("/espacios/")


def test_a_new_session_from_another_tab_brings_the_board_back(board: Board, served: ServerProcess) -> None:
    team = Team(served, role="viewer")
    panel = board(team)
    end(team, ENDED)
    notice = panel.page.locator('#board > .notices [data-over="ended"]')
    expect(notice).to_be_visible()
    panel.hide(True)
    panel.hide(False)  # the page asks again, and receives the same answer
    expect(notice).to_be_visible()
    panel.hide(True)
    panel.page.context.add_cookies([asked(served, log_in=team.user)["cookie"]])
    team.take("lock:a")
    panel.hide(False)
    expect(panel.row("lock:a")).to_be_visible()
    expect(panel.chip).to_have_text("En vivo")
    expect(notice).to_be_hidden()


@pytest.mark.parametrize(("how", "shown"), [(ENDED, ENDED), (REMOVED, MISSING)])
@pytest.mark.parametrize("asks", ["drawer", "search", "agents"])
def test_a_request_shows_the_end(
    board: Board, served: ServerProcess, how: str, shown: str, asks: str
) -> None:
    team = Team(served, role="viewer")
    team.take("lock:a")
    panel = board(team)
    without_end_of_socket(panel)
    expect(panel.row("lock:a")).to_be_visible()
    end(team, how)
    notice = panel.page.locator("#board > .notices")
    if asks == "drawer":
        panel.row("lock:a").click()
        notice = panel.drawer.locator(".notices")
        link = notice.get_by_role("link", name="Inicia sesión" if how == ENDED else "Tus espacios")
        expect(link).to_be_visible()
        expect(panel.drawer).not_to_contain_text("No se ha podido pedir")
    elif asks == "search":
        panel.page.get_by_label("Buscar").fill("lock:")
    else:
        panel.choose("Agentes")
    expect(notice).to_contain_text(shown)
    expect(panel.root).to_have_attribute("data-stale-data", "")
    assert panel.page.locator(".beyond:visible").count() == 0


def test_an_outage_and_an_unknown_name_are_not_shown_as_the_end(board: Board, served: ServerProcess) -> None:
    team = Team(served)
    team.take("lock:a", ANA)
    panel = board(team, "?recurso=%20none")
    expect(panel.drawer).to_contain_text("No se ha podido pedir su historia")
    expect(panel.drawer.locator(".notices")).to_be_hidden()
    panel.page.keyboard.press("Escape")
    panel.page.route("**/buscar.json*", lambda route: route.fulfill(status=503, json={"resources": []}))
    panel.page.get_by_label("Buscar").fill("lock:")
    expect(panel.view).to_contain_text("No se ha podido buscar en el servidor")
    expect(panel.chip).to_have_text("En vivo")
