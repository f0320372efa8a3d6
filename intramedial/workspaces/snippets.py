"""Samples that use an API key: for a terminal, for Python, for an MCP client."""

import json
import shlex

from django.conf import settings

from intramedial.web import ready_to_paste

SAMPLE_AGENT = "did:web:agents.example:ana"
SAMPLE_RESOURCE = "lock:deploy/production"
API = "/api/v1/acp/coordination"

PYTHON = """\
import json, os, urllib.request

key = os.environ["INTRAMEDIAL_KEY"]
request = urllib.request.Request(
    {address},{body}
    headers={{"Authorization": f"Bearer {{key}}", "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request, timeout=30) as answer:
    print(json.load(answer))
"""


def export(secret: str) -> str:
    """The shell command that sets the variable with the key."""
    return f"export INTRAMEDIAL_KEY={shlex.quote(secret)}"


def curl(actor: str | None = None, *, read_only: bool = False) -> str:
    """One request with curl, which takes the key from the variable."""
    if read_only:
        return ready_to_paste.curl(settings.BASE_URL + API + "/wait")
    return ready_to_paste.curl(settings.BASE_URL + API + "/lease", body=_body(actor))


def python(actor: str | None = None, *, read_only: bool = False) -> str:
    """One request with Python's standard library."""
    address = settings.BASE_URL + API + ("/wait" if read_only else "/lease")
    body = "" if read_only else f"\n    data=json.dumps({json.loads(_body(actor))!r}).encode(),"
    return PYTHON.format(address=json.dumps(address), body=body)


def proof(workspace: str) -> str:
    """The shell commands that make an agent's key and a proof signed with it."""
    file = f"{settings.BASE_URL}{settings.STATIC_URL}cli/proof.py"
    run = f"python3 proof.py agent.pem --workspace {workspace} --url {settings.BASE_URL}"
    return f"pip install cryptography\ncurl -sSO {file}\n{run}"


def mcp() -> str:
    """The configuration of an MCP client, which takes the key from the environment."""
    server = {"type": "http", **ready_to_paste.mcp_server("${INTRAMEDIAL_KEY}")}
    return json.dumps({"mcpServers": {"intramedial": server}}, indent=2)


def _body(actor: str | None) -> str:
    members = {"resource": SAMPLE_RESOURCE, "actorDid": actor or SAMPLE_AGENT}
    return json.dumps(members, separators=(",", ":"))
