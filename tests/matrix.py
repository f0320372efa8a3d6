"""The status that each kind of caller gets at every address: the table that `test_matrix.py` checks.

Callers are, in this order: a person without a session, a viewer, a member and an owner of the workspace,
the owner of another one, and an administrator of the service without a workspace. The first one's 302
leads to the log-in.
"""

from dataclasses import dataclass, field

CALLERS = ("anonymous", "viewer", "member", "owner", "other", "staff")

Statuses = tuple[int, int, int, int, int, int]
EVERYONE: Statuses = (200,) * 6
NO_ONE: Statuses = (404,) * 6
NEVER: Statuses = (405,) * 6
# Needs an account and nothing else.
PERSON: Statuses = (302, 200, 200, 200, 200, 200)
REFUSED: Statuses = (302, 422, 422, 422, 422, 422)
# For people without a session; others are redirected to their workspaces.
GUEST: Statuses = (200, 302, 302, 302, 302, 302)
REDIRECTED: Statuses = (302,) * 6


def inside(viewer: int, member: int, owner: int) -> Statuses:
    """Pages of a workspace: for people who are not members it does not exist."""
    return (302, viewer, member, owner, 404, 404)


VIEWERS, MEMBERS, OWNERS = inside(200, 200, 200), inside(403, 200, 200), inside(403, 403, 200)


@dataclass(frozen=True)
class Row:
    """The statuses of a page for each caller: for GET, and for a form with only `sends` in it."""

    get: Statuses
    post: Statuses = NEVER
    sends: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)


PAGES = {
    # For everyone.
    **dict.fromkeys(("robots", "sitemap", "llms"), Row(EVERYONE)),
    "favicon": Row(REDIRECTED),
    **dict.fromkeys(("home", "module_text", "verify", "errors", "error"), Row(EVERYONE)),
    **dict.fromkeys(("docs", "mcp", "live"), Row(EVERYONE)),
    **dict.fromkeys(("part_texts", "scenario_program"), Row(EVERYONE)),
    **dict.fromkeys(("legal_notice", "legal_privacy", "legal_cookies", "legal_retention"), Row(EVERYONE)),
    "gallery": Row(NO_ONE),  # only served in debug mode
    # Accounts.
    "access_request": Row(EVERYONE, EVERYONE),
    "access_request_sent": Row(EVERYONE),
    "account_signup": Row(GUEST, GUEST),
    "account_email_verification_sent": Row(EVERYONE),
    "account_confirm_email": Row(EVERYONE, NO_ONE),
    "account_login": Row(GUEST, GUEST),
    "mfa_authenticate": Row(REDIRECTED, REDIRECTED),
    "account_inactive": Row(EVERYONE),
    "account": Row(PERSON, REDIRECTED),
    "account_email": Row(PERSON, PERSON),
    "account_change_password": Row(PERSON, PERSON),
    "account_reset_password": Row(EVERYONE, (403,) * 6),  # no mail is sent in the tests
    "account_reset_password_done": Row(EVERYONE),
    "account_reset_link": Row(REDIRECTED),
    "account_reset_password_from_key": Row(EVERYONE, EVERYONE),
    "account_reset_password_from_key_done": Row(EVERYONE),
    "account_reauthenticate": Row(PERSON, PERSON),
    "mfa_reauthenticate": Row(REDIRECTED, REDIRECTED),
    "account_sessions": Row(PERSON, REDIRECTED),
    "account_delete": Row(PERSON, PERSON),
    "mfa_index": Row(REDIRECTED, REDIRECTED),
    "mfa_activate_totp": Row(PERSON, PERSON),
    "mfa_deactivate_totp": Row((302, 404, 404, 404, 404, 404), (302, 404, 404, 404, 404, 404)),
    "mfa_view_recovery_codes": Row((302, 404, 404, 404, 404, 404), (302, 405, 405, 405, 405, 405)),
    "mfa_generate_recovery_codes": Row(PERSON, PERSON),
    # Workspaces.
    "workspaces": Row(PERSON, REFUSED),
    "adopt": Row(PERSON, REFUSED),
    "accept_invitation": Row(EVERYONE, (200, 422, 422, 422, 422, 422)),
    "workspace": Row(VIEWERS),
    "keys": Row(VIEWERS, inside(403, 422, 422)),
    "key_rotate": Row(MEMBERS, inside(403, 422, 422)),
    "key_revoke": Row(MEMBERS, inside(403, 302, 302)),
    "signers": Row(VIEWERS, inside(403, 422, 422)),
    "signer_revoke": Row(MEMBERS, inside(403, 302, 302)),
    "members": Row(VIEWERS, inside(403, 403, 422)),
    "member": Row(OWNERS, inside(403, 403, 422)),
    "invitation": Row(NEVER, inside(403, 403, 302)),
    "workspace_settings": Row(VIEWERS, inside(403, 403, 422), sends={"do": "rename"}),
    "workspace_hand_over": Row(OWNERS, inside(403, 403, 422)),
    "workspace_delete": Row(OWNERS, inside(403, 403, 422)),
    "audit": Row(OWNERS),
    "audit_download": Row(OWNERS),
    # Leases and receipts.
    "board": Row(VIEWERS),
    "board_resource": Row(
        VIEWERS,
        inside(403, 403, 422),
        query={"nombre": "lock:a"},
        sends={"agent": "did:example:ana"},
    ),
    "board_search": Row(VIEWERS),
    "board_conduct": Row(VIEWERS),
    "agents": Row(VIEWERS),
    "agent": Row(VIEWERS, query={"did": "did:example:ana"}),
    "receipts": Row(VIEWERS),
    "receipt": Row(VIEWERS),
    "receipt_json": Row(VIEWERS),
    "usage": Row(VIEWERS),
    # Last: it ends the sessions.
    "account_logout": Row(PERSON, REDIRECTED),
}

# Operations of the API by caller: without credentials, with only a session, with a key of the workspace, with
# a read-only key, with a key bound to an agent, with the key of a trial. Bodies and queries are empty.
API_CALLERS = ("anonymous", "session", "key", "read_only", "bound", "trial")
COORDINATION = "/api/v1/acp/coordination"
CHANGES = (401, 401, 422, 403, 422, 422)
OPERATIONS = {
    ("POST", f"{COORDINATION}/lease"): CHANGES,
    ("POST", f"{COORDINATION}/release"): CHANGES,
    ("DELETE", f"{COORDINATION}/wait"): CHANGES,
    ("GET", f"{COORDINATION}/wait"): (401, 401, 200, 200, 200, 200),
    ("POST", f"{COORDINATION}/scenarios/stampede"): CHANGES,
    ("GET", "/api/v1/acp/agents"): (401, 401, 422, 422, 422, 422),
    ("POST", "/api/v1/trial/keys"): (401, 401, 401, 401, 401, 422),
    ("GET", "/api/v1/trial"): (401, 401, 403, 403, 403, 200),
    ("POST", "/api/v1/trial/agents"): CHANGES,
    ("POST", "/api/v1/trial/ticket"): (401, 401, 403, 403, 403, 201),
    ("GET", "/health/live"): (200,) * 6,
    ("GET", "/health/ready"): (200,) * 6,
    ("GET", "/.well-known/jwks.json"): (200,) * 6,
    ("GET", "/.well-known/did.json"): (200,) * 6,
    ("GET", "/openapi.json"): (200,) * 6,
}

# Live sockets: the status of the problem that closes them, 0 for those that stay open.
SOCKETS = {
    "ws/espacios/<str:workspace>/": (401, 0, 0, 0, 404, 404),
    "ws/prueba/": (401,) * 6,
}
