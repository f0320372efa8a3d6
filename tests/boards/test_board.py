"""The live board's pages and what its scripts ask for, without a browser."""

import json
from collections.abc import Callable
from typing import Any

import html5lib
import pytest
from django.test import Client

from intramedial.audit.models import Entry
from tests.records.conftest import Conduct
from tests.records.pages import path, settled

ANA, BEA, CID = "did:example:ana", "did:example:bea", "did:example:cid"
Browse = Callable[..., Client]


def text(answer: Any, status: int = 200) -> str:
    """A page, which must be a valid one."""
    assert answer.status_code == status, answer.status_code
    said: str = answer.content.decode()
    html5lib.HTMLParser(strict=True).parse(said)
    return said


def test_a_page_for_those_who_have_no_scripts(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:<a>")
    conduct.acquire(BEA, "lock:<a>")
    said = text(browse().get(path("board", workspace)))
    assert "lock:&lt;a&gt;" in said
    assert "lock:<a>" not in said
    assert ANA in said and BEA in said
    assert "lse_" not in said


def test_a_resource_with_its_history(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:a")
    conduct.release(ANA, "lock:a")
    conduct.acquire(BEA, "lock:a")
    conduct.acquire(CID, "lock:b")
    settled(workspace.public_id)
    client = browse()
    said = text(client.get(path("board_resource", workspace), {"nombre": "lock:a"}))
    assert said.count("Concedido</a>") == 2
    assert said.count("Devuelto</a>") == 1
    assert CID not in said
    assert "lse_" not in said
    assert "Revocar la concesión" not in said
    assert "Nadie lo tiene" in text(client.get(path("board_resource", workspace), {"nombre": "lock:other"}))


@pytest.mark.parametrize("name", ["", " lock:a", "a\x00b", "\u202elock", "x" * 257])
def test_what_cannot_be_a_name_is_no_page(browse: Browse, workspace: Any, name: str) -> None:
    assert browse().get(path("board_resource", workspace), {"nombre": name}).status_code == 404


def test_search_by_the_beginning_of_a_name(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    for name in ("lock:a", "lock:ab", "lock:b", "lock:%", "lock:free"):
        conduct.acquire(ANA, name)
    conduct.acquire(BEA, "lock:ab")
    conduct.release(ANA, "lock:free")
    client = browse()

    def found(beginning: str) -> dict[str, tuple[int, int, int]]:
        answer = client.get(path("board_search", workspace), {"prefijo": beginning})
        assert "no-store" in answer["Cache-Control"]
        names = ("holders", "queue", "lastToken")
        return {one["resource"]: tuple(one[name] for name in names) for one in answer.json()["resources"]}

    assert found("lock:a") == {"lock:a": (1, 0, 1), "lock:ab": (1, 1, 1)}
    assert found("lock:%") == {"lock:%": (1, 0, 1)}
    assert found("lock:free") == {"lock:free": (0, 0, 1)}
    assert found("nothing") == found("") == found("\x00") == {}


def test_the_conduct_of_agents(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:a")
    conduct.release(ANA, "lock:a")
    conduct.acquire(ANA, "lock:a")
    conduct.passes(30_000)
    dids = [ANA, "did:example:stranger", "no did", "\x00", *[f"did:example:{n}" for n in range(100)]]
    answer = browse().get(path("board_conduct", workspace), {"did": dids}).json()
    [ana] = answer["agents"]
    assert (ana["did"], ana["trust"]) == (ANA, 45.5)
    assert [move["delta"] for move in ana["moves"]] == [-5.0, 0.5]


def test_only_owners_end_a_lease_and_only_the_one_they_looked_at(
    browse: Browse, conduct: Conduct, workspace: Any
) -> None:
    token = conduct.acquire(ANA, "lock:a").lease.token
    address = f"{path('board_resource', workspace)}?nombre=lock:a"
    form = {"agent": ANA, "token": token, "name": "lock:a", "reason": "colgado"}
    for role in ("viewer", "member"):
        assert browse(role).post(address, form).status_code == 403
    owner = browse("owner")
    assert "Revocar la concesión" in text(owner.get(address))
    wrong = text(owner.post(address, {**form, "name": "lock:b"}), 422)
    assert "No es el nombre de este recurso" in wrong
    assert "colgado" in wrong
    assert owner.post(address, {**form, "agent": "nobody"}).status_code == 404
    assert owner.post(address, {}).status_code == 404

    for _ in range(2):
        done = owner.post(address, form)
        assert (done.status_code, done["Location"]) == (302, f"{path('board', workspace)}?recurso=lock%3Aa")
    entries = Entry.objects.filter(workspace=workspace.public_id, action="lease.revoked")
    assert [entry.target for entry in entries] == ["lock:a"]
    assert conduct.acquire(BEA, "lock:a").lease.token == token + 1


@pytest.mark.parametrize("name", ["board", "board_resource", "board_search", "board_conduct"])
def test_strangers_find_nothing(client: Client, browse: Browse, workspace: Any, name: str) -> None:
    from intramedial.workspaces import provision

    other = provision.create_workspace("other")
    assert browse().get(path(name, other), {"nombre": "lock:a"}).status_code == 404
    answer = client.get(path(name, workspace), {"nombre": "lock:a"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/acceso/?next=/espacios/")


def test_the_scripts_words_are_the_pages_language(browse: Browse, workspace: Any) -> None:
    client = browse()
    for address, word in ((path("board", workspace), "En vivo"), ("/en" + path("board", workspace), "Live")):
        said = text(client.get(address))
        found = html5lib.parse(said, namespaceHTMLElements=False).find(".//script[@id='texts']")
        assert json.loads(found.text)["live_live"] == word
