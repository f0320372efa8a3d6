"""The page of API keys: a key is created once, shown once, rotated, revoked."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.workspaces import provision
from intramedial.workspaces.authentication.bearer import find_key
from intramedial.workspaces.models import ApiKey
from tests.people import member

DID = "did:web:agents.example:ana"


def secret_in(answer) -> str:
    """The key that a page shows."""
    assert answer.status_code == 200
    return re.search(r"imk_\w{49}", answer.content.decode())[0]


def test_a_key_is_shown_once_and_has_the_chosen_rights(owner, at, workspace):
    answer = owner.fill(at("claves/"), scope="agent", actor_did=DID, access="read", days="7", label="robot")
    known = find_key(secret_in(answer))
    assert known.principal.workspace == workspace.public_id
    assert known.principal.actor == DID
    assert known.principal.read_only
    key = ApiKey.objects.get(pk=known.id)
    assert timedelta(days=6.9) < key.expires_at - timezone.now() < timedelta(days=7.1)
    page = owner.get(at("claves/")).content.decode()
    assert key.prefix in page
    assert "robot" in page
    assert not re.search(r"imk_\w{49}", page)
    entry = Entry.objects.get(workspace=workspace.public_id)
    assert (entry.action, entry.target) == ("key.created", key.prefix)
    assert secret_in(answer) not in str(vars(entry))


def test_the_same_form_twice_shows_the_same_key(owner, at, workspace):
    given = {"scope": "workspace", "access": "full", "days": "0"}
    given["once"] = owner.get(at("claves/")).context["form"]["once"].value()
    first, second = (secret_in(owner.post(at("claves/"), given)) for _ in range(2))
    assert first == second
    assert workspace.api_keys.count() == 1
    assert Entry.objects.filter(workspace=workspace.public_id).count() == 1
    # But not for a person who finds the form later.
    workspace.api_keys.update(created_at=timezone.now() - timedelta(minutes=6))
    late = owner.post(at("claves/"), given)
    assert late.headers["location"] == at("claves/")
    assert first not in owner.get(at("claves/")).content.decode()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"scope": "agent"}, "actor_did"),
        ({"scope": "agent", "actor_did": "ana"}, "actor_did"),
        ({"scope": "workspace", "actor_did": DID}, "actor_did"),
        ({"scope": "everything"}, "scope"),
        ({"access": "root"}, "access"),
        ({"days": "-1"}, "days"),
        ({"label": "a\nb"}, "label"),
        ({"label": "x" * 5_000}, "label"),
    ],
)
def test_a_fault_has_a_message_beside_its_field(owner, at, workspace, given, field):
    answer = owner.fill(at("claves/"), **given)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not workspace.api_keys.exists()


def test_a_workspace_has_a_limit_of_keys(owner, at, workspace, settings):
    settings.WORKSPACE_API_KEYS = 1
    provision.create_api_key(workspace)
    assert owner.fill(at("claves/")).status_code == 422
    assert workspace.api_keys.count() == 1


def test_rotating_keeps_the_old_key_for_a_while(owner, at, workspace):
    old = provision.create_api_key(workspace, actor_did=DID, read_only=True, label="robot")
    new = find_key(secret_in(owner.fill(at(f"claves/{old.prefix}/rotar/"), hours="24")))
    assert (new.principal.actor, new.principal.read_only) == (DID, True)
    ends = timezone.now() + timedelta(hours=24)
    assert abs(find_key(old.secret).expires_at - ends.timestamp()) < 60


def test_rotating_at_once_ends_the_old_key(owner, at, workspace, settings):
    settings.WORKSPACE_API_KEYS = 1
    old = provision.create_api_key(workspace)
    assert owner.fill(at(f"claves/{old.prefix}/rotar/"), hours="24").status_code == 422
    assert find_key(secret_in(owner.fill(at(f"claves/{old.prefix}/rotar/"), hours="0")))
    assert find_key(old.secret) is None
    assert owner.fill(at(f"claves/{old.prefix}/rotar/"), hours="0").status_code == 422


def test_rotating_never_makes_a_key_last_longer(owner, at, workspace):
    soon = timezone.now() + timedelta(hours=1)
    old = provision.create_api_key(workspace, expires_at=soon)
    owner.fill(at(f"claves/{old.prefix}/rotar/"), hours="72")
    assert find_key(old.secret).expires_at == soon.timestamp()


def test_revoking_shows_the_last_use_and_ends_the_key(owner, at, workspace):
    new = provision.create_api_key(workspace)
    path = at(f"claves/{new.prefix}/revocar/")
    assert "No se ha usado nunca" in owner.get(path).content.decode()
    workspace.api_keys.update(last_used_at=timezone.now() - timedelta(minutes=3, seconds=5))
    assert re.search(r"Se usó <time [^>]*>hace 3 minutos</time>", owner.get(path).content.decode())
    for _ in range(2):
        assert owner.post(path).status_code == 302
    assert find_key(new.secret) is None
    assert Entry.objects.filter(workspace=workspace.public_id, action="key.revoked").count() == 1


def test_keys_of_another_workspace_are_not_found(owner, at):
    foreign = provision.create_api_key(provision.create_workspace("foreign"))
    for prefix in (foreign.prefix, "imk_nonesuch", "%00", "é" * 200):
        for act in ("rotar", "revocar"):
            assert owner.post(at(f"claves/{prefix}/{act}/")).status_code == 404
    assert find_key(foreign.secret)


def test_viewers_see_the_number_of_keys(visitor, at, workspace, api_key):
    viewer = visitor(member(workspace, "viewer"))
    page = viewer.get(at("claves/")).content.decode()
    assert "1 clave en vigor" in page
    assert api_key[:12] not in page
    assert viewer.post(at("claves/"), {}).status_code == 403
    assert viewer.post(at(f"claves/{api_key[:12]}/revocar/")).status_code == 403
    assert find_key(api_key)
