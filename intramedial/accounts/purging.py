"""What is kept of accounts no longer than the retention page says."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.utils import timezone

from intramedial.accounts import throttle
from intramedial.accounts.models import AccessRequest, BetaUse, CacheEntry, User

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
