"""A workspace's agents, receipts and usage in a browser: accessible, and paged to the end."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.membership import asked
from tests.browser.test_accounts import fine
from tests.server import ServerProcess

pytestmark = pytest.mark.browser

ANA = "did:web:agents.example:ana"


def ask(server: ServerProcess, key: str, operation: str, resource: str) -> None:
    """Acquire or release a resource for Ana."""
    request = urllib.request.Request(
        f"{server.url}/api/v1/acp/coordination/{operation}",
        json.dumps({"resource": resource, "actorDid": ANA}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    urllib.request.urlopen(request).close()


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1600, "light")])
def test_a_viewer_reads_the_records(
    visit: Callable[..., Page], served: ServerProcess, width: int, theme: str
) -> None:
    made: dict[str, Any] = asked(served, role="viewer")
    for _ in range(3):
        ask(served, made["apiKey"], "lease", "lock:a")
        ask(served, made["apiKey"], "release", "lock:a")
    ask(served, made["apiKey"], "lease", "lock:" + "largo/" * 40)
    page = visit("/", color_scheme=theme, viewport={"width": width, "height": 900})
    page.context.add_cookies([made["cookie"]])
    page.goto(f"{served.url}/espacios/{made['workspace']}/agentes/")
    fine(page)
    page.locator("tbody").get_by_role("link", name=ANA).click()
    expect(page.get_by_text("devolvió a tiempo")).to_have_count(3)
    expect(page.get_by_role("img", name="De 50,0 a 51,5")).to_be_visible()
    fine(page)
    page.get_by_role("link", name="los de este agente").click()
    expect(page.get_by_label("Agente")).to_have_value(ANA)
    fine(page)
    page.get_by_label("Resultado").select_option("released")
    page.get_by_role("button", name="Filtrar").click()
    page.locator("tbody a[href*=rcp_]").first.click()
    fine(page)
    page.get_by_role("link", name="Verificar", exact=True).click()
    expect(page.locator("[data-verified=true]")).to_be_visible()
    page.go_back()
    page.get_by_role("navigation", name="Espacio de trabajo").get_by_role("link", name="Uso").click()
    fine(page)
