"""Making a visitor's trial the workspace of somebody with an account.

Its agents become registered agents and sign on without being counted; what they hold and wait for stays,
since the workspace is the same one.
"""

from django.db import transaction
from django.utils import timezone

from intramedial.workspaces import names, provision, registration
from intramedial.workspaces.models import Membership, RegisteredAgent, Trial, Workspace


class Gone(Exception):
    """There is no such trial, or it has expired, or somebody has adopted it."""


def adopt(did: str, user_id: int, name: str) -> tuple[Workspace, bool]:
    """The workspace of the trial that `did` began, now owned by this person; whether it was not before.

    That the person holds the key was proven before. Gone; TooManyWorkspaces.
    """
    with transaction.atomic():
        provision.hold_person(user_id)
        trial = Trial.objects.select_for_update().filter(did=did).first()
        if trial is None:
            raise Gone
        workspace = trial.workspace
        if workspace is None:
            return _adopted_before(did, user_id), False
        if trial.expires_at <= timezone.now():
            raise Gone
        provision.check_room_for_workspace(user_id)
        Membership.objects.create(workspace=workspace, user_id=user_id, role=Membership.Role.OWNER)
        Workspace.objects.filter(pk=workspace.pk).update(name=names.normal(name))
        for agent in (did, *trial.agents.values_list("did", flat=True)):
            registration.register(workspace, agent)
        # The key stays known as that of a trial that is over, so that it cannot begin another.
        trial.agents.all().delete()
        Trial.objects.filter(pk=trial.pk).update(workspace=None)
    return workspace, True


def _adopted_before(did: str, user_id: int) -> Workspace:
    mine = RegisteredAgent.objects.filter(
        did=did, workspace__memberships__user=user_id, workspace__memberships__role=Membership.Role.OWNER
    )
    if (agent := mine.select_related("workspace").first()) is None:
        raise Gone
    return agent.workspace
