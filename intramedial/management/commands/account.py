"""`account unlock`."""

from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from intramedial.accounts import throttle
from intramedial.accounts.models import User
from intramedial.audit import record
from intramedial.management.base import NounCommand, Result


class Command(NounCommand):
    """Lets the owner of an account log in again."""

    help = "Let the owner of an account in again."

    def add_actions(self) -> None:
        """Declare `unlock`."""
        unlock = self.add_action(
            "unlock", self.unlock, "forget the wrong log-in tries of an account, from all addresses"
        )
        unlock.add_argument("email", help="the account's e-mail address")

    def unlock(self, options: dict[str, Any]) -> Result:
        """{"email": "…", "tries": number of wrong tries that were forgotten}."""
        user = User.objects.filter(email__iexact=options["email"]).first()
        if user is None:
            raise CommandError(f"There is no account of {options['email']}.")
        with transaction.atomic():
            count = throttle.unlock(user.email)
            record.act(None, "account.unlocked", target=f"account {user.pk}", tries=count)
        return {"email": user.email, "tries": count}
