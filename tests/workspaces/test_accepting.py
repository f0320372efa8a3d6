"""Accepting an invitation is idempotent: several times at once or later again, the person becomes a member
once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from intramedial.audit.models import Entry
from intramedial.workspaces.models import Membership
from tests.people import client_of, member, person
from tests.workspaces.test_members import ACCEPT, invite, roles


@pytest.fixture
def invited():
    return person()


def accepted(browser, code):
    """Accept over a connection of this thread's own; returns where the answer leads, or its status."""
    try:
        answer = browser.post(ACCEPT, {"code": code})
        return answer.headers.get("location", answer.status_code)
    finally:
        connections.close_all()


def acts(workspace):
    found = Entry.objects.filter(workspace=workspace.public_id, action="invitation.accepted")
    return found.count()


@pytest.mark.parametrize("role", ["owner", "member", "viewer"])
def test_four_concurrent_accepts_succeed_and_one_is_recorded(owner, at, workspace, invited, role, settings):
    settings.PERSON_WORKSPACES = 1  # for an owner's place: the other requests must not find the limit reached
    code = invite(owner, at, invited.email, role)
    browsers = [client_of(invited) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda browser: accepted(browser, code), browsers))
    assert answers == [at()] * 4
    assert Membership.objects.filter(workspace=workspace, user=invited).count() == 1
    assert roles(workspace)[invited.pk] == role
    assert acts(workspace) == 1
    for browser in browsers:
        assert "Ya estás en" in browser.get(at()).content.decode()


def test_accepting_again_later_changes_nothing(owner, at, workspace, invited):
    code = invite(owner, at, invited.email, "member")
    browser = client_of(invited)
    assert accepted(browser, code) == at()
    Membership.objects.filter(user=invited).update(role="viewer")
    invite(owner, at, "another@example.com")
    assert accepted(browser, code) == at()
    assert roles(workspace)[invited.pk] == "viewer"
    assert acts(workspace) == 1


def test_a_removed_member_does_not_come_back_by_the_old_link(owner, at, workspace, invited):
    code = invite(owner, at, invited.email)
    browser = client_of(invited)
    accepted(browser, code)
    Membership.objects.filter(user=invited).delete()
    assert accepted(browser, code) == 422
    again = invite(owner, at, invited.email)
    assert accepted(browser, code) == 422
    assert accepted(browser, again) == at()


def test_an_accepted_link_admits_no_other_person(owner, at, workspace, invited):
    code = invite(owner, at, invited.email)
    accepted(client_of(invited), code)
    other = member(workspace)
    assert accepted(client_of(other), code) == 422
    assert accepted(client_of(person()), code) == 422


def test_an_accepted_invitation_is_not_listed_and_does_not_count(owner, at, workspace, invited, settings):
    settings.WORKSPACE_MEMBERS = 3
    code = invite(owner, at, invited.email)
    assert invited.email in owner.get(at("miembros/")).content.decode()
    accepted(client_of(invited), code)
    page = owner.get(at("miembros/")).content.decode()
    assert "/revocar/" not in page
    assert invite(owner, at, "third@example.com")
    assert owner.fill(at("miembros/"), email="fourth@example.com").status_code == 422
