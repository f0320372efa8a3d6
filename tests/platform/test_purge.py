"""`purge` beside a running server and without one."""

import io
import json
import urllib.request
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone

from intramedial.workspaces import provision
from intramedial.workspaces.models import Nonce, Trial, TrialAgent
from tests.server import ServerProcess, manage

LEASE = "/api/v1/acp/coordination/lease"
RELEASE = "/api/v1/acp/coordination/release"


def trial(did: str, ends_in: timedelta) -> Trial:
    """A trial with a workspace that ends after `ends_in`."""
    return Trial.objects.create(
        did=did,
        workspace=provision.create_workspace("trial"),
        calls_limit=35,
        expires_at=timezone.now() + ends_in,
    )


def ask(server: ServerProcess, path: str) -> dict:
    """Acquire or release the one resource; returns the answer."""
    request = urllib.request.Request(
        server.url + path,
        json.dumps({"resource": "lock:a", "actorDid": "did:example:a"}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {server.secrets['apiKey']}"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_an_expired_trial_loses_its_workspace_and_is_kept():
    expired = trial("did:example:expired", -timedelta(days=1))
    TrialAgent.objects.create(trial=expired, did="did:example:second")
    current = trial("did:example:current", timedelta(days=1))
    assert provision.purge_trials() >= 1
    expired.refresh_from_db()
    current.refresh_from_db()
    assert expired.workspace is None
    assert current.workspace is not None
    assert not TrialAgent.objects.filter(did="did:example:second").exists()


def test_an_adopted_workspace_stays():
    adopted = trial("did:example:adopted", -timedelta(days=1))
    adopted.workspace.memberships.create(
        user=get_user_model().objects.create_user("adopta@example.com"), role="owner"
    )
    provision.purge_trials()
    adopted.refresh_from_db()
    assert adopted.workspace is not None


def test_resources_are_forgotten_and_their_tokens_go_on(live_server_process):
    server = live_server_process()
    assert ask(server, LEASE)["lease"]["fencingToken"] == 1
    ask(server, RELEASE)
    server.terminate()
    assert server.manage("purge") == {
        "resources": 0,
        "trials": 0,
        "nonces": 0,
        "invitations": 0,
        "accounts": 0,
        "audit": 0,
    }
    assert server.manage("purge", "--unused-days", "0")["resources"] == 1
    server.start()
    assert ask(server, LEASE)["lease"]["fencingToken"] == 2


def test_beside_an_embedded_server_its_tables_are_not_changed(live_server_process):
    server = live_server_process()
    found = server.manage("purge", "--unused-days", "0")
    assert (found["resources"] is None) == (server.env["DATABASE_URL"] == "")


ROWS = """
from datetime import timedelta
from django.contrib.sessions.models import Session
from django.utils import timezone
from intramedial.workspaces import provision
from intramedial.workspaces.models import Nonce, Trial
now = timezone.now()
for name, end in (("old", now - timedelta(days=1)), ("new", now + timedelta(days=1))):
    trial = Trial(did=f"did:example:{name}", calls_limit=35, expires_at=end)
    trial.workspace = provision.create_workspace(name)
    trial.save()
    Nonce.objects.create(key_and_nonce=name, expires_at=end)
    Session.objects.create(session_key=name, session_data="", expire_date=end)
"""
LEFT = """
import json
from django.contrib.sessions.models import Session
from intramedial.workspaces.models import Nonce, Trial
print(json.dumps([
    sorted(Trial.objects.exclude(workspace=None).values_list("did", flat=True)),
    sorted(Nonce.objects.values_list("key_and_nonce", flat=True)),
    sorted(Session.objects.values_list("session_key", flat=True)),
]))
"""


def test_beside_a_server_all_but_the_authoritys_data_are_deleted(live_server_process):
    server = live_server_process()
    ask(server, LEASE)
    manage("shell", "--no-imports", "-c", ROWS, env=server.env)
    found = server.manage("purge", "--unused-days", "0")
    assert {name: found[name] for name in ("trials", "nonces")} == {"trials": 1, "nonces": 1}
    left = json.loads(manage("shell", "--no-imports", "-c", LEFT, env=server.env))
    assert left == [["did:example:new"], ["new"], ["new"]]
    assert ask(server, LEASE)["lease"]["renewed"] is True


def test_expired_nonces_are_deleted():
    for name, ends_in in (("old", -1), ("new", 1)):
        Nonce.objects.create(key_and_nonce=name, expires_at=timezone.now() + timedelta(minutes=ends_in))
    out = io.StringIO()
    call_command("purge", "--json", stdout=out, stderr=io.StringIO())
    assert json.loads(out.getvalue())["nonces"] >= 1
    assert [row.key_and_nonce for row in Nonce.objects.filter(key_and_nonce__in=("old", "new"))] == ["new"]
