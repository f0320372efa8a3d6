"""Agents that sign their requests in a workspace: their DIDs, proven and registered."""

from django.conf import settings
from django.utils import timezone

from intramedial.workspaces.models import RegisteredAgent, Workspace


class TooManyAgents(Exception):
    """The workspace has as many registered agents as it may have."""


def register(workspace: Workspace, did: str) -> bool:
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


def revoke(agent: RegisteredAgent) -> bool:
    """End it, at once; whether it was in force."""
    in_force = RegisteredAgent.objects.filter(pk=agent.pk, revoked_at=None)
    return bool(in_force.update(revoked_at=timezone.now()))
