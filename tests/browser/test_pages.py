"""What all pages have in common.

They are accessible in both themes, usable by keyboard and on narrow screens, light, and readable without
JavaScript.
"""

import gzip
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Response, expect

from tests.browser.lanzar import Lanzar
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

# axe does not load stylesheets, because it would insert them into the page against the policy.
# axe still checks every rule: `resultTypes` limits the elements that it reports, which take most of the time.
RUN_AXE = "axe.run({ preload: false, resultTypes: ['violations'] }).then(({ violations }) => violations)"
AXE = Axe().axe_script
PAGES = ("/", "/docs/mcp/", "/no-existe/")
THEMES = ("light", "dark")
WIDTHS = (360, 768, 1600)
# FILES_LIMIT is for all JavaScript and CSS, ALL_LIMIT for everything that a page loads; in bytes, gzipped.
FILES_LIMIT, ALL_LIMIT = 90_000, 100_000


def violations(page: Page) -> list[str]:
    """The rules of axe that the page breaks, each with its elements. Motion is reduced meanwhile."""
    reduced = page.evaluate("matchMedia('(prefers-reduced-motion: reduce)').matches")
    page.emulate_media(reduced_motion="reduce")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(RUN_AXE)
    page.emulate_media(reduced_motion="reduce" if reduced else "no-preference")
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("path", PAGES[1:])  # test_module_page.py tests the first page with all parts open
def test_axe_finds_nothing(visit: Visit, path: str, theme: str) -> None:
    assert violations(visit(path, color_scheme=theme)) == []


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1600, "light")])
def test_axe_finds_nothing_in_a_busy_lanzar(visit: Visit, width: int, theme: str) -> None:
    lanzar = Lanzar(visit(color_scheme=theme, viewport={"width": width, "height": 900}))
    lanzar.launch()
    lanzar.add_agent()
    lanzar.launch()
    expect(lanzar.board.locator(".queue li")).to_have_count(1)
    lanzar.receipt.get_by_role("button", name="Cambiar un byte").click()
    lanzar.receipt.locator("summary").click()
    lanzar.page.get_by_role("tab", name="Base de la firma").click()
    assert violations(lanzar.page) == []
    lanzar.page.get_by_role("tab", name="Cuerpo").click()
    lanzar.fill('{"resource": }')
    assert violations(lanzar.page) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_the_screen(visit: Visit, path: str, width: int) -> None:
    page = visit(path, viewport={"width": width, "height": 900})
    if path == "/":
        lanzar = Lanzar(page)
        lanzar.launch()
        lanzar.write(resource="lock:" + "ñandú-muy-largo/" * 15)
        lanzar.launch()
        expect(lanzar.board.locator(".section")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_the_keyboard_alone_is_enough(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    page = lanzar.page

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "[document.activeElement.getAttribute('aria-label'), document.activeElement.innerText,"
                " document.activeElement.parentElement.innerText].join(' ')"
            )
            if name in focused:
                return
        raise AssertionError(f"no way to {name} with the tabulator")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Saltar al contenido")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to("lease")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="release")).to_be_checked()
    page.keyboard.press("ArrowLeft")
    tab_to("Cuerpo de la petición")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
    expect(page.get_by_role("button", name="Lanzar")).to_be_focused()
    tab_to("Cambiar un byte")
    page.keyboard.press("Space")
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("No verificado")
    expect(page.get_by_role("button", name="Devolver el byte a su sitio")).to_be_focused()


def test_nothing_moves_with_reduced_motion(visit: Visit) -> None:
    lanzar = Lanzar(visit(reduced_motion="reduce"))
    lanzar.launch()
    expect(lanzar.board.get_by_role("timer")).to_be_visible()
    assert lanzar.page.evaluate("document.getAnimations().length") == 0
    # The track does not move, but its numbers count.
    track = lanzar.board.locator(".track-left")
    before = track.bounding_box()
    text = lanzar.board.get_by_role("timer").inner_text()
    expect(lanzar.board.get_by_role("timer")).not_to_have_text(text)
    assert track.bounding_box() == before


def test_without_javascript_the_requests_are_shown(visit: Visit, served: ServerProcess) -> None:
    page = visit(java_script_enabled=False)
    expect(page.get_by_role("heading", name="coordination.lease")).to_be_visible()
    expect(page.get_by_text("necesita JavaScript")).to_be_visible()
    expect(page.locator(".launch-grid")).to_be_hidden()
    samples = page.locator(".without-js pre")
    expect(samples).to_have_count(4)
    expect(samples.first).to_contain_text(f"curl -sS {served.url}/api/v1/acp/coordination/lease")
    expect(samples.last).to_contain_text("-X DELETE")


def test_the_theme_is_chosen_and_kept(visit: Visit) -> None:
    page = visit(color_scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    system = page.evaluate(paper)
    page.get_by_role("button", name="Tema del sistema").click()
    page.get_by_role("button", name="Tema claro").click()
    expect(page.get_by_role("button", name="Tema oscuro")).to_be_visible()
    dark = page.evaluate(paper)
    assert dark != system
    page.reload()
    assert page.evaluate(paper) == dark


def test_the_switch_of_language_stays_on_the_page(visit: Visit, served: ServerProcess) -> None:
    page = visit()
    page.get_by_role("link", name="English").click()
    expect(page).to_have_url(f"{served.url}/en/")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("link", name="Español").click()
    expect(page).to_have_url(f"{served.url}/")
    expect(page.locator("html")).to_have_attribute("lang", "es")


def test_an_unknown_page_is_explained(visit: Visit) -> None:
    page = visit("/no-existe/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Vía muerta: aquí no hay ninguna página.")
    page.get_by_role("link", name="Volver al principio").click()
    expect(page.get_by_role("heading", name="coordination.lease")).to_be_visible()


def test_the_page_is_light_and_does_not_shift(visit: Visit) -> None:
    page = visit("/no-existe/")
    loaded: dict[str, bytes] = {}

    def on_response(answer: Response) -> None:
        loaded.setdefault(answer.url.partition("?")[0], answer.body() if answer.ok else b"")

    page.on("response", on_response)
    page.goto(page.url.replace("no-existe/", ""), wait_until="networkidle")
    Lanzar(page)
    weights = {
        url: len(body) if url.endswith(".woff2") else len(gzip.compress(body, 6))
        for url, body in loaded.items()
    }
    files = sum(weight for url, weight in weights.items() if url.endswith((".js", ".css")))
    assert files <= FILES_LIMIT, weights
    assert sum(weights.values()) <= ALL_LIMIT, weights
    shift = """new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) sum += entry.value;
      }).observe({ type: "layout-shift", buffered: true });
      setTimeout(() => resolve(sum), 200);
    })"""
    assert page.evaluate(shift) < 0.01
