"""The admin in a browser, under the same strict policy as every page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.server import ServerProcess

pytestmark = pytest.mark.browser


def log_in(page: Page, server: ServerProcess) -> None:
    """Log in as the administrator that `bootstrap` made, by the door that there is for everybody."""
    page.get_by_label("Correo electrónico").fill(server.secrets["adminEmail"])
    page.get_by_label("Contraseña", exact=True).fill(server.secrets["adminPassword"])
    page.get_by_label("Contraseña de la beta").fill(server.secrets["betaPassword"])
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("heading", name="Qué hay")).to_be_visible()


def test_a_key_is_made_and_shown_once(visit: Callable[..., Page], served: ServerProcess) -> None:
    page = visit("/admin/")
    log_in(page, served)
    page.goto(f"{served.url}/admin/workspaces/apikey/add/")
    # The workspace is found by typing, which is the admin's own script at work.
    page.get_by_role("combobox").first.click()
    page.locator(".select2-search__field").fill("Demo")
    page.get_by_role("option", name="Demo").click()
    page.get_by_label("Etiqueta").fill("desde la administración")
    page.get_by_role("button", name="Guardar", exact=True).click()
    expect(page.get_by_text("que no se volverá a mostrar: imk_")).to_be_visible()
    page.reload()
    expect(page.get_by_text("que no se volverá a mostrar")).to_have_count(0)
    expect(page.get_by_role("link", name="imk_").first).to_be_visible()


def test_what_the_authority_decided_can_be_looked_at(
    visit: Callable[..., Page], served: ServerProcess
) -> None:
    page = visit("/admin/")
    log_in(page, served)
    for table in ("leaserow", "waitrow", "agentrow", "resourcerow"):
        page.goto(f"{served.url}/admin/coordination/{table}/")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("#content-main .addlink")).to_have_count(0)
