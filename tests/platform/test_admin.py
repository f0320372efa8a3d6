"""Every page of every model of the admin is served, in Spanish, without secrets and inline scripts."""

import re

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword, User
from intramedial.workspaces import keys, provision
from intramedial.workspaces.models import ApiKey
from tests.people import client_of, person

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
ids = [model._meta.label for model in MODELS]


@pytest.fixture(scope="module")
def client(migrated_databases):
    return client_of(person(is_staff=True, is_superuser=True))


def page_of(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def is_strict(answer):
    """Whether the page has no inline script or style, which the content security policy blocks."""
    page = answer.content.decode()
    return not re.search(r"<script(?![^>]*(src=|application/json))|<style| style=| on[a-z]+=", page)


def test_every_model_of_the_project_is_registered():
    from django.apps import apps

    of_the_project = {
        model for model in apps.get_models() if model.__module__.startswith(("intramedial.", "coordination."))
    }
    assert of_the_project <= set(MODELS)


def test_it_is_branded_and_in_spanish(client):
    page = client.get("/admin/").content.decode()
    assert "Intramedial" in page
    assert "Espacios" in page
    assert 'lang="es"' in page


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_the_list_of_a_model(client, model):
    answer = client.get(page_of(model, "changelist"), {"q": "x"})
    assert answer.status_code == 200
    assert is_strict(answer)


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_the_form_of_a_new_row(client, model):
    answer = client.get(page_of(model, "add"))
    assert answer.status_code in (200, 403)  # 403: only the service creates these rows
    if answer.status_code == 200:
        assert is_strict(answer)


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_no_model_counts_a_whole_table(model):
    if model.__module__.startswith("django."):
        return
    assert admin.site.get_model_admin(model).show_full_result_count is False


class TestApiKeys:
    def test_a_new_secret_is_shown_once(self, client, workspace):
        answer = client.post(
            page_of(ApiKey, "add"), {"workspace": workspace.pk, "label": "panel"}, follow=True
        )
        secret = re.search(r"imk_\w+", answer.content.decode().split("volverá a mostrar")[1])[0]
        row = ApiKey.objects.get(workspace=workspace)
        assert row.sha256 == keys.digest(secret)
        assert row.actor_did is None
        for page in (page_of(ApiKey, "changelist"), page_of(ApiKey, "change", row.pk)):
            shown = client.get(page).content.decode()
            assert row.prefix in shown
            assert secret not in shown
            assert row.sha256 not in shown

    def test_a_malformed_did_is_refused(self, client, workspace):
        client.post(page_of(ApiKey, "add"), {"workspace": workspace.pk, "actor_did": "me"})
        assert not workspace.api_keys.exists()

    def test_revoking(self, client, workspace, api_key):
        row = workspace.api_keys.get()
        client.post(page_of(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [row.pk]})
        row.refresh_from_db()
        assert row.revoked_at is not None
        assert row.revoked_at <= timezone.now()

    def test_a_workspace_has_a_limit_of_keys(self, client, workspace, settings):
        settings.WORKSPACE_API_KEYS = 1
        provision.create_api_key(workspace)
        answer = client.post(page_of(ApiKey, "add"), {"workspace": workspace.pk})
        assert answer.status_code == 200
        assert workspace.api_keys.count() == 1


class TestBetaPasswords:
    def test_a_new_secret_is_shown_once(self, client):
        answer = client.post(page_of(BetaPassword, "add"), {"label": "una prueba"}, follow=True)
        secret = re.search(r"mostrar: ([\w-]+)", answer.content.decode())[1]
        row = BetaPassword.objects.get(hash=beta.digest(secret))
        shown = client.get(page_of(BetaPassword, "change", row.pk)).content.decode()
        assert secret not in shown
        assert row.hash not in shown

    def test_revoking(self, client):
        beta.create("por revocar")
        row = BetaPassword.objects.get(label="por revocar")
        client.post(page_of(BetaPassword, "changelist"), {"action": "revoke", "_selected_action": [row.pk]})
        row.refresh_from_db()
        assert row.revoked_at is not None


def test_an_account_is_created_and_changed(client):
    fields = {
        "email": "nueva@example.com",
        "usable_password": "true",
        "password1": "tren-27-azul",
        "password2": "tren-27-azul",
    }
    client.post(page_of(User, "add"), fields)
    user = User.objects.get(email="nueva@example.com")
    assert user.check_password("tren-27-azul")
    assert client.get(page_of(User, "change", user.pk)).status_code == 200


def test_pages_of_a_workspace_with_rows_of_every_kind(client, workspace, api_key):
    user = User.objects.create_user("socia@example.com")
    workspace.memberships.create(user=user, role="owner")
    workspace.agents.create(did="did:example:agent")
    for row in (workspace, workspace.memberships.get(), workspace.api_keys.get(), workspace.agents.get()):
        assert client.get(page_of(type(row), "change", row.pk)).status_code == 200


def test_semantic_classes_are_checked(client, workspace):
    fields = {
        "name": workspace.name,
        "semantic_classes": '{"doc": "open"}',
        "memberships-TOTAL_FORMS": 0,
        "memberships-INITIAL_FORMS": 0,
    }
    answer = client.post(page_of(type(workspace), "change", workspace.pk), fields)
    assert "Debe ser un objeto" in answer.content.decode()
