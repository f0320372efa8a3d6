"""The visitor's key in all states: no Ed25519, no storage, expired, too many trials, a wrong clock."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lanzar import Lanzar, change_trial
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

WITHOUT_ED25519 = """
for (const name of ["generateKey", "importKey", "sign", "verify"]) {
  const real = crypto.subtle[name].bind(crypto.subtle);
  crypto.subtle[name] = (...given) =>
    given.some((one) => one === "Ed25519" || one?.name === "Ed25519")
      ? Promise.reject(new DOMException("no such algorithm", "NotSupportedError"))
      : real(...given);
}
"""
WITHOUT_STORAGE = "IDBFactory.prototype.open = () => { throw new DOMException('shut', 'SecurityError'); };"


def changed(page: Page, script: str) -> Lanzar:
    """The page in a browser without some feature."""
    page.context.add_init_script(script)
    page.reload()
    return Lanzar(page)


def test_a_browser_without_ed25519_signs_and_verifies_with_a_library(visit: Visit) -> None:
    lanzar = changed(visit(), WITHOUT_ED25519)
    loaded: list[str] = []
    lanzar.page.on("request", lambda request: loaded.append(request.url))
    assert lanzar.launch()["ok"] is True
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
    assert [url for url in loaded if "/static/dist/ed25519.js" in url]
    expect(lanzar.key).to_contain_text("firma una biblioteca, con la clave en memoria")
    lanzar.receipt.get_by_role("button", name="Cambiar un byte").click()
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("No verificado")
    # The library also makes further agents and signs for them.
    lanzar.add_agent()
    assert lanzar.launch()["reason"] == "lease_held"
    lanzar.page.reload()
    expect(Lanzar(lanzar.page).key).to_contain_text("Sin clave")


def test_without_the_library_the_page_explains_it(visit: Visit) -> None:
    page = visit(expect=("net::ERR_FAILED",))
    page.route("**/static/dist/**", lambda route: route.abort())
    lanzar = changed(page, WITHOUT_ED25519)
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.answer).to_contain_text("Este navegador no sabe firmar con Ed25519.")
    expect(lanzar.key).to_contain_text("Ed25519")


def test_a_key_that_cannot_be_kept_lasts_as_long_as_the_page(visit: Visit) -> None:
    lanzar = changed(visit(), WITHOUT_STORAGE)
    assert lanzar.launch()["ok"] is True
    expect(lanzar.key).to_contain_text("este navegador no la puede guardar")
    assert lanzar.launch()["lease"]["renewed"] is True
    lanzar.page.reload()
    expect(Lanzar(lanzar.page).key).to_contain_text("Sin clave")


def test_the_page_explains_why_the_key_cannot_be_exported(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.key.get_by_text("¿Exportarla?").click()
    expect(lanzar.key).to_contain_text(
        "No se puede: el navegador la guarda sin dejar que nadie lea sus bytes"
    )


def test_the_focus_stays_when_the_key_and_the_signers_are_drawn_again(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    did = lanzar.key.locator("short-did button")
    did.focus()
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.answer).to_contain_text("Renovado")
    expect(did).to_be_focused()

    lanzar.add_agent()
    signers = lanzar.page.locator(".signers")
    signers.get_by_role("radio", name="A", exact=True).focus()
    # Another page of this browser does this when it has saved the key.
    signers.evaluate("(drawn) => { drawn.id = 'before'; new BroadcastChannel('keys').postMessage('saved'); }")
    expect(lanzar.page.locator("#before")).to_have_count(0)
    expect(signers.get_by_role("radio", name="A", exact=True)).to_be_focused()


def test_an_expired_trial_is_shown_and_begun_again(visit: Visit, served: ServerProcess) -> None:
    lanzar = Lanzar(visit())
    holder = lanzar.launch()["lease"]["holder"]
    change_trial(served, holder, "expires_at = '2020-01-01 00:00:00'")
    assert lanzar.launch()["reason"] == "trial_expired"
    expect(lanzar.answer).to_contain_text("Tu clave de prueba ha caducado.")
    expect(lanzar.key).to_contain_text("caducada")
    lanzar.answer.get_by_role("button", name="Olvidarla, crear otra y lanzar").click()
    expect(lanzar.answer).to_contain_text("Concedido")
    expect(lanzar.key).to_contain_text("34 de 35")
    assert holder not in lanzar.text


def test_a_trial_adopted_in_another_tab_is_the_workspaces_key_in_this_one(
    visit: Visit, served: ServerProcess
) -> None:
    # A page that is left while its socket opens logs an error.
    lanzar = Lanzar(visit(expect=("closed before the connection is established",)))
    lanzar.launch()
    other = lanzar.page.context.new_page()
    other.goto(f"{served.url}/registro/")
    other.get_by_label("Correo electrónico").fill("adopta@example.com")
    other.get_by_label("Contraseña", exact=True).fill("un-Tren-verde-77")
    other.get_by_label("Contraseña de la beta").fill(served.secrets["betaPassword"])
    other.get_by_role("button", name="Registrarse").click()
    other.wait_for_url("**/espacios/")
    other.goto(f"{served.url}/espacios/prueba/")
    other.get_by_label("Nombre del espacio").fill("Mía")
    other.get_by_role("button", name="Quedarme con ella").click()
    other.wait_for_url("**/espacios/ws_*/")
    for _ in range(2):
        link = lanzar.key.get_by_role("link", name="de tu espacio, sin límite de llamadas")
        expect(link).to_have_attribute("href", other.url.removeprefix(served.url))
        assert lanzar.launch()["lease"]["renewed"] is True
        expect(lanzar.board).to_contain_text("En vivo")
        lanzar.page.reload()
        lanzar = Lanzar(lanzar.page)
    scenarios = lanzar.page.locator('[data-part="scenarios"]')
    scenarios.scroll_into_view_if_needed()
    expect(scenarios).to_contain_text("se juegan en una prueba, y la tuya es ahora un espacio")
    lanzar.page.context.clear_cookies()
    lanzar.page.reload()
    lanzar = Lanzar(lanzar.page)
    expect(lanzar.board).to_contain_text("Sesión terminada")
    lanzar.page.on("dialog", lambda dialog: dialog.accept())
    lanzar.page.get_by_role("button", name="Olvidar la clave").click()
    assert lanzar.launch()["lease"]["fencingToken"] == 1
    expect(lanzar.key).to_contain_text("34 de 35")
    expect(lanzar.board).to_contain_text("En vivo")


def test_one_trial_too_many_from_an_address_shows_when_to_come_back(
    visit: Visit, live_server_process: Callable[..., ServerProcess]
) -> None:
    server = live_server_process(INTRAMEDIAL_TRIALS_PER_HOUR="1")
    assert Lanzar(visit(origin=server.url)).launch()["ok"] is True
    lanzar = Lanzar(visit(origin=server.url))
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.answer).to_contain_text("Desde tu red se han creado ya las claves de prueba")
    expect(lanzar.answer).to_contain_text("vuelve a lanzar dentro de")
    expect(lanzar.answer.get_by_role("link", name="Pedir acceso a la beta")).to_be_visible()
    expect(lanzar.key).to_contain_text("Sin clave")


@pytest.mark.parametrize(("ms", "words"), [(-600_000, "10 min atrasado"), (7_500_000, "2 h adelantado")])
def test_a_wrong_clock_is_shown_and_does_no_harm(visit: Visit, ms: int, words: str) -> None:
    lanzar = Lanzar(visit())
    lanzar.page.evaluate("(ms) => { const now = Date.now; Date.now = () => now() + ms; }", ms)
    lanzar.editor.focus()
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
    expect(lanzar.answer).to_contain_text(f"El reloj de tu equipo va {words}")
