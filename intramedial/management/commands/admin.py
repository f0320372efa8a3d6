"""`admin create EMAIL`."""

import secrets

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_email
from django.db import transaction

from intramedial.accounts.models import User
from intramedial.audit import record
from intramedial.management.base import NounCommand, Result


class Command(NounCommand):
    """Makes administrators."""

    help = "Make administrators."

    def add_actions(self) -> None:
        """Declare `create`."""
        create = self.add_action("create", self.create, "make an administrator; the password is shown once")
        create.add_argument("email")

    def create(self, options: dict[str, str]) -> Result:
        """{"email": "…", "password": "…"}."""
        email = options["email"]
        try:
            validate_email(email)
        except ValidationError:
            raise CommandError(f"{email!r} is not an e-mail address.") from None
        if User.objects.filter(email__iexact=email).exists():
            raise CommandError(f"There is an account of {email} already.")
        password = secrets.token_urlsafe(18)
        with transaction.atomic():
            user = User.objects.create_superuser(email, password)
            record.act(None, "account.administrator_created", target=f"account {user.pk}")
        return {"email": user.email, "password": password}
