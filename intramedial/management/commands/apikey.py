"""`apikey create WORKSPACE` and `apikey revoke PREFIX`."""

from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from intramedial.audit import record
from intramedial.http.formats import rfc3339
from intramedial.management.base import NounCommand, Result
from intramedial.workspaces import keys, provision
from intramedial.workspaces.models import ApiKey, Workspace


class Command(NounCommand):
    """Makes and revokes API keys."""

    help = "Make and revoke API keys."

    def add_actions(self) -> None:
        """Declare `create` and `revoke`."""
        create = self.add_action("create", self.create, "make a key; it is shown once")
        create.add_argument("workspace", help="ws_…")
        create.add_argument("--actor", metavar="DID", help="bind the key to one agent")
        create.add_argument("--read-only", action="store_true")
        create.add_argument("--label", default="")
        revoke = self.add_action("revoke", self.revoke, "end a key at once")
        revoke.add_argument("prefix", help="the key's first characters, imk_…")

    def create(self, options: dict[str, Any]) -> Result:
        """{"apiKey": "imk_…", "prefix": "imk_…"}."""
        try:
            workspace = Workspace.objects.get(public_id=options["workspace"])
            with transaction.atomic():
                key = provision.create_api_key(
                    workspace,
                    actor_did=options["actor"],
                    read_only=options["read_only"],
                    label=options["label"],
                )
                details = {"actor": options["actor"], "readOnly": options["read_only"]}
                record.act(None, "key.created", workspace=workspace.public_id, target=key.prefix, **details)
        except Workspace.DoesNotExist:
            raise CommandError(f"There is no workspace {options['workspace']!r}.") from None
        except (ValueError, provision.TooManyKeys) as error:
            raise CommandError(str(error)) from None
        return {"apiKey": key.secret, "prefix": key.prefix}

    def revoke(self, options: dict[str, Any]) -> Result:
        """{"prefix": "imk_…", "revokedAt": "…"}. A key that was revoked before keeps its first instant."""
        # Somebody who pastes the whole key means its prefix. A secret is not repeated in a message.
        prefix = options["prefix"][: keys.PREFIX_LENGTH]
        try:
            with transaction.atomic():
                revoked_at = provision.revoke_api_key(prefix)
                workspace = Workspace.objects.get(api_keys__prefix=prefix)
                record.act(None, "key.revoked", workspace=workspace.public_id, target=prefix)
        except ApiKey.DoesNotExist:
            raise CommandError(f"There is no key {prefix}….") from None
        return {"prefix": prefix, "revokedAt": rfc3339(revoked_at)}
