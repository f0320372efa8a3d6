"""`bootstrap`: everything a fresh data directory or database needs before the server starts."""

import secrets
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, transaction

from intramedial import databases
from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword, User
from intramedial.databases import usable
from intramedial.management.base import Result, ResultCommand
from intramedial.process import private_files
from intramedial.receipts import signing
from intramedial.workspaces import provision
from intramedial.workspaces.models import Workspace


class Command(ResultCommand):
    """Migrates each database and makes what is missing. It changes nothing that exists.

    A secret is only in the result of the run that makes it.
    """

    help = "Migrate every database and make the first admin, beta password and workspace where there is none."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--admin-email` and `--json`."""
        parser.add_argument(
            "--admin-email", default="admin@localhost", help="address of the first administrator"
        )
        self.add_json(parser)

    def run(self, options: dict[str, Any]) -> Result:
        """What was made: adminEmail, adminPassword, betaPassword, workspace, apiKey. {} if nothing was
        missing."""
        with private_files.created_private():
            try:
                usable.check_files()
            except usable.Unusable as fault:
                raise CommandError(str(fault)) from None
            for alias in databases.distinct_aliases():
                self._migrate(alias)
            signing.current()
        private_files.tighten(settings.DATA_DIR)
        try:
            return self._make_first(options)
        except DatabaseError as error:
            raise CommandError(f"The database 'default' failed: {error}") from error

    def _migrate(self, alias: str) -> None:
        try:
            usable.check(alias, complete=False)
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        except usable.Unusable as fault:
            raise CommandError(str(fault)) from fault
        except DatabaseError as error:
            raise CommandError(f"The database {alias!r} could not be migrated: {error}") from error

    def _make_first(self, options: dict[str, Any]) -> Result:
        made: Result = {}
        # All or nothing, so that a run that breaks off leaves no secret that was never shown.
        with transaction.atomic():
            admin = self._first_admin(options["admin_email"], made)
            if not BetaPassword.objects.exists():
                made["betaPassword"] = beta.create("first tester")
            if not Workspace.objects.filter(trial=None).exists():
                workspace = provision.create_workspace("Demo", owner_id=admin.pk if admin else None)
                made["workspace"] = workspace.public_id
                made["apiKey"] = provision.create_api_key(workspace, label="demo").secret
        return made

    def write(self, result: Result) -> None:
        """Write what was made, for people."""
        if result:
            self.stdout.write("Made now, and shown this once:")
            for name, value in result.items():
                self.stdout.write(f"  {name:<14} {value}")
        else:
            self.stdout.write("Everything is there already.")

    def _first_admin(self, email: str, made: Result) -> User | None:
        found = User.objects.filter(is_superuser=True).order_by("pk").first()
        if found is not None:
            return found
        made["adminEmail"] = email
        made["adminPassword"] = secrets.token_urlsafe(18)
        return User.objects.create_superuser(email, made["adminPassword"])
