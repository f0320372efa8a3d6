"""`workspace create NAME`."""

from django.core.management.base import CommandError
from django.db import transaction

from intramedial.audit import record
from intramedial.management.base import NounCommand, Result
from intramedial.workspaces import provision


class Command(NounCommand):
    """Makes a workspace and its first API key."""

    help = "Make workspaces."

    def add_actions(self) -> None:
        """Declare `create`."""
        create = self.add_action("create", self.create, "make a workspace and its first API key")
        create.add_argument("name")

    def create(self, options: dict[str, str]) -> Result:
        """{"workspace": "ws_…", "apiKey": "imk_…"}."""
        try:
            with transaction.atomic():
                workspace = provision.create_workspace(options["name"])
                key = provision.create_api_key(workspace, label="first key")
                made = {"workspace": workspace.public_id}
                record.act(None, "workspace.created", target=workspace.name, **made)
                record.act(None, "key.created", target=key.prefix, **made)
        except ValueError as error:
            raise CommandError(str(error)) from None
        return {"workspace": workspace.public_id, "apiKey": key.secret}
