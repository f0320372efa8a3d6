"""Agents of a workspace: their trust, what they hold, and what moved their trust."""

import re
from datetime import UTC, datetime

from coordination.read import history
from tests.records.conftest import Conduct
from tests.records.pages import ANA, BEA, body, path, settled

HOSTILE = "did:example:%3Cscript%3E"
NAMED = 'lock:<b onmouseover="x">&amp;'


def test_the_page_of_an_agent_shows_its_history(workspace, browse, conduct: Conduct):
    conduct.acquire(ANA)
    conduct.acquire(BEA)
    conduct.release(ANA)
    conduct.acquire(BEA)
    conduct.passes(30_000)
    conduct.acquire(ANA, "lock:b")
    workspace.agents.create(did=ANA)
    client = browse()
    listed = body(client.get(path("agents", workspace)))
    assert "50,5" in listed
    assert "45,0" in listed
    assert "lock:b" in listed
    assert "firma lo que pide" in listed
    page = body(client.get(path("agent", workspace), {"did": BEA}))
    assert "dejó caducar" in page
    assert "−5,0" in page
    assert "devolvió a tiempo" not in page
    assert "lse_" not in listed + page
    english = body(client.get("/en" + path("agent", workspace), {"did": ANA}))
    assert "+0.5" in english


def test_names_are_shown_as_text(workspace, browse, conduct: Conduct):
    conduct.acquire(HOSTILE, NAMED)
    settled(workspace.public_id)
    client = browse()
    for address in (
        path("agents", workspace),
        f"{path('agent', workspace)}?did={HOSTILE.replace('%', '%25')}",
    ):
        text = body(client.get(address))
        assert "<b onmouseover" not in text
        assert "&lt;b onmouseover" in text
    assert "<b onmouseover" not in body(client.get(path("receipts", workspace)))


def test_the_agents_are_listed_in_pages(workspace, browse, conduct: Conduct):
    dids = [f"did:example:{number:03}" for number in range(60)]
    for did in dids:
        conduct.acquire(did, f"lock:{did}")
    client, address, seen = browse(), path("agents", workspace), []
    while address:
        text = body(client.get(address))
        seen += re.findall(r'<code title="(did:[^"]+)"', text)
        following = re.search(r'href="(\?despues=[^"]+)"', text)
        address = following and path("agents", workspace) + following[1].replace("&amp;", "&")
    assert seen == dids


def test_a_long_history_is_listed_in_pages(workspace, browse, conduct: Conduct):
    for _ in range(60):
        conduct.acquire(ANA)
        conduct.release(ANA)
    client = browse()
    first = body(client.get(path("agent", workspace), {"did": ANA}))
    assert first.count("devolvió a tiempo") == 50
    query = re.search(r'href="(\?did=[^"]+antes=\d+)"', first)[1].replace("&amp;", "&")
    rest = body(client.get(path("agent", workspace) + query))
    assert rest.count("devolvió a tiempo") == 10
    assert ">50,5<" in rest  # the oldest move


def test_a_move_of_zero_is_described_by_the_score():
    move = history.Move(1, datetime(2026, 1, 1, tzinfo=UTC), delta=0, score=100)
    assert move.released
    assert not history.Move(1, move.at, delta=0, score=0).released


def test_many_resources_are_not_all_named(workspace, browse, conduct: Conduct):
    for number in range(5):
        conduct.acquire(ANA, f"lock:{number}")
    assert "y 2 más" in body(browse().get(path("agents", workspace)))


def test_the_history_has_one_agent_of_one_workspace(workspace, conduct: Conduct):
    """Other agents move in between, and one agent several times in one transaction; the latest move is
    first."""
    for resource in ("lock:a", "lock:b", "lock:c"):
        conduct.acquire(ANA, resource)
    conduct.acquire(BEA, "lock:d")
    conduct.release(BEA, "lock:d")
    conduct.passes(30_000)
    conduct.acquire(BEA, "lock:d")
    conduct.release(BEA, "lock:d")
    conduct.acquire(ANA)
    conduct.release(ANA)
    settled(workspace.public_id)
    own = workspace.public_id
    hers = history.moves(own, ANA, None, 50)
    assert [(str(move.delta), str(move.score)) for move in hers] == [
        ("0.5", "35.5"),
        ("-5.0", "35.0"),
        ("-5.0", "40.0"),
        ("-5.0", "45.0"),
    ]
    assert history.moves(own, ANA, None, 3) == hers[:3]
    assert history.moves(own, ANA, hers[1].id, 50) == hers[2:]
    assert history.moves(own, ANA, hers[-1].id, 50) == []
    assert [str(move.score) for move in history.moves(own, BEA, None, 50)] == ["51.0", "50.5"]
    # A cursor of another agent's history is not valid in this one.
    assert history.moves(own, BEA, hers[0].id, 50) == history.moves("ws_other", ANA, hers[0].id, 50) == []
    assert history.moves(own, "did:example:never", None, 50) == []
