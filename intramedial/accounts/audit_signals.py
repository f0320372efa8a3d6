"""Entries of the audit log about accounts, written by receivers of Django's and allauth's signals.

An entry holds the account's number and never its address, so that no personal data remain after the account
is deleted. Sign-ups, refused log-ins and deletions are recorded where they happen, in their transaction.
"""

from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as second_step
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver

from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword
from intramedial.audit import record


@receiver(account.user_logged_in)
def logged_in(request: Any, user: Any, **kwargs: Any) -> None:
    """A session began; the entry names the beta password."""
    password = BetaPassword.objects.filter(pk=request.session.get(beta.SESSION)).first()
    record.act(request, "account.logged_in", by=user, beta=password.prefix if password else "")


@receiver(user_logged_out)
def logged_out(request: Any, user: Any, **kwargs: Any) -> None:
    """A session ended, by its owner or because its beta password was revoked."""
    if user is not None:
        record.act(request, "account.logged_out", by=user)


@receiver(account.password_changed)
@receiver(account.password_set)
def password_changed(request: Any, user: Any, **kwargs: Any) -> None:
    """The password was changed by a person who knew the old one."""
    record.act(request, "account.password_changed", by=user)


@receiver(account.password_reset)
def password_reset(request: Any, user: Any, **kwargs: Any) -> None:
    """The password was reset with a mailed link."""
    record.act(request, "account.password_reset", by=user)


@receiver(account.email_confirmed)
def email_confirmed(request: Any, email_address: Any, **kwargs: Any) -> None:
    """An address was confirmed."""
    record.act(request, "account.email_confirmed", by=email_address.user)


@receiver(account.email_changed)
def email_changed(request: Any, user: Any, **kwargs: Any) -> None:
    """The account has another address."""
    record.act(request, "account.email_changed", by=user)


@receiver(second_step.authenticator_added)
def second_step_added(request: Any, user: Any, authenticator: Any, **kwargs: Any) -> None:
    """Two-step verification was turned on, or recovery codes were made."""
    record.act(request, "account.second_step_added", by=user, kind=authenticator.type)


@receiver(second_step.authenticator_removed)
def second_step_removed(request: Any, user: Any, authenticator: Any, **kwargs: Any) -> None:
    """Two-step verification was turned off, or recovery codes were removed."""
    record.act(request, "account.second_step_removed", by=user, kind=authenticator.type)


@receiver(second_step.authenticator_reset)
def second_step_reset(request: Any, user: Any, authenticator: Any, **kwargs: Any) -> None:
    """Recovery codes were replaced."""
    record.act(request, "account.second_step_reset", by=user, kind=authenticator.type)


@receiver(second_step.authentication_failed)
def second_step_failed(request: Any, user: Any, **kwargs: Any) -> None:
    """The password was right, but the code of the second step was wrong."""
    record.act(request, "account.second_step_failed", by=user)
