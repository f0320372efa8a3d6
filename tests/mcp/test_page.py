"""The page on how to connect: its configurations have the form that the clients read, and they work."""

import ast
import json
import re
import shlex
import sys
from contextlib import asynccontextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from coordination.pages.module import clients, reference
from tests.mcp.client import Agent, Wire

PATHS = {"es": "/docs/mcp/", "en": "/en/docs/mcp/"}
BASE = "http://127.0.0.1:8000"


ADDRESS = f"{BASE}/mcp/compat"


def configured(name):
    """A client's configuration."""
    (client,) = [client for client in clients.clients() if client.name == name]
    return client.configuration


@pytest.mark.parametrize("language", PATHS)
def test_the_page_says_how_every_client_connects(language):
    page = Client().get(PATHS[language], headers={"host": "127.0.0.1"})
    assert page.status_code == 200
    text = page.content.decode()
    assert f'<html lang="{language}">' in text
    for client in clients.clients():
        assert f'id="{client.anchor}"' in text
        assert f'href="#{client.anchor}"' in text
    for part in (f"<code>{BASE}/mcp</code>", f"<code>{BASE}/mcp/compat</code>", "did:web:example.com"):
        assert part in text
    for tool in ("lease.acquire", "lease.release", "lease.withdraw", "wait", "status"):
        assert f"<code>coordination.{tool}</code>" in text
        assert f"<code>coordination_{tool.replace('.', '_')}</code>" in text


def test_the_page_exists_in_english():
    spanish, english = (
        re.sub(r"<[^>]+>", " ", Client().get(path, headers={"host": "127.0.0.1"}).content.decode())
        for path in PATHS.values()
    )
    for one, other in (("Lo que no va por aquí", "What does not go this way"), ("Herramientas", "Tools")):
        assert one in spanish
        assert one not in english
        assert other in english


def test_each_configuration_uses_the_address_that_every_model_accepts():
    names = [client.name for client in clients.clients()]
    assert {"Claude Code", "Claude Desktop", "Cursor", "VS Code", "Gemini CLI"} < set(names)
    assert {"OpenAI Agents SDK", "LangChain", "Pydantic AI"} < set(names)
    for client in clients.clients():
        assert re.findall(rf"{re.escape(BASE)}/mcp[\w/]*", client.configuration) == [ADDRESS], client.name
    assert f'"{ADDRESS}"' in reference.mcp_configuration()


def test_each_configuration_has_its_clients_form():
    words = shlex.split(configured("Claude Code").replace("\\\n", " "))
    assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert words[-1] == "Authorization: Bearer $INTRAMEDIAL_KEY"

    desktop = json.loads(configured("Claude Desktop"))["mcpServers"]["intramedial"]
    assert (desktop["command"], desktop["args"][:2]) == ("npx", ["-y", "mcp-remote"])
    assert desktop["args"][3:] == ["--header", "Authorization:${INTRAMEDIAL_AUTH}"]
    assert desktop["env"] == {"INTRAMEDIAL_AUTH": "Bearer imk_…"}

    cursor = json.loads(configured("Cursor"))["mcpServers"]["intramedial"]
    assert cursor["headers"] == {"Authorization": "Bearer ${env:INTRAMEDIAL_KEY}"}

    gemini = json.loads(configured("Gemini CLI"))["mcpServers"]["intramedial"]
    assert gemini == {"httpUrl": ADDRESS, "headers": {"Authorization": "Bearer ${INTRAMEDIAL_KEY}"}}

    code = json.loads(configured("VS Code"))
    assert code["servers"]["intramedial"]["type"] == "http"
    (asked,) = code["inputs"]
    assert code["servers"]["intramedial"]["headers"]["Authorization"] == f"Bearer ${{input:{asked['id']}}}"


def test_the_bridge_allows_plain_http_where_there_is_no_tls(settings):
    settings.BASE_URL = "http://leases.example:8000"
    assert '"--allow-http"' in configured("Claude Desktop")
    settings.BASE_URL = "https://leases.example"
    assert '"--allow-http"' not in configured("Claude Desktop")


async def test_the_sample_call_is_answered(wire: Wire):
    words = shlex.split(clients.check().replace("\\\n", " "))
    headers = dict(word.split(": ") for at, word in enumerate(words) if words[at - 1] == "-H")
    assert words[:3] == ["curl", "-sS", ADDRESS]
    assert headers.pop("Authorization") == "Bearer $INTRAMEDIAL_KEY"
    headers["authorization"] = f"Bearer {wire.key}"
    answer = await wire.http.post("/mcp/compat", content=words[-1], headers=headers)
    assert answer.json()["result"]["structuredContent"]["holds"] is False


def test_the_page_names_the_versions():
    versions = reference.mcp_versions()
    page = Client().get(PATHS["en"], headers={"host": "127.0.0.1"}).content.decode()
    for version in versions.accepted:
        assert f"<li><code>{version}</code></li>" in page
    assert f"without it {versions.assumed} is assumed" in page


async def test_the_named_versions_are_accepted(wire: Wire):
    versions = reference.mcp_versions()
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {%s}}}'
    meta = '"io.modelcontextprotocol/protocolVersion": "%s", "io.modelcontextprotocol/clientCapabilities": {}'
    for version in (*versions.accepted, "2024-10-07", "2099-01-01", "x"):
        answer = await wire.post(
            ping % (meta % version), mcp_protocol_version=version, mcp_method="tools/list"
        )
        assert ("result" in answer.json()) is (version in versions.accepted), answer.text


# --- the programs of the libraries, run with stand-ins for them ---------------------------------------------


class Used(BaseException):
    """Ends a program where it would call a model."""


def library(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    """A module of that name, with its packages, that has only these members."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        module = ".".join(parts[:end])
        if module not in sys.modules or end == len(parts):
            monkeypatch.setitem(sys.modules, module, ModuleType(module))
    for member, value in members.items():
        setattr(sys.modules[name], member, value)


@asynccontextmanager
async def return_nothing():
    yield


def install_stand_ins(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
    """Libraries that record where they are told to connect, and call no model."""

    def connect(url: str, headers: dict[str, str], **_: Any) -> Any:
        given.update(url=url, headers=headers)
        return return_nothing()

    class Several:
        def __init__(self, servers: dict[str, Any]) -> None:
            (server,) = servers.values()
            assert server.pop("transport") == "streamable_http"
            connect(**server)

        async def get_tools(self) -> list[Any]:
            return []

    async def asked(*_: Any) -> None:
        raise Used

    runs = SimpleNamespace(run=asked, ainvoke=asked)
    library(monkeypatch, "agents", Agent=lambda **_: None, Runner=runs)
    library(monkeypatch, "agents.mcp", MCPServerStreamableHttp=lambda name, params: connect(**params))
    library(monkeypatch, "langchain.agents", create_agent=lambda model, tools, system_prompt: runs)
    library(monkeypatch, "langchain_mcp_adapters.client", MultiServerMCPClient=Several)
    library(monkeypatch, "pydantic_ai", Agent=lambda model, instructions, toolsets: runs)
    library(monkeypatch, "pydantic_ai.mcp", MCPToolset=connect)


@pytest.mark.parametrize("name", ["OpenAI Agents SDK", "LangChain", "Pydantic AI"])
async def test_a_program_connects_with_the_key_of_its_environment(name, url, api_key, monkeypatch):
    given: dict[str, Any] = {}
    install_stand_ins(monkeypatch, given)
    monkeypatch.setenv("INTRAMEDIAL_KEY", api_key)
    monkeypatch.setenv("MODEL", "none")
    program = ast.parse(configured(name))
    last = program.body.pop()
    assert ast.unparse(last) == "asyncio.run(main())"
    names: dict[str, Any] = {}
    exec(compile(program, name, "exec"), names)
    with pytest.raises(Used):
        await names["main"]()
    assert given["headers"] == {"Authorization": f"Bearer {api_key}"}
    async with Agent.connected(given["url"].replace(BASE, url), api_key, path="") as agent:
        assert (await agent.client.list_tools()).tools[0].name == "coordination_wait"
