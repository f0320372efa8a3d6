"""Deleting an account, with what is nobody else's."""

from datetime import timedelta
from typing import Any

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


class Needed(Exception):
    """Somebody or something still needs the account: see `waiting_for` and `is_last_administrator`."""


def waiting_for(user: Any) -> list[Workspace]:
    """Workspaces that others are in and that would be left without an owner."""
    owners = Count("memberships", filter=Q(memberships__role=Membership.Role.OWNER))
    whole = Workspace.objects.annotate(owners=owners, people=Count("memberships"))
    mine = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
    return list(whole.filter(pk__in=mine.values("workspace"), owners=1, people__gt=1).order_by("name"))


def nobody_elses(user: Any) -> list[Workspace]:
    """Workspaces that nobody else is in: they go with the account."""
    alone = Workspace.objects.annotate(people=Count("memberships")).filter(people=1)
    return list(
        alone.filter(pk__in=Membership.objects.filter(user=user).values("workspace")).order_by("name")
    )


def is_last_administrator(user: Any) -> bool:
    """Whether nobody would be left to administer the service."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    return bool(user.is_superuser) and not others.exists()


def delete(request: HttpRequest, user: Any) -> None:
    """Delete the account, its sessions and its own workspaces. Raises Needed.

    The audit log keeps the account's number, which then names nobody.
    """
    with transaction.atomic():
        provision.hold_person(user.pk)
        for membership in Membership.objects.filter(user=user).select_related("workspace"):
            provision.hold(membership.workspace)
        if waiting_for(user) or is_last_administrator(user):
            raise Needed
        for workspace in nobody_elses(user):
            record.act(request, "workspace.deleted", workspace=workspace.public_id, by=user)
            workspace.delete()
        sessions = UserSession.objects.filter(user=user).values_list("session_key", flat=True)
        Session.objects.filter(session_key__in=list(sessions)).delete()
        # What the admin's own history says of the account names its address.
        kind = ContentType.objects.get_for_model(User)
        LogEntry.objects.filter(content_type=kind, object_id=str(user.pk)).delete()
        record.act(request, "account.deleted", by=user)
        user.delete()


UNCONFIRMED_DAYS = 7


def purge() -> int:
    """Delete requests for access, uses of beta passwords, tries, ended sessions, the admin's own history and
    accounts that were never confirmed when they are old; returns how many rows."""
    now = timezone.now()
    Session.objects.filter(expire_date__lte=now).delete()
    old = (
        AccessRequest.objects.filter(created_at__lte=now - timedelta(days=settings.ACCESS_REQUEST_DAYS)),
        BetaUse.objects.filter(used_at__lte=now - timedelta(days=settings.AUDIT_DAYS)),
        UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")),
        LogEntry.objects.filter(action_time__lte=now - timedelta(days=settings.AUDIT_DAYS)),
        CacheEntry.objects.filter(expires__lte=now),
        # Nobody has ever been in: the address may be that of somebody who asked for nothing.
        User.objects.filter(
            emailaddress__verified=False,
            last_login=None,
            memberships=None,
            is_staff=False,
            date_joined__lte=now - timedelta(days=UNCONFIRMED_DAYS),
        ).exclude(emailaddress__verified=True),
    )
    return throttle.purge() + sum(rows.delete()[0] for rows in old)
