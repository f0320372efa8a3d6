"""The admin in a browser, under the same strict policy as every page."""

import json
import secrets
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accounts import fine
from tests.server import ServerProcess

pytestmark = pytest.mark.browser


def log_in(page: Page, server: ServerProcess) -> None:
    """Log in on the ordinary page, as the administrator that `bootstrap` made."""
    page.get_by_label("Correo electrónico").fill(server.secrets["adminEmail"])
    page.get_by_label("Contraseña", exact=True).fill(server.secrets["adminPassword"])
    page.get_by_label("Contraseña de la beta").fill(server.secrets["betaPassword"])
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("heading", name="Qué hay")).to_be_visible()


def test_a_key_is_created_and_shown_once(visit: Callable[..., Page], served: ServerProcess) -> None:
    page = visit("/admin/")
    log_in(page, served)
    page.goto(f"{served.url}/admin/workspaces/apikey/add/")
    # The admin's own script finds the workspace while one types.
    page.get_by_role("combobox").first.click()
    page.locator(".select2-search__field").fill("Demo")
    page.get_by_role("option", name="Demo").click()
    page.get_by_label("Etiqueta").fill("desde la administración")
    page.get_by_role("button", name="Guardar", exact=True).click()
    expect(page.get_by_text("que no se volverá a mostrar: imk_")).to_be_visible()
    page.reload()
    expect(page.get_by_text("que no se volverá a mostrar")).to_have_count(0)
    expect(page.get_by_role("link", name="imk_").first).to_be_visible()


def act_on_first(page: Page, action: str) -> None:
    """Apply an action to the first row of a list."""
    page.locator("#result_list .action-select").first.check()
    page.get_by_label("Acción:").select_option(label=action)
    page.get_by_role("button", name="Ir").click()


def test_an_administrator_can_do_all_tasks(visit: Callable[..., Page], served: ServerProcess) -> None:
    page = visit("/pedir-acceso/")
    page.get_by_label("Correo electrónico").fill(f"pide-{secrets.token_hex(4)}@example.com")
    page.get_by_label("Para qué lo quieres").fill("Agentes que despliegan.")
    page.get_by_role("button", name="Pedir acceso").click()
    page.goto(f"{served.url}/admin/")
    log_in(page, served)
    fine(page)

    page.get_by_role("link", name="Peticiones de acceso").click()
    act_on_first(page, "Dar a cada una una contraseña de la beta, de un uso")
    secret = page.locator("code").first.inner_text()
    fine(page)
    page.get_by_role("link", name="Volver a la lista").click()
    expect(page.get_by_text(secret)).to_have_count(0)

    page.goto(f"{served.url}/admin/accounts/betapassword/")
    act_on_first(page, "Revocar las seleccionadas")
    expect(page.get_by_text("Revocadas: 1.")).to_be_visible()
    fine(page)

    agent = f"did:web:agents.example:{secrets.token_hex(4)}"
    lease(served, "lock:forced", agent)
    page.goto(f"{served.url}/admin/coordination/leaserow/")
    page.get_by_label("Buscar", exact=True).fill(agent)
    page.get_by_role("button", name="Buscar").click()
    expect(page.get_by_role("link", name="Revocar…")).to_have_count(1)
    fine(page)
    page.get_by_role("link", name="Revocar…").click()
    expect(page.get_by_role("heading", name="Revocar una concesión")).to_be_visible()
    fine(page)
    page.get_by_label("Nombre del recurso").fill("lock:other")
    page.get_by_label("Motivo").fill("se colgó")
    page.get_by_role("button", name="Revocar esta concesión").click()
    expect(page.get_by_text("No es el nombre de este recurso.")).to_be_visible()
    expect(page.get_by_label("Motivo")).to_have_value("se colgó")
    page.get_by_label("Nombre del recurso").fill("lock:forced")
    page.get_by_role("button", name="Revocar esta concesión").click()
    expect(page.get_by_text("La concesión de lock:forced está revocada.")).to_be_visible()
    assert lease(served, "lock:forced", agent)["lease"]["renewed"] is False

    page.goto(f"{served.url}/admin/ledger/entry/")
    fine(page)
    act_on_first(page, "Verificar")
    expect(page.get_by_text("Se cumple todo: 1 de 1")).to_be_visible()
    fine(page)

    page.goto(f"{served.url}/admin/audit/entry/?q={served.secrets['workspace']}")
    expect(page.get_by_role("row", name="lease.revoked")).to_be_visible()
    fine(page)


@pytest.mark.parametrize(("width", "theme", "first"), [(360, "dark", 0), (1600, "light", 2)])
def test_lists_are_accessible(
    visit: Callable[..., Page], served: ServerProcess, width: int, theme: str, first: int
) -> None:
    page = visit("/admin/", color_scheme=theme, viewport={"width": width, "height": 900})
    log_in(page, served)
    lists = page.locator("#content-main th a").evaluate_all("links => links.map(link => link.href)")
    assert len(lists) > 20
    for address in lists[first::4]:  # they look alike, so each size has some of them
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        fine(page)


def lease(server: ServerProcess, resource: str, agent: str) -> dict[str, Any]:
    """Acquire a resource for an agent of the demo workspace; returns the answer."""
    request = urllib.request.Request(
        f"{server.url}/api/v1/acp/coordination/lease",
        json.dumps({"resource": resource, "actorDid": agent}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {server.secrets['apiKey']}"},
    )
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
