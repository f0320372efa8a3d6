"""Making and revoking workspaces and their API keys; commands, pages and the admin all come through here."""

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
"""Trials of one transaction of the purge, for which whoever begins one has to wait."""


class TooManyKeys(Exception):
    """The workspace has as many API keys in force as it may have."""


class TooManyWorkspaces(Exception):
    """The person owns as many workspaces as one may."""


def hold_person(user_id: int) -> None:
    """Until the transaction ends, nobody else changes what this person owns (SQLite has one writer)."""
    get_user_model().objects.select_for_update().filter(pk=user_id).first()


def hold(workspace: Workspace) -> None:
    """Until the transaction ends, nobody else changes members and keys of `workspace`."""
    Workspace.objects.select_for_update().filter(pk=workspace.pk).first()


def create_workspace(name: str, owner_id: int | None = None, bits: bytes | None = None) -> Workspace:
    """A new workspace, with its owner when one is given; its `ws_…` is that of `bits`, if given.

    ValueError for a name that is not one, TooManyWorkspaces for an owner who has their full number.
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
    """TooManyWorkspaces for somebody who owns as many workspaces as one may."""
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
    """A new key of `workspace`, that of `bits` if given; its secret is in the answer and nowhere else.

    ValueError for a DID that is not one, TooManyKeys when the workspace has its full number in force.
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
    """Whether `workspace` may have one API key more in force."""
    in_force: int = keys_in_force(workspace).count()
    return in_force < int(settings.WORKSPACE_API_KEYS)


def keys_in_force(workspace: Workspace) -> QuerySet[ApiKey]:
    """The keys of `workspace` that are neither revoked nor expired."""
    unrevoked = ApiKey.objects.filter(workspace=workspace, revoked_at=None)
    return unrevoked.exclude(expires_at__lte=timezone.now())


def rotate_api_key(key: ApiKey, overlap: timedelta, bits: bytes | None = None) -> keys.NewKey:
    """A new key that may do what `key` may, for as long a time from now; `key` ends after `overlap`.

    TooManyKeys when both would not find room.
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
    """Revoke the key of that prefix; returns when it was first revoked. Raises ApiKey.DoesNotExist."""
    ApiKey.objects.filter(prefix=prefix, revoked_at=None).update(revoked_at=timezone.now())
    revoked_at = ApiKey.objects.get(prefix=prefix).revoked_at
    assert revoked_at is not None
    return revoked_at


def gone(public_ids: list[str]) -> set[str]:
    """Of these workspaces, those that are no more. Closes its connection: it is called in threads of others,
    once a day."""
    try:
        known = Workspace.objects.filter(public_id__in=public_ids).values_list("public_id", flat=True)
        return set(public_ids) - set(known)
    finally:
        connection.close()


def any_made() -> bool:
    """Whether there is a workspace; no, when the database cannot say. Closes its connection."""
    try:
        return Workspace.objects.exists()
    except DatabaseError:
        return False
    finally:
        connection.close()


def purge_trials() -> int:
    """Delete the workspaces and further agents of trials that have expired, what the ledger's entries say of
    them, and the hashes of their addresses; returns how many. The authority forgets the rest once a day, when
    it learns that the workspaces are no more (see `gone`).

    The trial's own row stays, of half a kilobyte: its key is known as expired for good, and cannot begin
    again. While a trial lasts it has at most some hundred kilobytes, nearly all of them in the ledger.
    Raises ``django.db.Error`` when the ledger is away: what is left is purged the next day.
    """
    # A workspace with members was adopted by someone: it is theirs, whatever became of the trial.
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


class TooManyAgents(Exception):
    """The workspace has as many registered agents as it may have."""


def register_agent(workspace: Workspace, did: str) -> bool:
    """Let whoever holds the key of `did` sign in `workspace`; whether that is new. TooManyAgents.

    That the key is held was proven before. Called inside a transaction with the workspace held.
    """
    there = workspace.agents.filter(did=did).first()
    if there is not None and there.revoked_at is None:
        return False
    if workspace.agents.filter(revoked_at=None).count() >= settings.WORKSPACE_AGENTS:
        raise TooManyAgents
    if there is not None:
        workspace.agents.filter(pk=there.pk).update(registered_at=timezone.now(), revoked_at=None)
    else:
        RegisteredAgent.objects.create(workspace=workspace, did=did)
    return True


def revoke_agent(agent: RegisteredAgent) -> bool:
    """End it, at once; whether it was in force."""
    in_force = RegisteredAgent.objects.filter(pk=agent.pk, revoked_at=None)
    return bool(in_force.update(revoked_at=timezone.now()))
