"""Signed requests, past their cryptography: each is used once, by an agent that some workspace knows.

Everything here is blocking database work for :mod:`intramedial.databases.threads`.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from django.conf import settings
from django.db import IntegrityError, router, transaction
from django.db.models import F

from intramedial.http.calls import Principal
from intramedial.http.problems import Problem
from intramedial.identity.signatures import SignedBy
from intramedial.workspaces import trials
from intramedial.workspaces.authentication.nonces import Budget
from intramedial.workspaces.models import Nonce, RegisteredAgent, Trial, TrialAgent, Workspace

UNKNOWN = "This did:key has no trial and is registered in no workspace."
UNKNOWN_THERE = "This did:key is not known in the workspace that Intramedial-Workspace names."
AMBIGUOUS = "This did:key is known in several workspaces: name one in a covered Intramedial-Workspace header."
EXPIRED = "This trial has expired: create an account to go on."

SWEEP_ROWS = 500

budget = Budget()


@dataclass(frozen=True)
class Place:
    """A workspace in which a signer may act, by a trial or by registration."""

    workspace: Workspace
    trial: Trial | None = None


def use_signature(signed: SignedBy, workspace: str | None, *, now: float, spend: bool) -> Principal:
    """The principal that signed; uses up its nonce and, with ``spend``, one call of its trial.

    ``workspace`` is the ``ws_…`` that the request named, if any. Raises :class:`Problem`:
    ``unauthenticated``, ``trial_expired``, ``replayed``, ``trial_exhausted``, ``rate_limited``.
    """
    at = datetime.fromtimestamp(now, UTC)
    place = find_place(signed.did, workspace, at)
    limit = settings.TRIAL_REQUESTS if place.trial else settings.AGENT_REQUESTS
    # The first statement writes: on SQLite a transaction that began by reading could not become a writer.
    with budget.spend(signed.public_key, limit, now), _transaction():
        store_nonce(signed)
        refused = _spend_call(place.trial, now) if place.trial and spend else None
    if refused:
        raise refused
    return Principal(
        workspace=place.workspace.public_id,
        auth="signature",
        actor=signed.did,
        read_only=False,
        semantic_classes=MappingProxyType(place.workspace.semantic_classes),
        trial=trials.state_of(place.trial) if place.trial else None,
    )


def use_nonce(signed: SignedBy, now: float) -> None:
    """Use up the nonce of a signer who need not be known anywhere yet.

    Raises :class:`Problem`: ``replayed`` if it was used before, ``rate_limited``.
    """
    with budget.spend(signed.public_key, settings.TRIAL_REQUESTS, now), _transaction():
        store_nonce(signed)


def find_place(did: str, workspace: str | None, at: datetime) -> Place:
    """Where ``did`` acts: in the workspace named, else in the only one it is known in."""
    trial = _trial_of(did)
    registered = RegisteredAgent.objects.filter(did=did, revoked_at=None).select_related("workspace")
    places = [Place(agent.workspace) for agent in registered]
    expired = trial is not None
    if trial and trial.workspace and trial.expires_at > at:
        own, expired = trial.workspace, False
        places = [Place(own, trial), *(place for place in places if place.workspace != own)]
    if workspace is not None:
        places = [place for place in places if place.workspace.public_id == workspace]
    if len(places) > 1:
        raise Problem("unauthenticated", AMBIGUOUS)
    if not places:
        if expired:
            raise Problem("trial_expired", EXPIRED)
        raise Problem("unauthenticated", UNKNOWN if workspace is None else UNKNOWN_THERE)
    return places[0]


def store_nonce(signed: SignedBy) -> None:
    """Keep ``(public key, nonce)`` until the signature is too old; ``replayed`` if it is there already.

    Never by the signature's bytes: one request can have several valid signatures.
    """
    seen = hashlib.sha256(signed.public_key + signed.nonce.encode()).hexdigest()
    try:
        Nonce.objects.create(key_and_nonce=seen, expires_at=datetime.fromtimestamp(signed.kept_until, UTC))
    except IntegrityError:
        raise Problem(
            "replayed", "This nonce was already used by this key: sign each request anew."
        ) from None


def sweep_nonces(now: float) -> int:
    """Delete some of the nonces that have run out, in a statement of milliseconds; returns how many."""
    old = Nonce.objects.filter(expires_at__lt=datetime.fromtimestamp(now, UTC)).order_by("expires_at")
    deleted, _ = Nonce.objects.filter(pk__in=old.values("pk")[:SWEEP_ROWS]).delete()
    return deleted


def _trial_of(did: str) -> Trial | None:
    trial = Trial.objects.select_related("workspace").filter(did=did).first()
    if trial is None:
        agent = TrialAgent.objects.select_related("trial__workspace").filter(did=did).first()
        trial = agent.trial if agent else None
    return trial


def _spend_call(trial: Trial, now: float) -> Problem | None:
    """Count one call in one guarded update, so that no two requests take the same one; or say why not."""
    at = datetime.fromtimestamp(now, UTC)
    left = Trial.objects.filter(pk=trial.pk, calls_used__lt=F("calls_limit"), expires_at__gt=at)
    counted = left.update(calls_used=F("calls_used") + 1)
    trial.refresh_from_db(fields=["calls_used", "calls_limit", "expires_at"])
    if counted:
        return None
    if trial.expires_at <= at:
        return Problem("trial_expired", EXPIRED)
    return Problem(
        "trial_exhausted",
        f"The {trial.calls_limit} calls of this trial are used up: create an account to go on.",
        headers=trials.state_of(trial).headers(now),
    )


def _transaction() -> transaction.Atomic:
    return transaction.atomic(using=router.db_for_write(Nonce), durable=True)
