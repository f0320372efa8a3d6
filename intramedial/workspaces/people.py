"""Members and invitations of a workspace. A workspace always has an owner.

Call these functions inside a transaction that holds the workspace (`provision.hold`).
"""

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.audit.models import Entry
from intramedial.databases.hourly import seconds_until_room
from intramedial.workspaces import provision
from intramedial.workspaces.models import Invitation, Membership, Workspace

Role = Membership.Role


class LastOwner(Exception):
    """The workspace would be left without an owner."""


class TooManyPeople(Exception):
    """The workspace has as many members and open invitations as it may have."""


class TooManyInvitations(Exception):
    """The person has sent as many invitations as one may in an hour."""


class NotInvited(Exception):
    """The invitation was revoked, has expired, is for another address, or the person has left since."""


def set_role(membership: Membership, role: str) -> bool:
    """Give a member another role; returns whether it changed. Raises LastOwner, TooManyWorkspaces."""
    if role != Role.OWNER:
        _keep_an_owner(membership)
    elif membership.role != Role.OWNER:
        provision.check_room_for_workspace(membership.user_id)
    return bool(Membership.objects.filter(pk=membership.pk).exclude(role=role).update(role=role))


def remove(membership: Membership) -> bool:
    """Remove a member; returns whether they were still a member. Their live sockets close within seconds.

    Raises LastOwner.
    """
    _keep_an_owner(membership)
    deleted, _by_model = Membership.objects.filter(pk=membership.pk).delete()
    return bool(deleted)


def hand_over(owner: Membership, to: Membership) -> None:
    """Make another member an owner, and the old owner a member. Raises TooManyWorkspaces."""
    if to.role != Role.OWNER:
        provision.check_room_for_workspace(to.user_id)
    Membership.objects.filter(pk=to.pk).update(role=Role.OWNER)
    Membership.objects.filter(pk=owner.pk).update(role=Role.MEMBER)


def invite(workspace: Workspace, email: str, role: str, token: str, *, by: int) -> bool:
    """Invite an address. An open invitation of the same address is replaced.

    Returns False if an invitation with the same token exists; then nothing changes. Raises TooManyPeople,
    TooManyInvitations.
    """
    now, sha256 = timezone.now(), digest(token)
    if workspace.invitations.filter(sha256=sha256).exists():
        return False
    sent = Entry.objects.filter(actor=by, action="invitation.created")
    if seconds_until_room(sent, "at", settings.INVITATIONS_PER_HOUR, now) is not None:
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
    """The invitation with that token, open or not, if it is for the user's address."""
    found = Invitation.objects.select_related("workspace").filter(sha256=digest(token)).first()
    return found if found is not None and found.email.casefold() == user.email.casefold() else None


def accept(invitation: Invitation, user: Any) -> bool:
    """Make the invited user a member; returns whether that happened now.

    An accepted invitation expires at once, and its row stays until it is purged. So accepting it again, or
    several times at once, changes nothing and succeeds as long as the person is a member. Raises NotInvited,
    and TooManyWorkspaces if the role is that of an owner.
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
    """The invitations that are neither accepted nor expired."""
    return Invitation.objects.filter(workspace=workspace, expires_at__gt=timezone.now())


def digest(token: str) -> str:
    """The hash under which a link's token is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _keep_an_owner(membership: Membership) -> None:
    others = Membership.objects.filter(workspace=membership.workspace_id, role=Role.OWNER)
    if not others.exclude(pk=membership.pk).exists():
        raise LastOwner
