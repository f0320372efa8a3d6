"""Trials: beginning one, adding agents, and adopting it, which makes it the workspace of a person.

All functions block; the API calls them in a thread. `authentication/signers.py` counts the calls of a trial.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.databases import disk, take_turns
from intramedial.databases.hourly import seconds_until_room
from intramedial.http.calls import TrialState
from intramedial.http.problems import Problem
from intramedial.workspaces import names, provision
from intramedial.workspaces.models import Membership, RegisteredAgent, Trial, TrialAgent, Workspace

NEW_TRIALS = "new trials"
# What a trial and all that is done with it may leave on the disk is bounded: see `provision.purge_trials`.


@dataclass(frozen=True)
class State:
    """The state of a trial, its workspace's `ws_…`, and its further agents, oldest first."""

    trial: TrialState
    workspace: str
    agents: tuple[str, ...]


def begin(did: str, address_hash: str, site_hash: str = "") -> tuple[State, bool]:
    """The trial of a key, and whether it is new. An existing trial stays as it is. `site_hash` is the hash of
    the address's IPv6 /48, empty if it has none.

    Problem: `trial_expired`; `forbidden` for a key that belongs to another trial or a workspace;
    `rate_limited` after too many new trials in the last hour, from the address, from its /48 or in all;
    `authority_unavailable` if the trial would be new and the disk is nearly full.
    """
    with transaction.atomic():
        take_turns(f"trial {did}", NEW_TRIALS)
        trial = Trial.objects.select_related("workspace").filter(did=did).first()
        if trial is not None:
            return state(trial), False
        _check_unused(did)
        disk.require_room("no trial begins")
        now = timezone.now()
        _check_room(address_hash, site_hash, now)
        trial = Trial.objects.create(
            did=did,
            workspace=Workspace.objects.create(name="Prueba"),
            calls_limit=settings.TRIAL_CALLS,
            created_at=now,
            expires_at=now + timedelta(days=settings.TRIAL_DAYS),
            address_hash=address_hash,
            site_hash=site_hash,
        )
        return state(trial), True


def find(did: str) -> State:
    """The trial that a key began. Problem `trial_expired` if it is over."""
    trial = Trial.objects.select_related("workspace").get(did=did)
    return state(trial)


def add_agent(trial_did: str, did: str) -> tuple[State, bool]:
    """Add an agent to the trial that `trial_did` began. Returns the state, and whether the agent is new.

    Problem: `forbidden` for a key that belongs to another trial or a workspace; `rate_limited` if the trial
    has as many agents as it may have.
    """
    with transaction.atomic():
        take_turns(f"trial {did}", f"trial {trial_did}")
        trial = Trial.objects.select_related("workspace").get(did=trial_did)
        if did == trial_did or _agents(trial).filter(did=did).exists():
            return state(trial), False
        _check_unused(did)
        if 1 + _agents(trial).count() >= settings.TRIAL_AGENTS:
            raise Problem(
                "rate_limited", f"A trial has at most {settings.TRIAL_AGENTS} agents, its own key included."
            )
        TrialAgent.objects.create(trial=trial, did=did)
        return state(trial), True


def state(trial: Trial) -> State:
    """The state of a trial. Problem `trial_expired` if it is over or its workspace was deleted."""
    if trial.expires_at <= timezone.now() or trial.workspace is None:
        raise Problem("trial_expired", "The trial of this key is over; a new key begins a new one.")
    return State(
        state_of(trial),
        trial.workspace.public_id,
        tuple(_agents(trial).order_by("created_at", "pk").values_list("did", flat=True)),
    )


def state_of(trial: Trial) -> TrialState:
    """The calls and the time that a trial has left. Both come from its row, so a changed setting has effect
    only on later trials."""
    window = trial.expires_at - trial.created_at
    return TrialState(
        trial.did, trial.calls_limit, trial.calls_used, trial.expires_at, round(window.total_seconds())
    )


def _agents(trial: Trial) -> QuerySet[TrialAgent]:
    return TrialAgent.objects.filter(trial=trial)


def _check_unused(did: str) -> None:
    in_a_trial = Trial.objects.filter(did=did).exists() or TrialAgent.objects.filter(did=did).exists()
    if in_a_trial or RegisteredAgent.objects.filter(did=did, revoked_at=None).exists():
        raise Problem(
            "forbidden", "This key already belongs to another trial or to a workspace. Use a new one."
        )


def _check_room(address_hash: str, site_hash: str, now: datetime) -> None:
    """Problem `rate_limited` if no more trials may begin now."""
    each, in_all = settings.TRIALS_PER_HOUR, settings.TRIALS_IN_ALL
    every = Trial.objects.all()
    of_address = every.filter(address_hash=address_hash)
    _check_limit(of_address, each, now, f"An address may begin {each} trials an hour.")
    if site_hash:
        of_site = every.filter(site_hash=site_hash)
        _check_limit(of_site, each, now, f"The addresses of one IPv6 /48 may begin {each} trials an hour.")
    _check_limit(every, in_all, now, f"This service begins at most {in_all} trials an hour, for all who ask.")


def _check_limit(found: QuerySet[Trial], limit: int, now: datetime, detail: str) -> None:
    seconds = seconds_until_room(found, "created_at", limit, now)
    if seconds is not None:
        raise Problem("rate_limited", detail, headers={"retry-after": str(seconds)})


class NotAdoptable(Exception):
    """The trial does not exist, has expired, or was adopted by another person."""


def adopt(did: str, user_id: int, name: str) -> tuple[Workspace, bool]:
    """Make a person the owner of the workspace of the trial that `did` began. Returns the workspace, and
    whether the person has become its owner now.

    The trial's agents become registered agents of the workspace, whose calls are not counted. Their leases
    and waits stay, because the workspace is the same one. The caller has checked that the person holds the
    key. Raises NotAdoptable, `provision.TooManyWorkspaces`.
    """
    with transaction.atomic():
        provision.hold_person(user_id)
        trial = Trial.objects.select_for_update().filter(did=did).first()
        if trial is None:
            raise NotAdoptable
        workspace = trial.workspace
        if workspace is None:
            return _adopted_before(did, user_id), False
        if trial.expires_at <= timezone.now():
            raise NotAdoptable
        provision.check_room_for_workspace(user_id)
        Membership.objects.create(workspace=workspace, user_id=user_id, role=Membership.Role.OWNER)
        Workspace.objects.filter(pk=workspace.pk).update(name=names.normal(name))
        for agent in (did, *trial.agents.values_list("did", flat=True)):
            provision.register_agent(workspace, agent)
        # The trial's row stays, so that its key cannot begin another trial.
        trial.agents.all().delete()
        Trial.objects.filter(pk=trial.pk).update(workspace=None)
    return workspace, True


def _adopted_before(did: str, user_id: int) -> Workspace:
    mine = RegisteredAgent.objects.filter(
        did=did, workspace__memberships__user=user_id, workspace__memberships__role=Membership.Role.OWNER
    )
    if (agent := mine.select_related("workspace").first()) is None:
        raise NotAdoptable
    return agent.workspace
