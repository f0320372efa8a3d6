"""The list of workspaces, and creating one."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from intramedial.audit.models import Entry
from intramedial.workspaces.models import Membership, Workspace
from tests.people import member


def test_the_creator_of_a_workspace_owns_it(newcomer):
    answer = newcomer.fill("/espacios/", name=" Pagos  y cobros")
    workspace = Workspace.objects.get(memberships__user=newcomer.user)
    assert answer.headers["location"] == f"/espacios/{workspace.public_id}/"
    assert workspace.name == "Pagos y cobros"
    assert workspace.memberships.get().role == Membership.Role.OWNER
    entry = Entry.objects.get(workspace=workspace.public_id)
    assert (entry.action, entry.actor) == ("workspace.created", newcomer.user.pk)


def test_the_same_form_twice_creates_one_workspace(newcomer):
    form = newcomer.get("/espacios/").context["form"]
    given = {"name": "una", "once": form["once"].value()}
    first, second = newcomer.post("/espacios/", given), newcomer.post("/espacios/", given)
    assert first.headers["location"] == second.headers["location"]
    assert Workspace.objects.filter(memberships__user=newcomer.user).count() == 1
    assert Entry.objects.filter(actor=newcomer.user.pk).count() == 1


def test_a_form_of_another_person_creates_nothing(newcomer, owner):
    once = owner.get("/espacios/").context["form"]["once"].value()
    for given in ({"name": "una", "once": once}, {"name": "una"}, {"name": "una", "once": "x"}):
        answer = newcomer.post("/espacios/", given)
        assert answer.status_code == 422
        assert 'value="una"' in answer.content.decode()
    # The returned page can be sent unchanged.
    assert newcomer.post("/espacios/", {"name": "una", "once": answer.context["form"]["once"].value()})
    assert Workspace.objects.filter(memberships__user=newcomer.user).count() == 1


def test_a_bad_name_has_a_message_beside_its_field_and_is_kept(newcomer):
    answer = newcomer.fill("/espacios/", name="a\u202eb")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in page
    assert 'id="id_name_error"' in page
    assert "a\u202eb" in page
    assert not Workspace.objects.filter(memberships__user=newcomer.user).exists()


def test_a_person_has_a_limit_of_owned_workspaces(newcomer, settings):
    settings.PERSON_WORKSPACES = 1
    assert newcomer.fill("/espacios/", name="una").status_code == 302
    assert newcomer.fill("/espacios/", name="otra").status_code == 422
    assert Workspace.objects.filter(memberships__user=newcomer.user).count() == 1


def test_people_see_only_their_own_workspaces(newcomer, workspace, owner):
    assert workspace.public_id not in newcomer.get("/espacios/").content.decode()
    member(workspace, "viewer", newcomer.user)
    assert workspace.public_id in newcomer.get("/espacios/").content.decode()
    assert "no-store" in owner.get(f"/espacios/{workspace.public_id}/").headers["cache-control"]


def test_the_first_steps_show_what_is_done(owner, at, api_key):
    assert owner.get(at()).content.decode().count('class="is-done"') == 1


@pytest.mark.parametrize(
    "name",
    ["ws_unknown", "ws_%00", "%00", "ws_" + "x" * 22, "ws_" + "é" * 22, "x" * 2_000, "ws_%ff%fe", "..%2f"],
)
def test_an_unknown_workspace_is_not_found(newcomer, name):
    assert newcomer.get(f"/espacios/{name}/").status_code == 404
    assert newcomer.get(f"/espacios/{name}/claves/").status_code == 404


def test_the_same_form_sent_concurrently_creates_one_workspace(newcomer, visitor):
    given = {"name": "una", "once": newcomer.get("/espacios/").context["form"]["once"].value()}
    browsers = [visitor(newcomer.user) for _ in range(4)]

    def send(browser: Any) -> str:
        try:
            return str(browser.post("/espacios/", given).headers["location"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(send, browsers))) == 1
    assert Workspace.objects.filter(memberships__user=newcomer.user).count() == 1
    assert Entry.objects.filter(actor=newcomer.user.pk).count() == 1
