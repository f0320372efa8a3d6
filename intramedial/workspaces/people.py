"""Who is in a workspace: roles, invitations, leaving. A workspace always has an owner.

Each of these is called inside a transaction, with the workspace held (`provision.hold`).
"""

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.workspaces import provision
from intramedial.workspaces.models import Invitation, Membership, Workspace

Role = Membership.Role
HOUR = timedelta(hours=1)


class LastOwner(Exception):
    """Nobody would own the workspace any more."""


class TooManyPeople(Exception):
    """The workspace has as many members and open invitations as it may have."""


class TooManyInvitations(Exception):
    """The person has invited as many as one may in an hour."""


class NotInvited(Exception):
    """The link was revoked, has expired, is for another address, or its person has left since."""


def set_role(membership: Membership, role: str) -> bool:
    """Give a member another role; whether that changed anything. LastOwner, TooManyWorkspaces."""
    if role != Role.OWNER:
        _keep_an_owner(membership)
    elif membership.role != Role.OWNER:
        provision.check_room_for_workspace(membership.user_id)
    return bool(Membership.objects.filter(pk=membership.pk).exclude(role=role).update(role=role))


def remove(membership: Membership) -> bool:
    """Take a member out; whether they were still in. Their live sockets close within seconds. LastOwner."""
    _keep_an_owner(membership)
    gone, _by_model = Membership.objects.filter(pk=membership.pk).delete()
    return bool(gone)


def hand_over(owner: Membership, to: Membership) -> None:
    """Make another member the owner in one's own place; one stays a member. TooManyWorkspaces."""
    if to.role != Role.OWNER:
        provision.check_room_for_workspace(to.user_id)
    Membership.objects.filter(pk=to.pk).update(role=Role.OWNER)
    Membership.objects.filter(pk=owner.pk).update(role=Role.MEMBER)


def invite(workspace: Workspace, email: str, role: str, token: str, *, by: int) -> bool:
    """Keep a place for an address; an open invitation of the same address is replaced.

    Whether that is new: the same token again changes nothing. TooManyPeople, TooManyInvitations.
    """
    now, sha256 = timezone.now(), digest(token)
    if workspace.invitations.filter(sha256=sha256).exists():
        return False
    lately = Entry.objects.filter(actor=by, action="invitation.created", at__gt=now - HOUR)
    if lately.count() >= settings.INVITATIONS_PER_HOUR:
        raise TooManyInvitations
    workspace.invitations.filter(email__iexact=email).delete()
    if workspace.memberships.count() + open_invitations(workspace).count() >= settings.WORKSPACE_MEMBERS:
        raise TooManyPeople
    Invitation.objects.create(
        workspace=workspace,
        email=email,
        role=role,
        sha256=sha256,
        created_at=now,
        expires_at=now + timedelta(days=settings.INVITATION_DAYS),
    )
    return True


def find_invitation(token: str, user: Any) -> Invitation | None:
    """The invitation of a link, open or not, if it is for this person's address."""
    found = Invitation.objects.select_related("workspace").filter(sha256=digest(token)).first()
    return found if found is not None and found.email.casefold() == user.email.casefold() else None


def accept(invitation: Invitation, user: Any) -> bool:
    """Take the place that was kept; whether that happened now.

    Raises NotInvited, and TooManyWorkspaces for an owner's place.
    An invitation that is accepted expires at that moment, and its row stays until it is purged. So accepting
    it again, or several times at once, changes nothing and succeeds for as long as the person is a member.
    """
    now = timezone.now()
    if not Invitation.objects.filter(pk=invitation.pk, expires_at__gt=now).update(expires_at=now):
        if Membership.objects.filter(workspace=invitation.workspace_id, user=user).exists():
            return False
        raise NotInvited
    if invitation.role == Role.OWNER:
        provision.check_room_for_workspace(user.pk)
    Membership.objects.get_or_create(
        workspace=invitation.workspace, user=user, defaults={"role": invitation.role}
    )
    return True


def open_invitations(workspace: Workspace) -> QuerySet[Invitation]:
    """The invitations that can still be accepted for the first time."""
    return Invitation.objects.filter(workspace=workspace, expires_at__gt=timezone.now())


def digest(token: str) -> str:
    """What is kept of a link's token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _keep_an_owner(membership: Membership) -> None:
    others = Membership.objects.filter(workspace=membership.workspace_id, role=Role.OWNER)
    if not others.exclude(pk=membership.pk).exists():
        raise LastOwner
