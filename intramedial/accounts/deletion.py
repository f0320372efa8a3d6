"""Deleting accounts: one that its owner deletes, and daily what is older than the retention page allows."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils import timezone

from intramedial.accounts import throttle
from intramedial.accounts.models import AccessRequest, BetaUse, CacheEntry, User
from intramedial.audit import record
from intramedial.workspaces import provision
from intramedial.workspaces.models import Membership, Workspace

UNCONFIRMED_DAYS = 7
"""After so many days an account whose address was never confirmed is deleted."""


class StillNeeded(Exception):
    """The account cannot be deleted yet: see `left_without_owner` and `is_last_administrator`."""


def left_without_owner(user: User) -> list[Workspace]:
    """The workspaces with other members whose only owner is `user`."""
    owners = Count("memberships", filter=Q(memberships__role=Membership.Role.OWNER))
    counted = Workspace.objects.annotate(owners=owners, people=Count("memberships"))
    mine = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
    return list(counted.filter(pk__in=mine.values("workspace"), owners=1, people__gt=1).order_by("name"))


def without_others(user: User) -> list[Workspace]:
    """The workspaces whose only member is `user`: they are deleted with the account."""
    with_one = Workspace.objects.annotate(people=Count("memberships")).filter(people=1)
    return list(
        with_one.filter(pk__in=Membership.objects.filter(user=user).values("workspace")).order_by("name")
    )


def is_last_administrator(user: User) -> bool:
    """Whether `user` is the only active administrator."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    return user.is_superuser and not others.exists()


def delete(request: HttpRequest, user: User) -> None:
    """Delete the account, its sessions and the workspaces without other members. Raises StillNeeded.

    The audit log keeps the account's number, which then belongs to no account.
    """
    with transaction.atomic():
        provision.hold_person(user.pk)
        for membership in Membership.objects.filter(user=user).select_related("workspace"):
            provision.hold(membership.workspace)
        if left_without_owner(user) or is_last_administrator(user):
            raise StillNeeded
        for workspace in without_others(user):
            record.act(request, "workspace.deleted", workspace=workspace.public_id, by=user)
            workspace.delete()
        sessions = UserSession.objects.filter(user=user).values_list("session_key", flat=True)
        Session.objects.filter(session_key__in=list(sessions)).delete()
        # The admin's own history of the account holds its address.
        kind = ContentType.objects.get_for_model(User)
        LogEntry.objects.filter(content_type=kind, object_id=str(user.pk)).delete()
        record.act(request, "account.deleted", by=user)
        user.delete()


def purge() -> int:
    """Delete old requests for access, uses of beta passwords, tries, ended sessions, entries of the admin's
    own history and accounts that were never confirmed. Returns how many rows were deleted."""
    now = timezone.now()
    Session.objects.filter(expire_date__lte=now).delete()
    old = (
        AccessRequest.objects.filter(created_at__lte=now - timedelta(days=settings.ACCESS_REQUEST_DAYS)),
        BetaUse.objects.filter(used_at__lte=now - timedelta(days=settings.AUDIT_DAYS)),
        UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")),
        LogEntry.objects.filter(action_time__lte=now - timedelta(days=settings.AUDIT_DAYS)),
        CacheEntry.objects.filter(expires__lte=now),
        # Nobody ever logged in to them. Their address may belong to a person who never signed up.
        User.objects.filter(
            emailaddress__verified=False,
            last_login=None,
            memberships=None,
            is_staff=False,
            date_joined__lte=now - timedelta(days=UNCONFIRMED_DAYS),
        ).exclude(emailaddress__verified=True),
    )
    return throttle.purge() + sum(rows.delete()[0] for rows in old)
