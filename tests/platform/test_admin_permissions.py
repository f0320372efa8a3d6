"""Staff with few permissions: they can do only that, and cannot become administrators."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from intramedial.accounts import beta
from intramedial.accounts.models import AccessRequest, BetaPassword
from tests.people import PASSWORD, client_of, person


def staff(*may: str) -> tuple[Any, Client]:
    """A member of staff with these permissions, and a client that is logged in."""
    user = person(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=may))
    return user, client_of(user)


def of_account(page: str, user: Any) -> str:
    """The address of a page of an account."""
    name = "auth_user_password_change" if page == "password" else f"accounts_user_{page}"
    return reverse(f"admin:{name}", args=[user.pk])


def choose(client: Client, path: str, action: str, pk: int) -> Any:
    """Apply an action to a row of a list."""
    return client.post(path, {"action": action, "_selected_action": [pk]})


@pytest.fixture(autouse=True)
def _tables(migrated_databases: None) -> None:
    """The tables of these tests."""


@pytest.mark.parametrize("may", ["view", "change"])
def test_revoking_needs_the_right_to_change(workspace, api_key, may):
    _user, client = staff(f"{may}_betapassword", f"{may}_apikey")
    password = BetaPassword.objects.get(hash=beta.digest(beta.create()))
    key = workspace.api_keys.get()
    choose(client, reverse("admin:accounts_betapassword_changelist"), "revoke", password.pk)
    choose(client, reverse("admin:workspaces_apikey_changelist"), "revoke", key.pk)
    password.refresh_from_db()
    key.refresh_from_db()
    assert [bool(row.revoked_at) for row in (password, key)] == [may == "change"] * 2


@pytest.mark.parametrize("may", [[], ["add_betapassword"]], ids=str)
def test_answering_a_request_needs_the_right_to_add_beta_passwords(may):
    _user, client = staff("change_accessrequest", *may)
    asked = AccessRequest.objects.create(email=person().email, about="x")
    choose(client, reverse("admin:accounts_accessrequest_changelist"), "answer", asked.pk)
    asked.refresh_from_db()
    assert bool(asked.answered_at) is bool(may)


def test_staff_cannot_become_administrators():
    user, client = staff("view_user", "add_user", "change_user", "change_group", "add_group")
    other = person()
    given = {"email": other.email, "name": "A", "is_staff": "on", "is_superuser": "on", "is_active": "on"}
    given["user_permissions"] = Permission.objects.get(codename="delete_user").pk
    for whose in (user, other):
        client.post(of_account("change", whose), given | {"email": whose.email})
        whose.refresh_from_db()
        assert not whose.is_superuser
        assert whose.is_staff is (whose is user)
    assert other.name == "A"
    assert not other.user_permissions.exists()
    client.post(reverse("admin:auth_group_add"), {"name": f"group of {user.email}"})
    assert not Group.objects.filter(name__contains=user.email).exists()


@pytest.mark.parametrize("powers", [{"is_staff": True}, {"is_staff": True, "is_superuser": True}], ids=str)
def test_staff_cannot_take_an_account_with_more_rights(powers):
    _user, client = staff("change_user")
    other = person(**powers)
    new = {"password1": "another long phrase", "password2": "another long phrase", "usable_password": "true"}
    assert client.post(of_account("password", other), new).status_code == 403
    client.post(of_account("change", other), {"email": f"taken-{other.email}", "is_active": "on"})
    other.refresh_from_db()
    assert other.check_password(PASSWORD)
    assert not other.email.startswith("taken-")


def test_only_its_owner_deletes_an_account(workspace):
    client = client_of(person(is_staff=True, is_superuser=True))
    owner = person()
    assert client.post(of_account("delete", owner), {"post": "yes"}).status_code == 403
    owner.refresh_from_db()


def test_hashes_and_too_large_numbers_are_no_filters():
    client = client_of(person(is_staff=True, is_superuser=True))
    for model, field in (("accounts_betapassword", "hash"), ("workspaces_apikey", "sha256")):
        path = reverse(f"admin:{model}_changelist")
        assert client.get(path, {f"{field}__startswith": "a"}).status_code == 400
        assert client.get(path, {"id__in": "9" * 30}).status_code == 302


def test_malformed_keys_are_bad_requests():
    client = client_of(person(is_staff=True, is_superuser=True))
    beta.create()  # actions need a list with rows
    path = reverse("admin:accounts_betapassword_changelist")
    for key in ("x", "\0", "9" * 30):
        for action in ("revoke", "delete_selected"):
            answer = client.post(path, {"action": action, "_selected_action": key})
            assert answer.status_code in (302, 400), (key, action)
    assert client.post(path, {"action": "revoke", "_selected_action": "x"}).status_code == 400
    for path in (
        "coordination/tenantrow/%00/change/",
        "workspaces/apikey/?prefix=%00",
        "autocomplete/?app_label=workspaces&model_name=membership&field_name=user&term=%00",
    ):
        assert client.get(f"/admin/{path}").status_code == 400, path


def test_the_limit_of_a_beta_password_is_not_below_its_uses():
    client = client_of(person(is_staff=True, is_superuser=True))
    password = BetaPassword.objects.create(hash=beta.digest(beta.create()) + "x", prefix="x", uses=3)
    path = reverse("admin:accounts_betapassword_change", args=[password.pk])
    answer = client.post(path, {"max_uses": "2"})
    assert "max_uses" in answer.context["adminform"].form.errors
    assert client.post(path, {"max_uses": "3"}).status_code == 302


def test_empty_semantic_classes_are_stored_as_an_empty_object(workspace):
    client = client_of(person(is_staff=True, is_superuser=True))
    path = reverse("admin:workspaces_workspace_change", args=[workspace.pk])
    members = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    for given in ("null", ""):
        assert client.post(path, {"name": "x", "semantic_classes": given, **members}).status_code == 302
    workspace.refresh_from_db()
    assert workspace.semantic_classes == {}


@pytest.mark.parametrize("key", ["x", "9" * 30, "-1", ""])
def test_an_unknown_workspace_is_an_error_of_its_field(key):
    client = client_of(person(is_staff=True, is_superuser=True))
    answer = client.post(reverse("admin:workspaces_apikey_add"), {"workspace": key})
    assert answer.status_code == 200
    assert set(answer.context["adminform"].form.errors) == {"workspace"}
