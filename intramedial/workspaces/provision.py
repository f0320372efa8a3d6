"""Making and revoking workspaces and their API keys; commands, pages and the admin all come through here."""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from intramedial.identity.did import check_did
from intramedial.workspaces import keys
from intramedial.workspaces.models import ApiKey, Membership, TrialAgent, Workspace


class TooManyKeys(Exception):
    """The workspace has as many API keys in force as it may have."""


def create_workspace(name: str, owner_id: int | None = None) -> Workspace:
    """A new workspace, with its owner when one is given. ValueError for a name that is empty or too long."""
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise ValueError("A workspace's name has 1 to 200 characters.")
    with transaction.atomic():
        workspace = Workspace.objects.create(name=name)
        if owner_id is not None:
            Membership.objects.create(workspace=workspace, user_id=owner_id, role=Membership.Role.OWNER)
    return workspace


def create_api_key(
    workspace: Workspace,
    *,
    actor_did: str | None = None,
    read_only: bool = False,
    label: str = "",
    expires_at: datetime | None = None,
) -> keys.NewKey:
    """A new key of `workspace`; its secret is in the answer and nowhere else.

    ValueError for a DID that is not one, TooManyKeys when the workspace has its full number in force.
    """
    if actor_did is not None:
        actor_did = check_did(actor_did)
    with transaction.atomic():
        # The row's lock makes counting and adding one step (on SQLite the transaction itself is exclusive).
        Workspace.objects.select_for_update().get(pk=workspace.pk)
        if not has_room(workspace):
            raise TooManyKeys(
                f"The workspace has {settings.WORKSPACE_API_KEYS} keys in force: revoke one first."
            )
        new = keys.make_key()
        ApiKey.objects.create(
            workspace=workspace,
            prefix=new.prefix,
            sha256=new.sha256,
            actor_did=actor_did,
            read_only=read_only,
            label=label,
            expires_at=expires_at,
        )
    return new


def has_room(workspace: Workspace) -> bool:
    """Whether `workspace` may have one API key more in force."""
    keys_there = ApiKey.objects.filter(workspace=workspace, revoked_at=None)
    in_force: int = keys_there.exclude(expires_at__lte=timezone.now()).count()
    return in_force < int(settings.WORKSPACE_API_KEYS)


def revoke_api_key(prefix: str) -> datetime:
    """Revoke the key of that prefix; returns when it was first revoked. Raises ApiKey.DoesNotExist."""
    ApiKey.objects.filter(prefix=prefix, revoked_at=None).update(revoked_at=timezone.now())
    revoked_at = ApiKey.objects.get(prefix=prefix).revoked_at
    assert revoked_at is not None
    return revoked_at


def purge_trials() -> int:
    """Delete the workspaces and further agents of trials that have expired; returns how many.

    The trial's own row stays: its key is known as expired for good, and cannot begin again.
    """
    # A workspace with members was adopted by someone: it is theirs, whatever became of the trial.
    expired = Workspace.objects.filter(trial__expires_at__lte=timezone.now(), memberships=None)
    with transaction.atomic():
        purged = list(expired.values_list("pk", flat=True))
        TrialAgent.objects.filter(trial__workspace__in=purged).delete()
        Workspace.objects.filter(pk__in=purged).delete()
    return len(purged)
