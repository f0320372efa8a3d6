"""The page that tells how to connect: its configurations are what the clients read, and work."""

import json
import re
import shlex

import pytest
from django.test import Client

from coordination.page import clients
from tests.mcp.client import Wire

PATHS = {"es": "/docs/mcp/", "en": "/en/docs/mcp/"}
BASE = "http://127.0.0.1:8000"


def configured(name):
    """A client's configuration, and the address in it."""
    (client,) = [client for client in clients.clients() if client.name == name]
    return client.configuration, client.address


@pytest.mark.parametrize("language", PATHS)
def test_it_tells_every_client_how_to_connect(language):
    page = Client().get(PATHS[language], headers={"host": "127.0.0.1"})
    assert page.status_code == 200
    text = page.content.decode()
    assert f'<html lang="{language}">' in text
    for client in clients.clients():
        assert f'id="{client.anchor}"' in text
        assert f'href="#{client.anchor}"' in text
    for said in (f"<code>{BASE}/mcp</code>", f"<code>{BASE}/mcp/compat</code>", "did:web:example.com"):
        assert said in text
    for tool in ("lease.acquire", "lease.release", "lease.withdraw", "wait", "status"):
        assert f"<code>coordination.{tool}</code>" in text


def test_the_page_is_in_english_too():
    spanish, english = (
        re.sub(r"<[^>]+>", " ", Client().get(path, headers={"host": "127.0.0.1"}).content.decode())
        for path in PATHS.values()
    )
    for one, other in (("Lo que no va por aquí", "What does not go this way"), ("Herramientas", "Tools")):
        assert one in spanish
        assert one not in english
        assert other in english


def test_each_configuration_names_the_list_that_the_client_takes():
    for name, suffix in (
        ("Claude Code", "/mcp/compat"),
        ("Claude Desktop", "/mcp/compat"),
        ("Cursor", "/mcp/compat"),
        ("VS Code", "/mcp"),
    ):
        configuration, address = configured(name)
        assert address == BASE + suffix
        assert re.search(rf"{re.escape(address)}(?![\w/])", configuration), name


def test_the_configurations_are_of_the_form_that_each_client_reads():
    words = shlex.split(configured("Claude Code")[0].replace("\\\n", " "))
    assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert words[-1] == "Authorization: Bearer $INTRAMEDIAL_KEY"

    desktop = json.loads(configured("Claude Desktop")[0])["mcpServers"]["intramedial"]
    assert (desktop["command"], desktop["args"][:2]) == ("npx", ["-y", "mcp-remote"])
    assert desktop["args"][3:] == ["--header", "Authorization:${INTRAMEDIAL_AUTH}"]
    assert desktop["env"] == {"INTRAMEDIAL_AUTH": "Bearer imk_…"}

    cursor = json.loads(configured("Cursor")[0])["mcpServers"]["intramedial"]
    assert cursor["headers"] == {"Authorization": "Bearer ${env:INTRAMEDIAL_KEY}"}

    code = json.loads(configured("VS Code")[0])
    assert code["servers"]["intramedial"]["type"] == "http"
    (asked,) = code["inputs"]
    assert code["servers"]["intramedial"]["headers"]["Authorization"] == f"Bearer ${{input:{asked['id']}}}"


def test_the_bridge_is_told_when_it_has_to_go_without_tls(settings):
    settings.BASE_URL = "http://leases.example:8000"
    assert '"--allow-http"' in configured("Claude Desktop")[0]
    settings.BASE_URL = "https://leases.example"
    assert '"--allow-http"' not in configured("Claude Desktop")[0]


async def test_the_sample_is_a_call_that_is_answered(wire: Wire):
    words = shlex.split(clients.check().replace("\\\n", " "))
    headers = dict(word.split(": ") for at, word in enumerate(words) if words[at - 1] == "-H")
    assert words[:3] == ["curl", "-sS", f"{BASE}/mcp"]
    assert headers.pop("Authorization") == "Bearer $INTRAMEDIAL_KEY"
    headers["authorization"] = f"Bearer {wire.key}"
    answer = await wire.http.post("/mcp", content=words[-1], headers=headers)
    assert answer.json()["result"]["structuredContent"]["holds"] is False
