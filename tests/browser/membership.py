"""Members of workspaces on a real server. A process beside the server changes them in the server's databases.

`python -m tests.browser.membership URL` reads lines, {"role": …} | {"remove": user} | {"log_out": session} |
{"log_in": user}, and prints a line of JSON for each.
"""

import json
import os
import subprocess
import sys
from typing import Any

from tests.server import ROOT, ServerProcess


def asked(server: ServerProcess, **what: Any) -> dict[str, Any]:
    """Make a change beside `server`; returns its result. `role` makes a workspace with a key and a member."""
    if server.beside is None:
        server.beside = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.membership", server.url],
            cwd=ROOT,
            env={**os.environ, **server.env, "DJANGO_SETTINGS_MODULE": "intramedial.settings"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    stdin, stdout = server.beside.stdin, server.beside.stdout
    assert stdin is not None and stdout is not None
    print(json.dumps(what), file=stdin, flush=True)
    line = stdout.readline()
    assert line, "the process beside the server has ended; its output is above"
    answer: dict[str, Any] = json.loads(line)
    return answer


def done(what: dict[str, Any], url: str) -> dict[str, Any]:
    """Make one change; returns its result."""
    from django.contrib.auth import get_user_model
    from django.contrib.sessions.models import Session

    from intramedial.workspaces import provision
    from intramedial.workspaces.models import Membership
    from tests import people

    if "remove" in what:
        return {"removed": Membership.objects.filter(user=what["remove"]).delete()[0]}
    if "log_out" in what:
        return {"ended": Session.objects.filter(session_key=what["log_out"]).delete()[0]}
    if "log_in" in what:
        return {"cookie": people.cookie_of(get_user_model().objects.get(pk=what["log_in"]), url)}
    workspace = provision.create_workspace("Prueba")
    user = people.member(workspace, what["role"])
    return {
        "workspace": workspace.public_id,
        "apiKey": provision.create_api_key(workspace).secret,
        "user": user.pk,
        "cookie": people.cookie_of(user, url),
    }


def main(url: str) -> None:
    """Make the changes that stdin asks for, until stdin ends."""
    import django

    django.setup()
    from django.db import connections

    for line in sys.stdin:
        print(json.dumps(done(json.loads(line), url)), flush=True)
        connections.close_all()  # no connection to the server's databases stays open


if __name__ == "__main__":
    main(sys.argv[1])
