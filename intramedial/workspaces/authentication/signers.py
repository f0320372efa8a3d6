"""Signed requests, after their signature was verified: the workspace of the signer, the nonce, the call of a
trial.

A nonce is a row until its signature is too old, at most two minutes later. Everybody who can sign can make
rows, and a stranger can make a key. So each key may sign a limited number of requests per minute (`Budget`),
and expired rows are deleted even when no requests come (`Sweeper`).

The functions block and run in :mod:`intramedial.databases.threads`.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from django.conf import settings
from django.db import IntegrityError, router, transaction
from django.db.models import F

from intramedial.databases.periodic import Periodic
from intramedial.http.calls import Principal
from intramedial.http.problems import Problem
from intramedial.identity.signatures import SignedBy
from intramedial.workspaces import trials
from intramedial.workspaces.models import Nonce, RegisteredAgent, Trial, TrialAgent, Workspace

WINDOW_S = 60
SWEEP_EVERY_S = 10.0
BETWEEN_S = 0.005  # pause between deletes, so that others get at SQLite's one writer


class Budget:
    """Counts the signed requests of each key in a minute, in this process. Thread-safe.

    Minutes are those of the clock, so a key may sign twice the limit across the turn of a minute. A nonce
    lives up to two minutes, so each process stores at most three times the limit for one key.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = -1
        self._spent: Counter[bytes] = Counter()

    @contextmanager
    def spend(self, key: bytes, limit: int, now: float) -> Iterator[None]:
        """Count the request in the `with` block; it does not count if the block raises. Problem
        `rate_limited` at the limit."""
        window, seconds = divmod(int(now), WINDOW_S)
        with self._lock:
            if window != self._window:
                self._window = window
                self._spent.clear()
            if self._spent[key] >= limit:
                raise Problem(
                    "rate_limited",
                    f"This key may sign {limit} requests a minute.",
                    headers={"retry-after": str(WINDOW_S - seconds)},
                )
            self._spent[key] += 1
        try:
            yield
        except BaseException:
            # A stranger who repeats somebody's request must not use up the requests of that key.
            with self._lock:
                if window == self._window:
                    self._spent[key] -= 1
            raise


class Sweeper(Periodic):
    """Deletes old rows every `SWEEP_EVERY_S`. `sweep` deletes some of them and returns how many; it is called
    until none is left."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        super().__init__(
            "nonces", self._sweep_all, "old nonces cannot be deleted", first_s=0, each_s=SWEEP_EVERY_S
        )

    def _sweep_all(self) -> None:
        while self._sweep() and not self.stopping.wait(BETWEEN_S):
            pass


UNKNOWN = "This did:key has no trial and is registered in no workspace."
UNKNOWN_THERE = "This did:key is not known in the workspace that Intramedial-Workspace names."
AMBIGUOUS = "This did:key is known in several workspaces: name one in a covered Intramedial-Workspace header."
EXPIRED = "This trial has expired: create an account to go on."

SWEEP_ROWS = 500


@dataclass(frozen=True)
class Place:
    """A workspace in which a signer may act, by its trial or as a registered agent."""

    workspace: Workspace
    trial: Trial | None = None


def use_signature(
    signed: SignedBy, workspace: str | None, *, budget: Budget, now: float, spend: bool
) -> Principal:
    """The principal that signed. Uses up its nonce and, with ``spend``, one call of its trial.

    ``workspace`` is the ``ws_…`` that the request names, if any. Raises :class:`Problem`:
    ``unauthenticated``, ``trial_expired``, ``replayed``, ``trial_exhausted``, ``rate_limited``.
    """
    at = datetime.fromtimestamp(now, UTC)
    place = find_place(signed.did, workspace, at)
    limit = settings.TRIAL_REQUESTS if place.trial else settings.AGENT_REQUESTS
    # The first statement writes: on SQLite a transaction that begins by reading cannot become a writer.
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


def use_nonce(signed: SignedBy, *, budget: Budget, now: float) -> None:
    """Use up the nonce of a signer that no workspace may know yet.

    Raises :class:`Problem`: ``replayed`` if it was used before, ``rate_limited``.
    """
    with budget.spend(signed.public_key, settings.TRIAL_REQUESTS, now), _transaction():
        store_nonce(signed)


def find_place(did: str, workspace: str | None, at: datetime) -> Place:
    """The place in which ``did`` acts: the named workspace, else the only one that knows it.

    Raises :class:`Problem`: ``unauthenticated``, ``trial_expired``.
    """
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
    """Store ``(public key, nonce)`` until the signature is too old. Problem ``replayed`` if it is stored
    already.

    The signature's bytes would not do: one request can have several valid signatures.
    """
    seen = hashlib.sha256(signed.public_key + signed.nonce.encode()).hexdigest()
    try:
        Nonce.objects.create(key_and_nonce=seen, expires_at=datetime.fromtimestamp(signed.kept_until, UTC))
    except IntegrityError:
        raise Problem(
            "replayed", "This nonce was already used by this key: sign each request anew."
        ) from None


def sweep_nonces(now: float) -> int:
    """Delete at most `SWEEP_ROWS` expired nonces, which takes milliseconds. Returns how many."""
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
    """Count one call of a trial. Returns the problem if the trial has none left or is over.

    One guarded update counts, so that concurrent requests never exceed the number of calls.
    """
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
