"""A workspace's settings: name, classes, leaving, handing over, deleting."""

import pytest

from coordination.core.names import READ_SAFE_CLASSES, parse_resource
from intramedial.audit.models import Entry
from intramedial.workspaces.authentication.bearer import find_key
from intramedial.workspaces.models import Workspace
from tests.people import client_of, member


def classes(*pairs: tuple[str, str], do: str = "classes") -> dict[str, str]:
    """The form of the classes, filled in."""
    given = {"do": do, "form-TOTAL_FORMS": str(len(pairs)), "form-INITIAL_FORMS": "0"}
    for number, (name, mode) in enumerate(pairs):
        given |= {f"form-{number}-name": name, f"form-{number}-mode": mode}
    return given


def acts(workspace) -> list[str]:
    """The workspace's acts in the audit log."""
    return list(Entry.objects.filter(workspace=workspace.public_id).values_list("action", flat=True))


def test_a_workspace_is_renamed(owner, at, workspace):
    for _ in range(2):
        assert owner.post(at("ajustes/"), {"do": "rename", "name": " Otro  nombre"}).status_code == 302
    workspace.refresh_from_db()
    assert workspace.name == "Otro nombre"
    assert acts(workspace) == ["workspace.renamed"]
    answer = owner.post(at("ajustes/"), {"do": "rename", "name": "pаypal"})
    assert answer.status_code == 422
    assert "pаypal" in answer.content.decode()


def test_the_authority_uses_the_classes_of_the_page(owner, at, workspace, api_key):
    answer = owner.post(at("ajustes/"), classes(("modelo", "shared"), ("", "shared"), ("doc", "exclusive")))
    assert answer.status_code == 302
    table = find_key(api_key).principal.semantic_classes
    assert table == {"modelo": "shared", "doc": "exclusive"}
    assert parse_resource("modelo:a#read", table)[1] == "shared"
    assert parse_resource("doc:a#read", table)[1] == "exclusive"
    assert owner.post(at("ajustes/"), classes()).status_code == 302
    assert find_key(api_key).principal.semantic_classes == {}
    assert acts(workspace) == ["workspace.classes"] * 2


@pytest.mark.parametrize(
    "given",
    [
        classes(("a:b", "shared")),
        classes(("a#b", "shared")),
        classes(("a", "both")),
        classes(("a", "")),
        classes(("a\u200bb", "shared")),
        classes(("a", "shared"), ("a", "exclusive")),
        classes(*[(f"c{number}", "shared") for number in range(101)]),
        {"do": "classes"},
        {"do": "classes", "form-TOTAL_FORMS": "x", "form-INITIAL_FORMS": "-1"},
    ],
)
def test_bad_classes_change_nothing(owner, at, workspace, given):
    assert owner.post(at("ajustes/"), given).status_code == 422
    workspace.refresh_from_db()
    assert workspace.semantic_classes == {}


def test_the_page_names_the_shared_classes(owner, at):
    page = owner.get(at("ajustes/")).content.decode()
    assert all(f"<code>{name}</code>" in page for name in READ_SAFE_CLASSES)


def test_a_member_leaves(owner, at, workspace, visitor):
    viewer = visitor(member(workspace, "viewer"))
    assert viewer.post(at("ajustes/"), {"do": "leave"}).headers["location"] == "/espacios/"
    assert viewer.get(at()).status_code == 404
    assert acts(workspace) == ["member.left"]


def test_an_owner_hands_the_workspace_over(owner, at, workspace, newcomer):
    heir = member(workspace, "viewer")
    newcomer.fill("/espacios/", name="foreign")
    place = workspace.memberships.get(user=heir)
    assert owner.fill(at("ajustes/traspaso/"), to=newcomer.user.memberships.get().pk).status_code == 422
    assert owner.fill(at("ajustes/traspaso/"), to=place.pk).status_code == 302
    found = dict(workspace.memberships.values_list("user_id", "role"))
    assert found == {owner.user.pk: "member", heir.pk: "owner"}
    assert acts(workspace) == ["workspace.handed_over"]


def test_deleting_removes_the_name_and_ends_every_key(owner, at, workspace, api_key):
    assert owner.fill(at("ajustes/borrar/"), name="tes").status_code == 422
    assert find_key(api_key)
    assert owner.fill(at("ajustes/borrar/"), name=" test ").headers["location"] == "/espacios/"
    assert not Workspace.objects.filter(pk=workspace.pk).exists()
    assert find_key(api_key) is None
    assert owner.get(at()).status_code == 404
    assert acts(workspace) == ["workspace.deleted"]


@pytest.mark.parametrize("page", ["borrar", "traspaso"])
def test_irreversible_acts_ask_for_the_password_again(owner, at, workspace, page):
    late = client_of(owner.user)
    for answer in (late.get(at(f"ajustes/{page}/")), late.post(at(f"ajustes/{page}/"), {"name": "test"})):
        assert answer.status_code == 302
        assert "/espacios/" not in answer.headers["location"].partition("?")[0]
    assert Workspace.objects.filter(pk=workspace.pk).exists()
