"""Members of workspaces of a served product, whose databases are its own: made by a process beside it.

python -m tests.browser.membership {"role": …} | {"remove": user} | {"log_out": session}
"""

import json
import os
import subprocess
import sys
from typing import Any

from tests.server import ROOT, ServerProcess


def asked(server: ServerProcess, **what: Any) -> dict[str, Any]:
    """Ask for something beside `server`: `role` makes a workspace with a key and a member."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.membership", json.dumps(what), server.url],
        cwd=ROOT,
        env={**os.environ, **server.env, "DJANGO_SETTINGS_MODULE": "intramedial.settings"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main(what: dict[str, Any], url: str) -> dict[str, Any]:
    """Do it; what came of it."""
    import django

    django.setup()
    from django.contrib.sessions.models import Session

    from intramedial.workspaces import provision
    from intramedial.workspaces.models import Membership
    from tests import people

    if "remove" in what:
        return {"removed": Membership.objects.filter(user=what["remove"]).delete()[0]}
    if "log_out" in what:
        return {"ended": Session.objects.filter(session_key=what["log_out"]).delete()[0]}
    workspace = provision.create_workspace("Prueba")
    user = people.member(workspace, what["role"])
    return {
        "workspace": workspace.public_id,
        "apiKey": provision.create_api_key(workspace).secret,
        "user": user.pk,
        "cookie": people.cookie_of(user, url),
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]), sys.argv[2])))
