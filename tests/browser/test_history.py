"""Lanzar's history, the comparison of two runs, links to a request, and the help."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lanzar import Lanzar
from tests.browser.test_pages import violations
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
CLIPBOARD = ["clipboard-read", "clipboard-write"]


class Kept(Lanzar):
    """Lanzar with its history open."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.section = page.locator('[data-part="history"]')
        self.runs = page.locator("[data-run]")
        self.comparison = page.get_by_role("region", name="Comparación")

    def open(self) -> None:
        """Open the history."""
        self.section.locator("summary").click()
        expect(self.section.get_by_role("status")).not_to_be_empty()

    def run(self, place: int) -> Locator:
        """A run of the list by its index, from 0."""
        return self.runs.nth(place)


def test_runs_are_kept_pinned_and_repeated(visit: Visit) -> None:
    lanzar = Kept(visit())
    lanzar.open()
    expect(lanzar.section).to_contain_text("Aún no has lanzado nada.")
    lanzar.launch()
    lanzar.choose("release")
    lanzar.launch()
    lanzar.choose("wait")
    lanzar.launch()
    expect(lanzar.runs).to_have_text(
        [re.compile("wait.*200 El cuadro"), re.compile("release.*Devuelto"), re.compile("lease.*Concedido")]
    )
    lanzar.run(2).get_by_role("button", name="Fijar").click()
    expect(lanzar.run(0)).to_contain_text("Concedido")
    lanzar.page.reload()
    lanzar = Kept(lanzar.page)
    lanzar.open()
    expect(lanzar.runs).to_have_count(3)
    with lanzar.page.expect_response("**/coordination/lease") as waiting:
        lanzar.run(0).get_by_role("button", name="Repetir").click()
    assert waiting.value.json()["lease"]["fencingToken"] == 2
    expect(lanzar.runs).to_have_count(4)
    lanzar.page.get_by_role("button", name="Vaciar, menos lo fijado").click()
    expect(lanzar.runs).to_have_count(1)
    expect(lanzar.run(0)).to_contain_text("testigo 1")


def test_the_agent_that_signed_a_run_repeats_it_and_the_focus_stays(visit: Visit) -> None:
    lanzar = Kept(visit())
    holder = lanzar.launch()["lease"]["holder"]
    lanzar.add_agent()
    assert lanzar.launch()["reason"] == "lease_held"
    lanzar.open()
    again = lanzar.run(1).get_by_role("button", name="Repetir")
    again.focus()
    with lanzar.page.expect_response("**/coordination/lease") as waiting:
        lanzar.page.keyboard.press("Enter")
    assert waiting.value.json()["lease"]["holder"] == holder
    expect(lanzar.runs).to_have_count(3)
    expect(lanzar.run(2).get_by_role("button", name="Repetir")).to_be_focused()
    lanzar.page.on("dialog", lambda dialog: dialog.accept())
    lanzar.page.get_by_role("button", name="Olvidar la clave").click()
    expect(lanzar.key).to_contain_text("Sin clave")
    with lanzar.page.expect_response("**/coordination/lease") as waiting:
        lanzar.run(2).get_by_role("button", name="Repetir").click()
    assert waiting.value.json()["lease"]["holder"] != holder


def test_the_last_fifty_runs_and_the_pinned_ones_are_kept(visit: Visit) -> None:
    lanzar = Kept(visit())
    lanzar.launch()
    lanzar.page.evaluate(
        """() => {
          const [entry] = JSON.parse(localStorage.lanzar);
          const other = (_, n) => ({ ...entry, id: `run-${n}`, pinned: n === 49 });
          const entries = Array.from({ length: 50 }, other);
          localStorage.lanzar = JSON.stringify(entries);
        }"""
    )
    lanzar.page.reload()
    lanzar = Kept(lanzar.page)
    lanzar.launch()
    ids = lanzar.page.evaluate("JSON.parse(localStorage.lanzar).map(({ id }) => id)")
    assert len(ids) == 50
    assert "run-49" in ids and "run-48" not in ids


def test_two_runs_are_compared(visit: Visit) -> None:
    lanzar = Kept(visit())
    lanzar.launch()
    lanzar.write(resource="lock:other")
    lanzar.launch()
    lanzar.answer.get_by_role("button", name="Comparar con otra").click()
    expect(lanzar.section.get_by_role("status")).to_have_text("Marca otra para compararlas.")
    expect(lanzar.run(0).get_by_role("checkbox")).to_be_checked()
    lanzar.run(1).get_by_role("checkbox").check()
    expect(lanzar.comparison).to_be_visible()
    gone, new = (lanzar.comparison.locator(f".diff-line.{name}") for name in ("is-gone", "is-new"))
    expect(gone.first).to_contain_text('"resource": "lock:deploy/production"')
    expect(new.first).to_contain_text('"resource": "lock:other"')
    expect(lanzar.comparison).to_contain_text("200 Concedido")
    assert violations(lanzar.page) == []


def test_a_shared_link_runs_under_the_visitors_own_key(visit: Visit) -> None:
    lanzar = Lanzar(visit(permissions=CLIPBOARD))
    lease = lanzar.launch()["lease"]
    lanzar.choose("release")
    lanzar.write(resource="lock:shared/ñ", leaseId=lease["leaseId"])
    lanzar.page.get_by_role("button", name="Copiar enlace").click()
    expect(lanzar.page.get_by_role("status").filter(has_text="sin tu clave ni tu DID")).to_have_count(1)
    link = lanzar.page.evaluate("navigator.clipboard.readText()")
    packed = link.split("#peticion=")[1]
    carried = urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    for secret in (lease["holder"], lease["leaseId"], "imk_"):
        assert secret not in carried

    path = link.replace(lanzar.page.url.split("#")[0].rstrip("/"), "")
    other = Lanzar(visit(path))
    asked: list[str] = []
    other.page.on("request", lambda request: asked.append(request.url))
    expect(other.page.get_by_role("radio", name="release")).to_be_checked()
    expect(other.page.get_by_text("Petición compartida: se lanzará con tu propia clave.")).to_be_visible()
    assert json.loads(other.text)["resource"] == "lock:shared/ñ"
    expect(other.page.get_by_role("button", name="Lanzar")).to_be_focused()
    assert not [url for url in asked if "/api/" in url]
    assert other.launch()["reason"] == "not_held"
    expect(other.key).to_contain_text("34 de 35")
    assert lease["holder"] not in other.text


def test_a_link_that_cannot_be_copied_is_in_the_address(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error()); }")
    lanzar.page.get_by_role("button", name="Copiar enlace").click()
    expect(lanzar.page.get_by_role("status").filter(has_text="en la barra de direcciones")).to_have_count(1)
    assert "#peticion=" in lanzar.page.url
    lanzar.page.locator(".code", has=lanzar.page.locator("#way")).locator("copy-button").click()
    assert lanzar.page.evaluate("getSelection().toString()") != ""


@pytest.mark.parametrize("hash_", ["#peticion=", "#peticion=%%%", "#peticion=eyJ9", "#peticion=W10"])
def test_a_malformed_link_opens_the_page(visit: Visit, hash_: str) -> None:
    lanzar = Lanzar(visit("/" + hash_))
    assert json.loads(lanzar.text)["resource"] == "lock:deploy/production"


def test_help_lists_the_shortcuts_and_single_keys_can_be_switched_off(visit: Visit) -> None:
    lanzar = Kept(visit())
    page = lanzar.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Atajos de teclado")
    expect(dialog).to_contain_text("Lanzar, desde cualquier sitio")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("2")
    expect(page.get_by_role("radio", name="release")).to_be_checked()
    page.keyboard.press("h")
    expect(lanzar.section).to_have_attribute("open", "")
    page.keyboard.press("e")
    expect(lanzar.editor).to_be_focused()
    page.keyboard.type("1?")
    expect(page.get_by_role("radio", name="release")).to_be_checked()
    expect(dialog).to_have_count(0)
    assert lanzar.text.count("1?") == 1

    page.get_by_role("button", name="Atajos de teclado").click()
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Cerrar").click()
    expect(page.get_by_role("button", name="Atajos de teclado")).to_be_focused()
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="release")).to_be_checked()


def test_the_answer_folds(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    body = lanzar.launch()
    shown = lanzar.answer.locator('[data-part="answer-json"]')
    expect(shown).to_contain_text(f'"fencingToken": {body["lease"]["fencingToken"]}')
    receipt = shown.locator("details", has_text='"receipt"')
    expect(receipt).not_to_have_attribute("open", "")
    receipt.locator("summary").click()
    expect(receipt).to_contain_text(body["receipt"]["id"])
    lease = shown.locator("details", has_text='"lease"').first
    lease.locator("summary").click()
    expect(shown.get_by_text('"fencingToken"')).to_be_hidden()


def test_the_servers_time_is_shown(visit: Visit, served: ServerProcess) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    for step in ("firmar", "red", "servidor", "comprobar"):
        expect(lanzar.answer.get_by_role("list", name="Tiempos")).to_contain_text(step)
