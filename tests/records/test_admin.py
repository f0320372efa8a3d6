"""What administrators do to leases and to requests for access: through the authority, and in the audit
log."""

import re
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from coordination.api.revoke import held
from coordination.models import AgentRow, LeaseRow
from intramedial.accounts import beta
from intramedial.accounts.models import AccessRequest
from intramedial.audit import entries
from intramedial.audit.models import Entry
from intramedial.workspaces import provision
from intramedial.workspaces.models import ApiKey, Membership, RegisteredAgent, Trial, Workspace
from tests.people import client_of, person
from tests.records.conftest import Conduct
from tests.records.pages import ANA, BEA

LEASES = reverse("admin:coordination_leaserow_changelist")
END = reverse("admin:coordination_leaserow_end")


@pytest.fixture
def administrator() -> Client:
    return client_of(person(is_staff=True, is_superuser=True))


def lease_of(conduct: Conduct) -> dict[str, str]:
    """The query that the list's link to the form for ending `lock:a` has."""
    return {"espacio": conduct.workspace, "recurso": "lock:a", "agente": ANA}


def end(client: Client, query: dict[str, str], **form: object):
    return client.post(f"{END}?{urlencode(query)}", form, follow=True)


def test_a_lease_is_revoked(administrator: Client, conduct: Conduct):
    token = conduct.acquire(ANA).lease.token
    conduct.acquire(BEA)
    listed = administrator.get(LEASES, {"q": conduct.workspace}).content.decode()
    assert "terminar/?espacio=" in listed
    assert LeaseRow.objects.get(workspace=conduct.workspace).lease_id not in listed
    query = lease_of(conduct)
    asks = administrator.get(END, query).content.decode()
    assert "confianza del agente no se mueve" in asks
    answer = end(administrator, query, token=token, name="lock:a", reason="se colgó")
    assert "está revocada" in answer.content.decode()
    assert held(conduct.workspace, "lock:a", ANA) is None
    assert AgentRow.objects.get(workspace=conduct.workspace, did=ANA).score == 500
    entry = Entry.objects.get(workspace=conduct.workspace)
    assert (entry.action, entry.detail["reason"]) == ("lease.revoked", "se colgó")
    again = end(administrator, query, token=token, name="lock:a", reason="se colgó")
    assert "ya había terminado" in again.content.decode()


def test_a_mistyped_form_keeps_its_values_and_shows_the_errors(administrator: Client, conduct: Conduct):
    token = conduct.acquire(ANA).lease.token
    answer = end(
        administrator, lease_of(conduct), token=token, name="lock:b", reason="el motivo"
    ).content.decode()
    assert "No es el nombre de este recurso." in answer
    assert 'value="el motivo"' in answer
    assert held(conduct.workspace, "lock:a", ANA) is not None


@pytest.mark.parametrize("query", [{}, {"espacio": "ws_x"}])
def test_a_missing_lease_has_a_message(administrator: Client, conduct: Conduct, query):
    assert administrator.get(END, query, follow=True).status_code == 200


def test_values_that_no_database_can_store_are_no_lease(administrator: Client):
    query = {"espacio": "\x00", "recurso": "\x00", "agente": "\x00"}
    assert administrator.get(END, query, follow=True).status_code == 400


def test_revoking_needs_the_permission(conduct: Conduct):
    conduct.acquire(ANA)
    staff = person(is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_leaserow"))
    client = client_of(staff)
    assert "terminar/" not in client.get(LEASES, {"q": conduct.workspace}).content.decode()
    assert client.get(END, lease_of(conduct)).status_code == 403
    assert client.post(END, query_params=lease_of(conduct)).status_code == 403


def test_a_request_for_access_is_answered_once(administrator: Client):
    asked = AccessRequest.objects.create(email=person().email, about="agentes que despliegan")
    address = reverse("admin:accounts_accessrequest_changelist")
    given = {"action": "answer", "_selected_action": [asked.pk]}
    first = administrator.post(address, given)
    secret = re.search(r"<code>([\w-]+)</code>", first.content.decode())[1]
    assert "no-store" in first["Cache-Control"]
    password = beta.check(secret, sign_up=True)
    assert (password.label, password.max_uses) == (asked.email, 1)
    assert "ya estaban contestadas" in administrator.post(address, given).content.decode()
    assert secret not in administrator.get(address).content.decode()
    noted = Entry.objects.filter(action="admin.accessrequest.answered", target=f"accessrequest {asked.pk}")
    assert noted.count() == 1


def test_important_acts_are_in_the_audit_log(administrator: Client):
    workspace = provision.create_workspace("antes")
    provision.create_api_key(workspace)
    key = workspace.api_keys.get()
    administrator.post(
        reverse("admin:workspaces_apikey_changelist"), {"action": "revoke", "_selected_action": [key.pk]}
    )
    administrator.post(
        reverse("admin:workspaces_workspace_change", args=[workspace.pk]),
        {
            "name": "después",
            "semantic_classes": "{}",
            "memberships-TOTAL_FORMS": 0,
            "memberships-INITIAL_FORMS": 0,
        },
    )
    administrator.post(reverse("admin:workspaces_workspace_delete", args=[workspace.pk]), {"post": "yes"})
    noted = Entry.objects.filter(workspace=workspace.public_id).order_by("pk")
    assert [entry.action for entry in noted] == [
        "admin.apikey.revoked",
        "admin.workspace.changed",
        "admin.workspace.deleted",
    ]
    assert {entry.actor for entry in noted} != {None}


def test_the_audit_log_is_read_only(administrator: Client):
    entry = Entry.objects.create(action="test.done", workspace="ws_audit")
    assert (
        "test.done"
        in administrator.get(reverse("admin:audit_entry_changelist"), {"q": "ws_audit"}).content.decode()
    )
    assert administrator.get(reverse("admin:audit_entry_add")).status_code == 403
    change = reverse("admin:audit_entry_change", args=[entry.pk])
    assert administrator.get(change).status_code == 200
    assert administrator.post(change, {"action": "x"}).status_code == 403
    assert (
        administrator.post(reverse("admin:audit_entry_delete", args=[entry.pk]), {"post": "yes"}).status_code
        == 403
    )


def test_every_act_of_an_administrator_has_a_description():
    own = {Workspace, Membership, ApiKey, RegisteredAgent, Trial}
    request = RequestFactory().get("/")
    request.user = person(is_staff=True, is_superuser=True)
    for model in own:
        found = admin.site.get_model_admin(model)
        may = {
            "added": found.has_add_permission(request),
            "changed": found.has_change_permission(request),
            "deleted": found.has_delete_permission(request),
        }
        for what, allowed in may.items():
            assert (f"admin.{model._meta.model_name}.{what}" in entries.ACTIONS) == allowed
