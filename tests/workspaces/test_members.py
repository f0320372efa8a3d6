"""Members of a workspace: roles, invitations, leaving."""

import re
import smtplib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connections
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.workspaces.models import Invitation, Membership, Workspace
from tests.people import member, person

ACCEPT = "/espacios/invitacion/"


def invite(owner, at, email: str, role: str = "member") -> str:
    """Invite an address; returns the token of the link that is shown."""
    answer = owner.fill(at("miembros/"), email=email, role=role)
    assert answer.status_code == 200, answer.content.decode()
    return re.search(r"/espacios/invitacion/#([\w-]{43})<", answer.content.decode())[1]


def roles(workspace) -> dict:
    """The members' roles by account."""
    return dict(workspace.memberships.values_list("user_id", "role"))


def test_an_invitation_is_for_one_address_and_works_once(owner, at, workspace, visitor):
    invited, other = visitor(person()), visitor(person())
    code = invite(owner, at, invited.user.email.upper(), "viewer")
    assert code not in str(Invitation.objects.get(workspace=workspace).__dict__)
    assert other.post(ACCEPT, {"code": code}).status_code == 422
    assert invited.post(ACCEPT, {"code": code}).headers["location"] == at()
    assert roles(workspace)[invited.user.pk] == "viewer"
    Membership.objects.filter(user=invited.user).delete()
    assert invited.post(ACCEPT, {"code": code}).status_code == 422
    assert invited.user.pk not in roles(workspace)


def test_an_invitation_expires_and_can_be_cancelled(owner, at, workspace, visitor):
    invited = visitor(person())
    code = invite(owner, at, invited.user.email)
    workspace.invitations.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert invited.post(ACCEPT, {"code": code}).status_code == 422
    code = invite(owner, at, invited.user.email)
    number = workspace.invitations.get().pk
    for _ in range(2):
        owner.post(at(f"invitaciones/{number}/revocar/"))
    assert invited.post(ACCEPT, {"code": code}).status_code == 422
    assert Entry.objects.filter(workspace=workspace.public_id, action="invitation.revoked").count() == 1


def test_a_second_invitation_replaces_the_first(owner, at, workspace, visitor):
    invited = visitor(person())
    first, second = (invite(owner, at, invited.user.email) for _ in range(2))
    assert workspace.invitations.count() == 1
    assert invited.post(ACCEPT, {"code": first}).status_code == 422
    assert invited.post(ACCEPT, {"code": second}).status_code == 302


def test_the_same_form_twice_invites_once(owner, at, workspace):
    given = {"email": "somebody@example.com", "role": "member"}
    given["once"] = owner.get(at("miembros/")).context["form"]["once"].value()
    links = {re.search("#[\\w-]{43}<", owner.post(at("miembros/"), given).content.decode())[0] for _ in "12"}
    assert len(links) == 1
    assert Entry.objects.filter(workspace=workspace.public_id).count() == 1


@pytest.mark.parametrize("code", ["", "x", "\x00", "\ud83d\ude00" * 400, "é"])
def test_a_bad_code_is_refused_with_words(newcomer, code):
    answer = newcomer.post(ACCEPT, {"code": code.encode("utf-8", "replace").decode()})
    assert answer.status_code == 422
    assert "no vale" in answer.content.decode()


def test_without_a_session_the_page_leads_to_the_log_in(client):
    page = client.post(ACCEPT, {"code": "x"}).content.decode()
    assert "next=%2Fespacios%2Finvitacion%2F" in page


@pytest.mark.parametrize(
    "email",
    ["", "x", "a@b", "á@example.com", "a@example.com\r\nBcc: b@example.com", "x" * 300 + "@example.com"],
)
def test_a_bad_address_has_a_message_beside_its_field(owner, at, workspace, email):
    answer = owner.fill(at("miembros/"), email=email)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["email"]
    assert not workspace.invitations.exists()


def test_members_and_invitations_have_limits(owner, at, workspace, settings):
    settings.WORKSPACE_MEMBERS = 2
    invite(owner, at, "one@example.com")
    assert owner.fill(at("miembros/"), email="two@example.com").status_code == 422
    settings.WORKSPACE_MEMBERS, settings.INVITATIONS_PER_HOUR = 100, 1
    assert owner.fill(at("miembros/"), email="two@example.com").status_code == 422
    assert owner.fill(at("miembros/"), email=owner.user.email).status_code == 422
    assert workspace.invitations.count() == 1


def test_where_mail_is_sent_the_link_is_not_shown(owner, at, workspace, settings, mailoutbox):
    settings.EMAIL_URL = "smtp://mail.example"
    workspace.name = "Pagos <b>"
    workspace.save()
    assert owner.fill(at("miembros/"), email="somebody@example.com").status_code == 302
    (letter,) = mailoutbox
    assert letter.to == ["somebody@example.com"]
    assert "Pagos <b>" in letter.body
    assert re.search(rf"{settings.BASE_URL}{ACCEPT}#[\w-]{{43}}\n", letter.body)
    assert ACCEPT not in owner.get(at("miembros/")).content.decode()


def test_a_mail_that_cannot_be_sent_leaves_the_link_to_copy(owner, at, settings, monkeypatch):
    settings.EMAIL_URL = "smtp://mail.example"

    def fail(message, fail_silently=False):
        raise smtplib.SMTPServerDisconnected("away")

    monkeypatch.setattr(mail.EmailMessage, "send", fail)
    assert invite(owner, at, "somebody@example.com")


def test_owners_change_roles_and_remove_members(owner, at, workspace, visitor):
    other = member(workspace, "member")
    place = at(f"miembros/{workspace.memberships.get(user=other).pk}/")
    assert owner.post(place, {"role": "viewer"}).status_code == 302
    assert roles(workspace)[other.pk] == "viewer"
    assert owner.post(place, {"role": "god"}).status_code == 422
    assert owner.post(place, {"do": "remove"}).status_code == 302
    assert other.pk not in roles(workspace)
    assert visitor(other).get(at()).status_code == 404
    assert owner.post(place, {"do": "remove"}).status_code == 404
    acts = Entry.objects.filter(workspace=workspace.public_id).values_list("action", "target")
    assert set(acts) == {("member.role", f"account {other.pk}"), ("member.removed", f"account {other.pk}")}


def test_a_workspace_always_has_an_owner(owner, at, workspace):
    place = at(f"miembros/{workspace.memberships.get(user=owner.user).pk}/")
    for given in ({"role": "member"}, {"do": "remove"}):
        answer = owner.post(place, given)
        assert answer.status_code == 422
        assert "único propietario" in answer.content.decode()
    assert owner.post(at("ajustes/"), {"do": "leave"}).status_code == 422
    assert roles(workspace) == {owner.user.pk: "owner"}
    member(workspace, "owner")
    assert owner.post(place, {"do": "remove"}).headers["location"] == "/espacios/"


def test_members_of_another_workspace_are_not_found(owner, at, newcomer):
    newcomer.fill("/espacios/", name="foreign")
    foreign = Membership.objects.get(user=newcomer.user)
    for number in (foreign.pk, 0, 10**30):
        assert owner.post(at(f"miembros/{number}/"), {"do": "remove"}).status_code == 404
        assert owner.post(at(f"invitaciones/{number}/revocar/")).status_code == 404
    assert Membership.objects.filter(pk=foreign.pk).exists()


def test_two_owners_that_remove_each_other_leave_one(owner, at, workspace, visitor):
    other = visitor(member(workspace, "owner"))
    places = {
        user: at(f"miembros/{number}/") for number, user in workspace.memberships.values_list("pk", "user")
    }

    def send(browser: Any, place: str) -> int:
        try:
            return browser.post(place, {"do": "remove"}).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        asked = [(owner, places[other.user.pk]), (other, places[owner.user.pk])]
        found = sorted(threads.map(lambda one: send(*one), asked))
    assert found[0] == 302
    assert found[1] in (403, 404, 422)
    assert list(roles(workspace).values()) == ["owner"]


def test_no_person_becomes_owner_of_too_many_workspaces(owner, at, workspace, visitor, settings):
    settings.PERSON_WORKSPACES = 1
    other = visitor(member(workspace, "member"))
    other.fill("/espacios/", name="theirs")
    place = workspace.memberships.get(user=other.user)
    for answer, field in (
        (owner.post(at(f"miembros/{place.pk}/"), {"role": "owner"}), "role"),
        (owner.fill(at("ajustes/traspaso/"), to=place.pk), "to"),
    ):
        assert answer.status_code == 422
        assert other.user.email in answer.context["form"].errors[field][0]
    assert roles(workspace) == {owner.user.pk: "owner", other.user.pk: "member"}
    place.delete()
    token = invite(owner, at, other.user.email, "owner")
    assert other.post(ACCEPT, {"code": token}).headers["location"] == "/espacios/"
    assert other.user.pk not in roles(workspace)
    Workspace.objects.filter(name="theirs", memberships__user=other.user).delete()
    assert other.post(ACCEPT, {"code": token}).headers["location"] == at()
    assert roles(workspace)[other.user.pk] == "owner"
