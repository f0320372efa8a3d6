"""The live board's pages and the data that its scripts request, without a browser."""

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
    """The text of a page; fails unless it is a valid page."""
    assert answer.status_code == status, answer.status_code
    page: str = answer.content.decode()
    html5lib.HTMLParser(strict=True).parse(page)
    return page


def test_the_page_works_without_scripts(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:<a>")
    conduct.acquire(BEA, "lock:<a>")
    page = text(browse().get(path("board", workspace)))
    assert "lock:&lt;a&gt;" in page
    assert "lock:<a>" not in page
    assert ANA in page and BEA in page
    assert "lse_" not in page


def test_the_page_of_a_resource_shows_its_history(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:a")
    conduct.release(ANA, "lock:a")
    conduct.acquire(BEA, "lock:a")
    conduct.acquire(CID, "lock:b")
    settled(workspace.public_id)
    client = browse()
    page = text(client.get(path("board_resource", workspace), {"nombre": "lock:a"}))
    assert page.count("Concedido</a>") == 2
    assert page.count("Devuelto</a>") == 1
    assert CID not in page
    assert "lse_" not in page
    assert "Revocar la concesión" not in page
    assert "Nadie lo tiene" in text(client.get(path("board_resource", workspace), {"nombre": "lock:other"}))


@pytest.mark.parametrize("name", ["", " lock:a", "a\x00b", "\u202elock", "x" * 257])
def test_a_bad_resource_name_is_not_found(browse: Browse, workspace: Any, name: str) -> None:
    assert browse().get(path("board_resource", workspace), {"nombre": name}).status_code == 404


def test_the_search_finds_names_by_their_beginning(browse: Browse, conduct: Conduct, workspace: Any) -> None:
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


def test_the_conduct_of_agents_is_listed(browse: Browse, conduct: Conduct, workspace: Any) -> None:
    conduct.acquire(ANA, "lock:a")
    conduct.release(ANA, "lock:a")
    conduct.acquire(ANA, "lock:a")
    conduct.passes(30_000)
    dids = [ANA, "did:example:unknown", "no did", "\x00", *[f"did:example:{n}" for n in range(100)]]
    answer = browse().get(path("board_conduct", workspace), {"did": dids}).json()
    [ana] = answer["agents"]
    assert (ana["did"], ana["trust"]) == (ANA, 45.5)
    assert [move["delta"] for move in ana["moves"]] == [-5.0, 0.5]


def test_only_owners_revoke_a_lease_and_only_the_displayed_one(
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
    assert owner.post(address, {**form, "agent": "unknown"}).status_code == 404
    assert owner.post(address, {}).status_code == 404

    for _ in range(2):
        done = owner.post(address, form)
        assert (done.status_code, done["Location"]) == (302, f"{path('board', workspace)}?recurso=lock%3Aa")
    entries = Entry.objects.filter(workspace=workspace.public_id, action="lease.revoked")
    assert [entry.target for entry in entries] == ["lock:a"]
    assert conduct.acquire(BEA, "lock:a").lease.token == token + 1


@pytest.mark.parametrize("name", ["board", "board_resource", "board_search", "board_conduct"])
def test_others_find_nothing(client: Client, browse: Browse, workspace: Any, name: str) -> None:
    from intramedial.workspaces import provision

    other = provision.create_workspace("other")
    assert browse().get(path(name, other), {"nombre": "lock:a"}).status_code == 404
    answer = client.get(path(name, workspace), {"nombre": "lock:a"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/acceso/?next=/espacios/")


def test_the_scripts_texts_have_the_pages_language(browse: Browse, workspace: Any) -> None:
    client = browse()
    for address, word in ((path("board", workspace), "En vivo"), ("/en" + path("board", workspace), "Live")):
        page = text(client.get(address))
        found = html5lib.parse(page, namespaceHTMLElements=False).find(".//script[@id='texts']")
        assert json.loads(found.text)["live_live"] == word
