"""Making and ending workspaces, API keys and registered agents, for commands, pages and the admin."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.identity.did import check_did
from intramedial.ledger import log
from intramedial.workspaces import keys, names
from intramedial.workspaces.models import ApiKey, Membership, RegisteredAgent, Trial, TrialAgent, Workspace

TRIALS_AT_ONCE = 100
"""Trials that one transaction of the purge deletes. A new trial has to wait for that transaction."""


class TooManyKeys(Exception):
    """The workspace has as many API keys in force as it may have."""


class TooManyWorkspaces(Exception):
    """The person owns as many workspaces as one may."""


class TooManyAgents(Exception):
    """The workspace has as many registered agents as it may have."""


def hold_person(user_id: int) -> None:
    """Lock the workspaces that a person owns until the transaction ends (SQLite has one writer anyway)."""
    get_user_model().objects.select_for_update().filter(pk=user_id).first()


def hold(workspace: Workspace) -> None:
    """Lock the members and keys of `workspace` until the transaction ends."""
    Workspace.objects.select_for_update().filter(pk=workspace.pk).first()


def create_workspace(name: str, owner_id: int | None = None, bits: bytes | None = None) -> Workspace:
    """Make a workspace, with an owner if one is given. Its `ws_…` is derived from `bits`, if given.

    ValueError for a bad name, TooManyWorkspaces if the owner has as many as one may.
    """
    try:
        name = names.normal(name)
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from None
    with transaction.atomic():
        if owner_id is not None:
            hold_person(owner_id)
            check_room_for_workspace(owner_id)
        workspace = Workspace.objects.create(name=name, public_id=keys.public_id("ws_", bits))
        if owner_id is not None:
            Membership.objects.create(workspace=workspace, user_id=owner_id, role=Membership.Role.OWNER)
    return workspace


def check_room_for_workspace(user_id: int) -> None:
    """TooManyWorkspaces if the person owns as many workspaces as one may."""
    owned = Membership.objects.filter(user=user_id, role=Membership.Role.OWNER).count()
    if owned >= settings.PERSON_WORKSPACES:
        raise TooManyWorkspaces(f"A person owns at most {settings.PERSON_WORKSPACES} workspaces.")


def create_api_key(
    workspace: Workspace,
    *,
    actor_did: str | None = None,
    read_only: bool = False,
    label: str = "",
    expires_at: datetime | None = None,
    bits: bytes | None = None,
) -> keys.NewKey:
    """Make an API key of `workspace`, derived from `bits` if given. Only the returned value holds its secret.

    ValueError for a bad DID, TooManyKeys if the workspace has as many keys in force as it may have.
    """
    if actor_did is not None:
        actor_did = check_did(actor_did)
    with transaction.atomic():
        hold(workspace)  # so that counting and adding are one step
        if not has_room(workspace):
            raise TooManyKeys(
                f"The workspace has {settings.WORKSPACE_API_KEYS} keys in force: revoke one first."
            )
        new = keys.make_key(bits)
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
    """Whether `workspace` may have one more API key in force."""
    in_force: int = keys_in_force(workspace).count()
    return in_force < int(settings.WORKSPACE_API_KEYS)


def keys_in_force(workspace: Workspace) -> QuerySet[ApiKey]:
    """The keys of `workspace` that are neither revoked nor expired."""
    unrevoked = ApiKey.objects.filter(workspace=workspace, revoked_at=None)
    return unrevoked.exclude(expires_at__lte=timezone.now())


def rotate_api_key(key: ApiKey, overlap: timedelta, bits: bytes | None = None) -> keys.NewKey:
    """Make a key that may do what `key` may, with the same lifetime from now. `key` ends after `overlap`.

    TooManyKeys if the workspace may not have both in force.
    """
    now = timezone.now()
    with transaction.atomic():
        hold(key.workspace)
        if not overlap:
            ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now)
        elif key.expires_at is None or key.expires_at > now + overlap:
            ApiKey.objects.filter(pk=key.pk).update(expires_at=now + overlap)
        return create_api_key(
            key.workspace,
            actor_did=key.actor_did,
            read_only=key.read_only,
            label=key.label,
            expires_at=now + (key.expires_at - key.created_at) if key.expires_at else None,
            bits=bits,
        )


def revoke_api_key(prefix: str) -> datetime:
    """Revoke the key with that prefix. Returns when it was first revoked. Raises ApiKey.DoesNotExist."""
    ApiKey.objects.filter(prefix=prefix, revoked_at=None).update(revoked_at=timezone.now())
    revoked_at = ApiKey.objects.get(prefix=prefix).revoked_at
    assert revoked_at is not None
    return revoked_at


def deleted(public_ids: list[str]) -> set[str]:
    """Those of the workspaces that were deleted. Closes the connection, because other rooms call it once a
    day in threads of their own."""
    try:
        known = Workspace.objects.filter(public_id__in=public_ids).values_list("public_id", flat=True)
        return set(public_ids) - set(known)
    finally:
        connection.close()


def any_made() -> bool:
    """Whether there is a workspace; False if the database does not answer. Closes the connection."""
    try:
        return Workspace.objects.exists()
    except DatabaseError:
        return False
    finally:
        connection.close()


def purge_trials() -> int:
    """Delete the workspaces and further agents of expired trials, the contents of their ledger entries, and
    the hashes of their addresses. Returns how many trials that were. The authority deletes its own rows once
    a day, when `deleted` names their workspaces.

    The row of the trial stays, half a kilobyte, so that its key cannot begin another. A trial has at most
    some hundred kilobytes while it lasts, nearly all of them in the ledger. Raises ``django.db.Error`` if the
    ledger does not answer; the rest is then deleted the next day.
    """
    # A workspace with members was adopted, so it is kept.
    expired = Workspace.objects.filter(trial__expires_at__lte=timezone.now(), memberships=None)
    purged = 0
    while part := dict(expired.order_by("pk").values_list("pk", "public_id")[:TRIALS_AT_ONCE]):
        for public_id in part.values():
            log.drop_contents(public_id)
        with transaction.atomic():
            TrialAgent.objects.filter(trial__workspace__in=part).delete()
            Trial.objects.filter(workspace__in=part).update(address_hash="", site_hash="")
            Workspace.objects.filter(pk__in=part).delete()
        purged += len(part)
    return purged


def register_agent(workspace: Workspace, did: str) -> bool:
    """Register an agent of `workspace`, given by its DID; returns whether that is new. Raises TooManyAgents.

    The caller has checked that the agent holds its key, and holds the workspace in a transaction.
    """
    found = workspace.agents.filter(did=did).first()
    if found is not None and found.revoked_at is None:
        return False
    if workspace.agents.filter(revoked_at=None).count() >= settings.WORKSPACE_AGENTS:
        raise TooManyAgents
    if found is not None:
        workspace.agents.filter(pk=found.pk).update(registered_at=timezone.now(), revoked_at=None)
    else:
        RegisteredAgent.objects.create(workspace=workspace, did=did)
    return True


def revoke_agent(agent: RegisteredAgent) -> bool:
    """Revoke the registration of an agent; returns whether it was in force."""
    in_force = RegisteredAgent.objects.filter(pk=agent.pk, revoked_at=None)
    return bool(in_force.update(revoked_at=timezone.now()))
