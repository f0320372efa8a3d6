"""Trials: a visitor's key, its workspace, its further agents. Blocking; the API calls it in a thread.

Counting the calls is not here but where callers are told apart, in `intramedial.identity`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from intramedial.identity.principal import TrialState
from intramedial.problems import Problem
from intramedial.turns import take_turns
from intramedial.workspaces.models import RegisteredAgent, Trial, TrialAgent, Workspace

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class State:
    """A trial as it stands, its workspace's `ws_…`, and its further agents, oldest first."""

    trial: TrialState
    workspace: str
    agents: tuple[str, ...]


def begin(did: str, address_hash: str) -> tuple[State, bool]:
    """The trial of a key, and whether it is new. Nothing of one that exists is reset.

    Problem: `trial_expired`, `forbidden` for a key that belongs elsewhere, `rate_limited` for an address with
    too many new trials in the last hour.
    """
    with transaction.atomic():
        take_turns(f"trial {did}", f"address {address_hash}")
        trial = Trial.objects.select_related("workspace").filter(did=did).first()
        if trial is not None:
            return state(trial), False
        _check_unused(did)
        now = timezone.now()
        _check_address(address_hash, now)
        trial = Trial.objects.create(
            did=did,
            workspace=Workspace.objects.create(name="Prueba"),
            calls_limit=settings.TRIAL_CALLS,
            created_at=now,
            expires_at=now + timedelta(days=settings.TRIAL_DAYS),
            address_hash=address_hash,
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
        TrialState.of(trial),
        trial.workspace.public_id,
        tuple(_agents(trial).order_by("created_at", "pk").values_list("did", flat=True)),
    )


def _agents(trial: Trial) -> QuerySet[TrialAgent]:
    return TrialAgent.objects.filter(trial=trial)


def _check_unused(did: str) -> None:
    in_a_trial = Trial.objects.filter(did=did).exists() or TrialAgent.objects.filter(did=did).exists()
    if in_a_trial or RegisteredAgent.objects.filter(did=did, revoked_at=None).exists():
        raise Problem(
            "forbidden", "This key already belongs to another trial or to a workspace. Use a new one."
        )


def _check_address(address_hash: str, now: datetime) -> None:
    recent = Trial.objects.filter(address_hash=address_hash, created_at__gt=now - HOUR)
    if recent.count() < settings.TRIALS_PER_HOUR:
        return
    oldest = recent.order_by("-created_at")[settings.TRIALS_PER_HOUR - 1].created_at
    seconds = max(1, int((oldest + HOUR - now).total_seconds()))
    raise Problem(
        "rate_limited",
        f"An address may begin {settings.TRIALS_PER_HOUR} trials an hour.",
        headers={"retry-after": str(seconds)},
    )
