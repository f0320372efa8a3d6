"""Trials: a visitor's key, its workspace, its further agents. Blocking; the API calls it in a thread.

The calls are counted where callers are identified, in `authentication/signers.py`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.databases import disk, take_turns
from intramedial.http.calls import TrialState
from intramedial.http.problems import Problem
from intramedial.workspaces.models import RegisteredAgent, Trial, TrialAgent, Workspace

HOUR = timedelta(hours=1)
NEW_TRIALS = "new trials"
# What a trial and all that is done with it may leave on the disk is bounded: see `provision.purge_trials`.


@dataclass(frozen=True)
class State:
    """A trial as it stands, its workspace's `ws_…`, and its further agents, oldest first."""

    trial: TrialState
    workspace: str
    agents: tuple[str, ...]


def begin(did: str, address_hash: str, site_hash: str = "") -> tuple[State, bool]:
    """The trial of a key, and whether it is new. Nothing of one that exists is reset. `site_hash`: of the
    IPv6 /48 of the address, empty if there is none.

    Problem: `trial_expired`, `forbidden` for a key that belongs elsewhere, `rate_limited` after too many new
    trials in the last hour, of the address, of its /48 or in all, `authority_unavailable` for a new one when
    the disk is nearly full.
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
    """The trial that a key began. Problem `trial_expired` for one that is over."""
    trial = Trial.objects.select_related("workspace").get(did=did)
    return state(trial)


def add_agent(trial_did: str, did: str) -> tuple[State, bool]:
    """Add an agent to the trial that `trial_did` began; the state and whether it is new.

    Problem: `forbidden` for a key that belongs elsewhere, `rate_limited` when the trial has all its agents.
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
    """The state of a trial. Problem `trial_expired` for one that is over or whose workspace is gone."""
    if trial.expires_at <= timezone.now() or trial.workspace is None:
        raise Problem("trial_expired", "The trial of this key is over; a new key begins a new one.")
    return State(
        state_of(trial),
        trial.workspace.public_id,
        tuple(_agents(trial).order_by("created_at", "pk").values_list("did", flat=True)),
    )


def state_of(trial: Trial) -> TrialState:
    """The calls and the time that a trial has left. The length of its window is the row's own: a setting that
    changes later changes only trials that begin later."""
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
    """Problem `rate_limited` when no more trials may begin now."""
    each, in_all = settings.TRIALS_PER_HOUR, settings.TRIALS_IN_ALL
    recent = Trial.objects.filter(created_at__gt=now - HOUR)
    of_address = recent.filter(address_hash=address_hash)
    _check_limit(of_address, each, now, f"An address may begin {each} trials an hour.")
    if site_hash:
        of_site = recent.filter(site_hash=site_hash)
        _check_limit(of_site, each, now, f"The addresses of one IPv6 /48 may begin {each} trials an hour.")
    _check_limit(
        recent, in_all, now, f"This service begins at most {in_all} trials an hour, for all who ask."
    )


def _check_limit(recent: QuerySet[Trial], limit: int, now: datetime, words: str) -> None:
    # The one that has to be an hour old before there is room; as many rows as the limit are looked at.
    oldest = recent.order_by("-created_at").values_list("created_at", flat=True)[limit - 1 : limit]
    for created_at in oldest:
        seconds = max(1, int((created_at + HOUR - now).total_seconds()))
        raise Problem("rate_limited", words, headers={"retry-after": str(seconds)})
