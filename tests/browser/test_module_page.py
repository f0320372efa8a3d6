"""The module page below Lanzar, the catalogue and the gallery, in a browser: both languages, both themes."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.lanzar import Lanzar
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]

CPU_SLOWER = 4
SHIFT = """new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 300);
})"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
UNFOLD = "document.querySelectorAll('details').forEach((folded) => (folded.open = true))"
FOCUSED = """() => {
  const element = document.activeElement;
  const { top, bottom, width } = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const frame = element.closest("label, json-editor") ?? element;
  const outlined = [element, frame].some((e) => getComputedStyle(e).outlineStyle !== "none");
  return { what: element.tagName, text: element.innerText, id: element.id, order: order(element),
           seen: width > 0 && bottom > 0 && top < innerHeight && style.visibility !== "hidden", outlined };
  function order(e) { return [...document.querySelectorAll("*")].indexOf(e); }
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/en/", "/errores/", "/en/errores/deadlock/", "/en/nope/"])
def test_axe_finds_nothing(visit: Visit, path: str, theme: str) -> None:
    page = visit(path, color_scheme=theme, reduced_motion="reduce")
    page.evaluate(UNFOLD)
    assert violations(page) == []


def test_the_gallery_shows_every_component(
    visit: Visit, live_server_process: Callable[..., ServerProcess]
) -> None:
    server = live_server_process(INTRAMEDIAL_DEBUG="1")
    for width in (360, 1600):
        page = visit("/estilo/", origin=server.url, viewport={"width": width, "height": 900})
        page.locator("[data-ready]").wait_for(state="attached")
        for name in ("keys", "boards", "receipts", "answers", "problems"):
            expect(page.locator(f'[data-part="{name}"] > *').first).to_be_visible()
        # The gallery has very long names in every table, badge and board.
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        # The gallery shows parts twice, so ids and landmarks repeat as on no other page.
        found = [line for line in violations(page) if "duplicate" not in line and "landmark" not in line]
        assert found == []


def test_the_whole_page_is_walked_by_keyboard(visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    Lanzar(page)
    seen: list[dict[str, Any]] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["what"] == "BODY":
            break
        seen.append(focused)
    else:
        raise AssertionError("the page does not end")
    assert [stop for stop in seen if not stop["seen"]] == []
    assert [stop for stop in seen if not stop["outlined"]] == []
    orders = [stop["order"] for stop in seen]
    assert orders == sorted(orders), "the keyboard does not follow the order of the page"
    texts = " ".join(stop["text"] or "" for stop in seen)
    for name in ("Saltar al contenido", "Lanzar", "Copiar esta página", "lease_held", "OpenAPI"):
        assert name in texts
    assert len(seen) > 60


def test_the_contents_mark_the_current_part(visit: Visit) -> None:
    page = visit("/#errores", reduced_motion="reduce")
    here = page.locator(".contents [aria-current]")
    expect(here).to_have_text("Errores")
    page.locator(".contents").get_by_role("link", name="Cómo funciona").press("Enter")
    expect(here).to_have_text("Cómo funciona")
    expect(page).to_have_url(re.compile("#mecanismo$"))
    expect(page.locator("#mecanismo")).to_be_in_viewport()
    expect(here).to_be_in_viewport()


def test_on_a_narrow_page_the_contents_fold(visit: Visit) -> None:
    page = visit("/#mecanismo", viewport={"width": 360, "height": 800}, reduced_motion="reduce")
    bar = page.locator(".contents-button")
    expect(bar).to_contain_text("Cómo funciona")
    expect(bar).to_have_attribute("aria-expanded", "false")
    bar.press("Enter")
    expect(page.get_by_role("link", name="Qué garantiza", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_be_focused()
    expect(page.get_by_role("link", name="Qué garantiza", exact=True)).to_be_hidden()
    bar.click()
    page.get_by_role("link", name="Qué no garantiza", exact=True).click()
    expect(bar).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("heading", name="Qué no garantiza")).to_be_in_viewport()


def test_an_unknown_anchor_does_no_harm(visit: Visit) -> None:
    page = visit("/#no-existe")
    Lanzar(page)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_switch_of_language_keeps_query_and_anchor(visit: Visit) -> None:
    page = visit("/?a=%2F&b=ñ#garantias")
    page.locator(".site-tools a").click()
    expect(page.get_by_role("heading", name="What it guarantees")).to_be_in_viewport()
    assert page.url.endswith("/en/?a=%2F&b=%C3%B1#garantias")
    page.goto(page.url.replace("/en/", "/en/errores/deadlock/").split("#")[0])
    page.locator(".site-tools a").click()
    expect(page).to_have_url(re.compile("^http://[^/]+/errores/deadlock/([?]|$)"))


def test_a_sample_opens_in_lanzar_under_the_visitors_key(visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    lanzar = Lanzar(page)
    steps = page.locator("#situacion-interbloqueo .sample")
    links = page.locator("#situacion-interbloqueo a[data-launch]")

    def open_step(index: int) -> None:
        if not links.nth(index).is_visible():
            steps.nth(index).locator("summary").click()
        links.nth(index).click()
        expect(lanzar.editor).to_be_focused()

    open_step(0)
    assert json.loads(lanzar.editor.input_value()) == {
        "resource": "lock:db/schema",
        "actorDid": "did:key:z6Mk…",
    }
    assert lanzar.launch()["lease"]["resource"] == "lock:db/schema"
    open_step(1)
    expect(page.locator('[data-part="operation-words"]')).to_contain_text("Este paso es del agente B")
    lanzar.add_agent()
    open_step(1)
    assert lanzar.launch()["lease"]["resource"] == "lock:deploy/staging"
    open_step(2)
    assert lanzar.launch()["reason"] == "lease_held"
    open_step(3)
    assert lanzar.launch()["reason"] == "deadlock"
    open_step(4)
    assert [len(lanzar.launch()[name]) for name in ("holders", "queue", "deadlocks")] == [2, 1, 1]


def test_the_drawing_plays_and_can_be_stopped(visit: Visit) -> None:
    page = visit()
    moments = page.locator(".moments input")
    words = page.locator(".moment-words > p")
    expect(words.nth(0)).to_be_visible()
    expect(words.nth(1)).to_be_hidden()
    expect(moments.nth(2)).to_be_checked(timeout=15_000)
    expect(words.nth(2)).to_be_visible()
    moments.nth(0).check()
    expect(words.nth(0)).to_be_visible()


def test_the_drawing_stands_still_with_reduced_motion_and_without_scripts(visit: Visit) -> None:
    for context in ({"reduced_motion": "reduce"}, {"java_script_enabled": False}):
        page = visit(**context)
        page.locator(".moments input").nth(1).check()
        expect(page.locator(".moment-words > p").nth(1)).to_be_visible()
        page.wait_for_timeout(300)
        box = page.locator(".train-a").bounding_box()
        page.wait_for_timeout(100)
        assert page.locator(".train-a").bounding_box() == box


def test_the_page_is_copied_as_markdown(visit: Visit) -> None:
    page = visit("/en/", permissions=["clipboard-read", "clipboard-write"], expect=("net::ERR_FAILED",))
    page.get_by_role("button", name="Copy this page as Markdown").click()
    expect(page.get_by_role("button", name="Copied", exact=True).first).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("# coordination.lease\n\nAgents act when")
    page.route("**/modulo.md", lambda route: route.abort())
    page.get_by_role("button", name="Copy this page as Markdown").click()
    expect(page.get_by_role("button", name="It could not be copied")).to_be_visible()


def test_without_javascript_everything_can_be_read(visit: Visit) -> None:
    page = visit("/en/", java_script_enabled=False)
    for heading in ("What is recorded", "How it works", "Four situations", "What it guarantees", "Errors"):
        expect(page.get_by_role("heading", name=heading).first).to_be_visible()
    expect(page.locator(".needs-js:visible")).to_have_count(0)
    expect(page.get_by_role("link", name="This page as Markdown")).to_be_visible()
    page.locator(".sample summary").nth(1).click()
    expect(page.locator(".sample pre").nth(2)).to_be_visible()
    page.locator(".contents").get_by_role("link", name="Limits").click()
    expect(page.locator("#construccion-limites")).to_be_in_viewport()


def test_a_receipt_is_printed_alone_and_whole(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    holder = lanzar.launch()["lease"]["holder"]
    lanzar.page.emulate_media(media="print")
    expect(lanzar.receipt).to_be_visible()
    for hidden in (".site-header", ".module", ".request", ".receipt-actions"):
        expect(lanzar.page.locator(hidden)).to_be_hidden()
    shown = lanzar.page.evaluate(
        "getComputedStyle(document.querySelector('.receipt short-did'), '::after').content"
    )
    assert holder in shown


@pytest.mark.parametrize("path", ["/", "/en/errores/lease_held/"])
@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_shifts_on_a_slow_machine(visit: Visit, path: str, width: int) -> None:
    page = visit("/no-existe/", viewport={"width": width, "height": 900})
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWER})
    page.goto(page.url.replace("/no-existe/", path), wait_until="networkidle")
    print(f"first contentful paint of {path} at {width} px: {page.evaluate(PAINT):.0f} ms")
    # A shift of an icon by a fraction of a pixel is not visible.
    assert page.evaluate(SHIFT) < 0.001


@pytest.mark.parametrize("width", [360, 768, 1600])
@pytest.mark.parametrize("path", ["/en/", "/errores/", "/en/errores/unsupported_media_type/"])
def test_nothing_is_wider_than_the_screen(visit: Visit, path: str, width: int) -> None:
    page = visit(path, viewport={"width": width, "height": 900})
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
