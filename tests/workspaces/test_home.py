"""The list of workspaces, and making one."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from intramedial.audit.models import Entry
from intramedial.workspaces.models import Membership, Workspace
from tests.people import member


def test_whoever_makes_one_owns_it(stranger):
    answer = stranger.fill("/espacios/", name=" Pagos  y cobros")
    workspace = Workspace.objects.get(memberships__user=stranger.user)
    assert answer.headers["location"] == f"/espacios/{workspace.public_id}/"
    assert workspace.name == "Pagos y cobros"
    assert workspace.memberships.get().role == Membership.Role.OWNER
    entry = Entry.objects.get(workspace=workspace.public_id)
    assert (entry.action, entry.actor) == ("workspace.created", stranger.user.pk)


def test_the_same_form_twice_makes_one(stranger):
    form = stranger.get("/espacios/").context["form"]
    given = {"name": "una", "once": form["once"].value()}
    first, second = stranger.post("/espacios/", given), stranger.post("/espacios/", given)
    assert first.headers["location"] == second.headers["location"]
    assert Workspace.objects.filter(memberships__user=stranger.user).count() == 1
    assert Entry.objects.filter(actor=stranger.user.pk).count() == 1


def test_a_form_of_somebody_else_makes_nothing(stranger, owner):
    once = owner.get("/espacios/").context["form"]["once"].value()
    for given in ({"name": "una", "once": once}, {"name": "una"}, {"name": "una", "once": "x"}):
        answer = stranger.post("/espacios/", given)
        assert answer.status_code == 422
        assert 'value="una"' in answer.content.decode()
    # What came back can be sent as it is.
    assert stranger.post("/espacios/", {"name": "una", "once": answer.context["form"]["once"].value()})
    assert Workspace.objects.filter(memberships__user=stranger.user).count() == 1


def test_a_bad_name_is_told_beside_its_field_and_kept(stranger):
    answer = stranger.fill("/espacios/", name="a\u202eb")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in page
    assert 'id="id_name_error"' in page
    assert "a\u202eb" in page
    assert not Workspace.objects.filter(memberships__user=stranger.user).exists()


def test_a_person_owns_a_number_of_workspaces(stranger, settings):
    settings.PERSON_WORKSPACES = 1
    assert stranger.fill("/espacios/", name="una").status_code == 302
    assert stranger.fill("/espacios/", name="otra").status_code == 422
    assert Workspace.objects.filter(memberships__user=stranger.user).count() == 1


def test_one_sees_ones_own(stranger, workspace, owner):
    assert workspace.public_id not in stranger.get("/espacios/").content.decode()
    member(workspace, "viewer", stranger.user)
    assert workspace.public_id in stranger.get("/espacios/").content.decode()
    assert "no-store" in owner.get(f"/espacios/{workspace.public_id}/").headers["cache-control"]


def test_first_steps_follow_what_was_done(owner, at, api_key):
    assert owner.get(at()).content.decode().count('class="is-done"') == 1


@pytest.mark.parametrize(
    "name",
    ["ws_unknown", "ws_%00", "%00", "ws_" + "x" * 22, "ws_" + "é" * 22, "x" * 2_000, "ws_%ff%fe", "..%2f"],
)
def test_a_workspace_that_is_none_is_not_there(stranger, name):
    assert stranger.get(f"/espacios/{name}/").status_code == 404
    assert stranger.get(f"/espacios/{name}/claves/").status_code == 404


def test_the_same_form_at_the_same_time_makes_one(stranger, visitor):
    given = {"name": "una", "once": stranger.get("/espacios/").context["form"]["once"].value()}
    browsers = [visitor(stranger.user) for _ in range(4)]

    def send(browser: Any) -> str:
        try:
            return str(browser.post("/espacios/", given).headers["location"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(send, browsers))) == 1
    assert Workspace.objects.filter(memberships__user=stranger.user).count() == 1
    assert Entry.objects.filter(actor=stranger.user.pk).count() == 1
