"""Errors show what is wrong, why, and how to correct it, with one click where possible."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lanzar import Lanzar
from tests.server import ServerProcess

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "resource": "a"\n  "actorDid": "b"\n}', "Línea 2, columna 17: falta una coma o el cierre."),
        ('{"resource": "a",}', "Línea 1, columna 18: sobra la coma anterior."),
        ('{"a": 1, "a": 2}', "Línea 1, columna 10: este campo ya está."),
        ("{'a': 1}", "aquí va el nombre de un campo, entre comillas dobles."),
        ('{"a": NaN}', "aquí va un valor"),
        ('{"a": "b', "faltan las comillas de cierre."),
        ('{"a": 1} {', "sobra texto después del final."),
        ("", "se acaba antes de tiempo."),
    ],
    ids=("comma", "trailing", "duplicate", "single-quotes", "nan", "open-string", "after-end", "empty"),
)
def test_a_fault_in_the_json_is_marked_and_not_sent(visit: Visit, text: str, words: str) -> None:
    lanzar = Lanzar(visit())
    sent: list[str] = []
    lanzar.page.on("request", lambda request: sent.append(request.url))
    lanzar.fill(text)
    expect(lanzar.page.locator("#editor-errors")).to_contain_text(words)
    expect(lanzar.editor).to_have_attribute("aria-invalid", "true")
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.page.get_by_role("status").filter(has_text="No se ha enviado")).to_have_count(1)
    expect(lanzar.editor).to_be_focused()
    assert not [url for url in sent if "/acp/" in url]


def test_a_field_the_service_refuses_is_marked_in_place(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.write(resource="lock:a#b#c")
    assert lanzar.launch()["reason"] == "invalid_request"
    expect(lanzar.page.locator("#editor-errors")).to_contain_text("/resource")
    expect(lanzar.page.locator("json-editor").locator("mark, .cm-fault")).to_have_text('"lock:a#b#c"')
    expect(lanzar.answer).to_contain_text("La petición no es válida.")


def test_another_agents_name_is_corrected_with_one_click(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.launch()
    lanzar.write(actorDid="did:web:another.example")
    assert lanzar.launch()["reason"] == "actor_mismatch"
    expect(
        lanzar.page.get_by_role("status").filter(has_text="Cómo arreglarlo: pon en actorDid")
    ).to_have_count(1)
    lanzar.page.get_by_role("button", name="Poner el DID que firma y lanzar").press("Enter")
    expect(lanzar.answer).to_contain_text("Renovado")
    expect(lanzar.page.get_by_role("heading", name="Respuesta", exact=True)).to_be_focused()


def test_used_up_calls_offer_the_beta(
    visit: Visit, live_server_process: Callable[..., ServerProcess]
) -> None:
    server = live_server_process(INTRAMEDIAL_TRIAL_CALLS="1")
    lanzar = Lanzar(visit(origin=server.url))
    assert lanzar.launch()["ok"] is True
    assert lanzar.launch()["reason"] == "trial_exhausted"
    expect(lanzar.key).to_contain_text("0 de 1")
    expect(lanzar.answer).to_contain_text("Has usado todas las llamadas de prueba.")
    expect(lanzar.answer.get_by_role("link", name="Pedir acceso a la beta")).to_have_attribute(
        "href", "mailto:preview@intramedial.com"
    )


def test_a_server_out_of_reach_is_shown_and_tried_again(visit: Visit) -> None:
    lanzar = Lanzar(visit(expect=("net::ERR_FAILED",)))
    reached = True
    # The route is set before the page loads: requests just after it is set can still pass.
    lanzar.page.route("**/acp/**", lambda route: route.continue_() if reached else route.abort())
    lanzar.launch()
    reached = False
    lanzar.page.keyboard.press("Control+Enter")
    expect(lanzar.answer).to_contain_text("No se ha podido llegar al servidor.")
    reached = True
    lanzar.page.get_by_role("button", name="Lanzar otra vez").click()
    expect(lanzar.answer).to_contain_text("Renovado")


def test_a_server_that_does_not_answer_has_a_deadline(visit: Visit) -> None:
    lanzar = Lanzar(visit())
    lanzar.page.clock.install()
    silent = False
    lanzar.page.route("**/acp/**", lambda route: None if silent else route.continue_())
    lanzar.launch()
    silent = True
    with lanzar.page.expect_request("**/acp/**"):
        lanzar.page.keyboard.press("Control+Enter")
    lanzar.page.clock.fast_forward(20_000)
    expect(lanzar.answer).to_contain_text("No se ha podido llegar al servidor.")
    expect(lanzar.page.locator('[data-part="launch"]')).to_be_enabled()


def test_a_clock_an_hour_slow_still_signs(visit: Visit) -> None:
    lanzar = Lanzar(visit(expect=()))
    lanzar.page.evaluate("() => { const now = Date.now; Date.now = () => now() - 3_600_000; }")
    assert lanzar.launch()["ok"] is True
    expect(lanzar.receipt.get_by_role("status")).to_contain_text("Verificado")
