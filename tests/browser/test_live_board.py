"""The live board's page shows what happens, also after losing the server or being hidden."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.panel import ANA, BEA, CID, Panel, Team, seen_after_ms
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
LOST = ("WebSocket connection", "net::ERR_CONNECTION_REFUSED", "status of 503")


@pytest.fixture(scope="module")
def quick(bootstrapped: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose leases and offers end soon.

    It is not a copy of a server that has run: the authority would take it for a restored one and raise
    tokens.
    """
    import shutil

    data_dir = tmp_path_factory.mktemp("quick") / "data"
    shutil.copytree(bootstrapped, data_dir)
    server = ServerProcess(data_dir, {"INTRAMEDIAL_LEASE_TTL_MS": "4000", "INTRAMEDIAL_OFFER_MS": "4000"})
    yield server.start()
    server.kill()


def test_two_boards_show_a_grant_its_end_the_next_grant_and_the_return_of_the_server(
    board: Callable[..., Panel], quick: ServerProcess
) -> None:
    team = Team(quick)
    boards = [board(team, expect=LOST), board(team, expect=LOST)]
    times = [seen_after_ms(boards, team, f"lock:{number}") for number in range(3)]
    # On a busy machine at least one of three grants is shown in time.
    assert [min(times_of) < 300 for times_of in zip(*times, strict=True)] == [True, True], times

    for panel in boards:
        panel.keep("lock:next")
    team.take("lock:next")
    team.wait("lock:next", BEA)
    shown = (
        *(re.compile("testigo 1.*1 en cola"), re.compile(r"testigo 1.* · 0,\d s$")),
        re.compile("agents.example:bea.*ofrecido|ofrecido.*agents.example:bea"),
    )
    for words in shown:
        for panel in boards:
            expect(panel.kept(words)).not_to_have_count(0)
    assert team.take("lock:next", BEA) == 2
    for panel in boards:
        expect(panel.kept("testigo 2")).not_to_have_count(0)

    quick.kill()
    for panel in boards:
        expect(panel.chip).to_contain_text("Reconectando · datos de hace")
        expect(panel.root).to_have_attribute("data-stale-data", "")
    quick.start()
    team.take("lock:after", CID)
    for panel in boards:
        expect(panel.chip).to_have_text("En vivo", timeout=40_000)
        expect(panel.row("lock:next")).to_have_count(0)
        expect(panel.root).not_to_have_attribute("data-stale-data", "")


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1600, "light")])
def test_a_deadlock_is_drawn_and_goes_when_its_cause_goes(
    board: Callable[..., Panel], served: ServerProcess, width: int, theme: str
) -> None:
    team = Team(served)
    panel = board(team, "?vista=interbloqueos", color_scheme=theme, viewport={"width": width, "height": 900})
    expect(panel.view).to_contain_text("Nadie se cierra el paso")
    team.deadlock("lock:a", "lock:<img src=x onerror=alert(1)>")
    drawing = panel.view.get_by_role("img", name="El círculo que se habría cerrado, de 2 agentes")
    expect(drawing).to_be_visible()
    expect(drawing.locator(".is-refused")).to_have_count(1)
    expect(drawing.locator(".is-held")).to_have_count(2)
    # The same in words.
    panel.view.get_by_text("El círculo de 2, en palabras").click()
    twin = panel.view.locator("ol li")
    expect(twin).to_have_count(2)
    expect(twin.nth(0)).to_contain_text("agents.example:bea")
    expect(twin.nth(0)).to_contain_text("esperaría lock:a, que tiene")
    expect(twin.nth(1)).to_contain_text("espera lock:<img src=x onerror=alert(1)>, que tiene")
    panel.view.get_by_role("button", name="Repetir paso a paso").click()
    expect(panel.view).to_contain_text("1. agents.example:ana tiene lock:a.")
    expect(drawing.locator(".edge:not([data-later])")).to_have_count(1)
    expect(panel.view).to_contain_text("4. agents.example:bea pide lock:a: cerraría el círculo")
    expect(drawing.locator("[data-later]")).to_have_count(0)
    assert violations(panel.page) == []
    assert panel.page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0

    # A second refusal shows the same deadlock.
    assert team.ask("lease", "lock:a", BEA)["reason"] == "deadlock"
    panel.choose("Cronología")
    expect(panel.view.get_by_text("Rechazado, interbloqueo")).to_have_count(2)
    panel.choose("Interbloqueos")
    expect(drawing).to_have_count(1)
    expect(panel.view.get_by_text("Deshechos")).to_be_hidden()

    team.ask("release", "lock:a", ANA)
    expect(drawing).to_have_count(0)
    expect(panel.view).to_contain_text("Deshechos")
    expect(panel.view).to_contain_text("lo devuelve")
    for view in ("Recursos", "Agentes", "Cronología"):
        panel.choose(view)
        expect(panel.view.get_by_role("row").nth(1)).to_be_visible()
        assert violations(panel.page) == []
        assert panel.page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_the_details_of_a_resource_by_keyboard_only(
    board: Callable[..., Panel], served: ServerProcess
) -> None:
    team = Team(served)
    name = "lock:<b>uno</b>"
    team.take(name, ANA)
    team.wait(name, BEA)
    team.wait(name, CID)
    team.take("lock:zz", ANA)
    panel = board(team)
    page = panel.page

    page.get_by_role("combobox", name="Ordenar por").focus()
    page.keyboard.press("Tab")
    expect(panel.row(name).get_by_role("button")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(panel.row("lock:zz").get_by_role("button")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(panel.drawer.get_by_role("heading", level=2)).to_have_text(name)
    assert "recurso=lock%3A%3Cb%3E" in page.url
    expect(panel.drawer).to_contain_text("Si nadie renueva, se le ofrece como muy tarde a las")
    expect(panel.drawer).to_contain_text("Lo tiene did:web:agents.example:ana con el testigo 1")
    panel.drawer.get_by_role("combobox", name="Agente en espera").select_option(CID)
    expect(panel.drawer).to_contain_text("Delante está did:web:agents.example:bea")
    expect(panel.drawer.get_by_role("link", name="Todos sus recibos")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(panel.drawer).to_have_count(0)
    expect(panel.row(name).get_by_role("button")).to_be_focused()
    page.go_back()
    assert "recurso" not in page.url

    # An owner revokes the lease: types the name and gives a reason.
    panel.row(name).get_by_role("button").click()
    panel.drawer.get_by_text("Revocar la concesión con el testigo").click()
    panel.drawer.get_by_label("Nombre del recurso").fill(name)
    panel.drawer.get_by_label("Motivo").fill("se ha quedado colgado")
    panel.drawer.get_by_role("button", name="Revocar la concesión").click()
    expect(page.get_by_text("Concesión revocada")).to_be_visible()
    expect(panel.drawer).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel.row(name)).to_contain_text("ofrecido")

    # Through the agents, and from an agent to its leases.
    panel.choose("Agentes")
    ana = panel.view.get_by_role("row").filter(has=page.get_by_role("link", name="agents.example:ana"))
    ana.get_by_role("link").focus()
    page.keyboard.press("ArrowRight")
    held = ana.get_by_role("button", name="lock:zz")
    expect(held).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel.drawer.get_by_role("heading", level=2)).to_have_text("lock:zz")
    page.keyboard.press("Escape")
    expect(held).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(ana.get_by_role("link")).to_be_focused()

    # An element keeps the focus while its row changes. When the element is gone, the row has the focus.
    held.focus()
    team.take("lock:new", ANA)
    expect(ana).to_contain_text("lock:new")
    expect(held).to_be_focused()
    team.ask("release", "lock:zz", ANA)
    expect(held).to_have_count(0)
    expect(ana.get_by_role("link")).to_be_focused()


def test_nothing_moves_under_the_pointer_and_filters_are_in_the_address(
    board: Callable[..., Panel], served: ServerProcess
) -> None:
    team = Team(served)
    for name in ("lock:a", "lock:b", "doc:c"):
        team.take(name)
    panel = board(team, "?orden=nombre")
    names = panel.view.locator(".list-rows code")
    expect(names).to_have_text(["doc:c", "lock:a", "lock:b"])
    expect(panel.changes).to_be_hidden()
    panel.row("lock:a").hover()
    team.take("doc:0")
    team.ask("release", "lock:b")
    expect(panel.changes).to_have_text("2 cambios")
    expect(names).to_have_text(["doc:c", "lock:a", "lock:b"])
    expect(panel.row("lock:b")).to_contain_text("Libre")
    panel.changes.click()
    expect(names).to_have_text(["doc:0", "doc:c", "lock:a"])

    panel.page.get_by_label("Buscar").fill("doc:")
    expect(names).to_have_text(["doc:0", "doc:c"])
    expect(panel.page).to_have_url(team.url + "?q=doc%3A&orden=nombre")
    panel.page.get_by_label("Buscar").fill("lock:b")
    expect(panel.view).to_contain_text("Fuera de la lista")
    expect(panel.view).to_contain_text("libre; último testigo, 1")
    panel.page.get_by_role("button", name="Quitar los filtros").click()
    expect(names).to_have_count(3)
    panel.choose("Agentes")
    expect(panel.page).to_have_url(team.url + "?vista=agentes")
    panel.page.go_back()
    expect(names).to_have_count(3)


def test_a_hidden_tab_stops_and_is_right_when_it_is_shown(
    board: Callable[..., Panel], served: ServerProcess
) -> None:
    team = Team(served)
    team.take("lock:before")
    panel = board(team)
    expect(panel.row("lock:before")).to_be_visible()
    panel.hide(True)
    expect(panel.chip).to_have_text("En pausa")
    team.take("lock:meanwhile")
    panel.page.wait_for_timeout(800)
    expect(panel.row("lock:meanwhile")).to_have_count(0)
    panel.hide(False)
    expect(panel.row("lock:meanwhile")).to_be_visible()
    expect(panel.chip).to_have_text("En vivo")


def test_without_scripts_there_is_a_table_in_both_languages(
    browser: Browser, board: Callable[..., Panel], served: ServerProcess
) -> None:
    team = Team(served, role="viewer")
    empty = board(team)
    expect(empty.view).to_contain_text("Nadie tiene nada ahora mismo")
    expect(empty.view.get_by_role("link", name="Python").first).to_be_visible()
    team.take("lock:<i>a</i>")
    team.wait("lock:<i>a</i>", BEA)
    context = browser.new_context(locale="en", java_script_enabled=False)
    context.add_cookies([team.cookie])
    page = context.new_page()
    page.goto(team.url.replace("/espacios/", "/en/espacios/"))
    expect(page.get_by_text("Without JavaScript this board does not move")).to_be_visible()
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("lock:<i>a</i>")
    page.get_by_role("link", name="lock:<i>a</i>").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("lock:<i>a</i>")
    expect(page.get_by_text("Revoke the lease")).to_have_count(0)
    context.close()
