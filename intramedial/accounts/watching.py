"""Who may watch a workspace over a live socket, at first and as long as the socket is open.

A socket outlives the request that opened it. So its watcher is a value that holds its credentials, and
`check` looks up the credentials of all watchers of a process at once, again and again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.contrib import auth
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from intramedial.accounts import beta
from intramedial.http.calls import RequestParts
from intramedial.http.problems import Problem
from intramedial.workspaces import keys, tickets
from intramedial.workspaces.authentication import callers
from intramedial.workspaces.models import ApiKey, Membership, Trial

NOT_FOUND = "There is no such workspace, or it is not yours."
LOGGED_OUT = "Log in to watch a workspace."
KEY_ENDED = "The API key was revoked or has expired."
NO_MEMBER = "You are no longer a member of this workspace."
TICKET_USED = "The ticket is unknown, was used before or came too late: ask for another."
TRIAL_OVER = "The trial is over."

Result = TypeVar("Result")

PART = 500
"""Most values in one look-up."""


@dataclass(frozen=True)
class Member:
    """A person with a log-in session who is a member of the workspace."""

    workspace: str
    user: int
    session: str = field(repr=False)

    trial = False


@dataclass(frozen=True)
class Program:
    """A program with an API key of the workspace."""

    workspace: str
    key_sha256: str = field(repr=False)

    trial = False


@dataclass(frozen=True)
class Visitor:
    """A visitor with a ticket for the workspace of a trial."""

    workspace: str

    trial = True


Watcher = Member | Program | Visitor


async def member(workspace: str, session: str | None) -> Member:
    """The member to whom the session belongs. Problem: `unauthenticated`; `not_found` for a workspace that
    does not exist or has no such member; `authority_unavailable`."""
    user = (
        await callers.process().watchers.run(lambda: _user_of(session), repeatable=True) if session else None
    )
    if user is None or session is None:
        raise Problem("unauthenticated", LOGGED_OUT)
    watcher = Member(workspace, user, session)
    if await check([watcher]):
        raise Problem("not_found", NOT_FOUND)
    return watcher


async def program(workspace: str, parts: RequestParts) -> Program:
    """The program whose API key the handshake carries. Problem: `unauthenticated`; `not_found` for a
    workspace other than the key's; `authority_unavailable`."""
    principal = await callers.authenticate(parts, spend=False)
    if principal.workspace != workspace:
        raise Problem("not_found", NOT_FOUND)
    secret = parts.headers["authorization"].partition(" ")[2].strip(" ")
    return Program(workspace, keys.digest(secret))


async def visitor(ticket: str) -> Visitor:
    """The visitor with that ticket, which is used up. Problem: `unauthenticated`, `trial_expired`,
    `authority_unavailable`."""
    workspace = await tickets.redeem(ticket)
    if workspace is None:
        raise Problem("unauthenticated", TICKET_USED)
    watcher = Visitor(workspace)
    if ended := await check([watcher]):
        raise ended[watcher]
    return watcher


async def check(watchers: Iterable[Watcher]) -> dict[Watcher, Problem]:
    """The watchers that may no longer watch, each with the reason. Problem `authority_unavailable` if the
    database does not answer."""
    unique = set(watchers)
    return await _look_up(lambda: _ended(unique)) if unique else {}


def stop() -> None:
    """Close the connections, at the end of the process."""
    callers.process().watchers.close()


async def _look_up(job: Callable[[], Result]) -> Result:
    return await callers.process().watchers.run(job, repeatable=True)


def _user_of(session_key: str) -> Any:
    request = HttpRequest()
    request.session = SessionStore(session_key)
    user = auth.get_user(request)
    return user.pk if user.is_authenticated else None


def _ended(watchers: set[Watcher]) -> dict[Watcher, Problem]:
    members = [watcher for watcher in watchers if isinstance(watcher, Member)]
    programs = [watcher for watcher in watchers if isinstance(watcher, Program)]
    visitors = [watcher for watcher in watchers if isinstance(watcher, Visitor)]
    sessions = _sessions_in_force(members)
    memberships = _memberships(members)
    known_keys = _keys_in_force(programs)
    trials = _trials_in_force(visitors)
    ended: dict[Watcher, Problem] = {}
    for member in members:
        if (member.session, member.user) not in sessions:
            ended[member] = Problem("unauthenticated", LOGGED_OUT)
        elif (member.workspace, member.user) not in memberships:
            ended[member] = Problem("forbidden", NO_MEMBER)
    for program in programs:
        if (program.key_sha256, program.workspace) not in known_keys:
            ended[program] = Problem("unauthenticated", KEY_ENDED)
    for visitor in visitors:
        if visitor.workspace not in trials:
            ended[visitor] = Problem("trial_expired", TRIAL_OVER)
    return ended


def _sessions_in_force(members: list[Member]) -> set[tuple[str, int]]:
    """The sessions in force among those of `members`, each with its user. A session is in force if it has not
    ended, the account is active, its password has not changed since the log-in, and its beta password is not
    revoked."""
    if not members:
        return set()
    rows = _in_parts(
        {member.session for member in members},
        lambda part: Session.objects.filter(session_key__in=part, expire_date__gt=timezone.now()),
    )
    contents = {row.session_key: row.get_decoded() for row in rows}
    unrevoked = beta.unrevoked(content.get(beta.SESSION) for content in contents.values())
    users = {
        user.pk: user
        for user in _in_parts(
            {member.user for member in members},
            lambda part: auth.get_user_model().objects.filter(pk__in=part, is_active=True),
        )
    }
    return {
        (member.session, member.user)
        for member in members
        if (content := contents.get(member.session)) is not None
        and (user := users.get(member.user)) is not None
        and content.get(beta.SESSION) in unrevoked
        and content.get(SESSION_KEY) == str(user.pk)
        and constant_time_compare(content.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
    }


def _memberships(members: list[Member]) -> set[tuple[str, int]]:
    workspaces = {member.workspace for member in members}
    rows = _in_parts(
        {member.user for member in members},
        lambda part: Membership.objects.filter(user__in=part).values_list("workspace__public_id", "user_id"),
    )
    return {(workspace, user) for workspace, user in rows if workspace in workspaces}


def _keys_in_force(programs: list[Program]) -> set[tuple[str, str]]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    in_force = ApiKey.objects.filter(unexpired, revoked_at=None)
    return set(
        _in_parts(
            {program.key_sha256 for program in programs},
            lambda part: in_force.filter(sha256__in=part).values_list("sha256", "workspace__public_id"),
        )
    )


def _trials_in_force(visitors: list[Visitor]) -> set[str]:
    in_force = Trial.objects.filter(expires_at__gt=timezone.now())
    return set(
        _in_parts(
            {visitor.workspace for visitor in visitors},
            lambda part: in_force.filter(workspace__public_id__in=part).values_list(
                "workspace__public_id", flat=True
            ),
        )
    )


def _in_parts(values: set[Any], find: Callable[[list[Any]], Iterable[Any]]) -> list[Any]:
    """All rows that `find` returns for the values, looked up in parts small enough for one statement."""
    every = list(values)
    return [row for start in range(0, len(every), PART) for row in find(every[start : start + PART])]
