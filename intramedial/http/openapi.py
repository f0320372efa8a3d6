"""The API's description (OpenAPI 3.1), made from the registrations that are served.

Ninja describes paths, parameters, bodies and the shapes of answers. This module adds what ninja cannot
describe, by rules and not by hand for each operation: security, the media type of problems, the header fields
of answers.
"""

from django.conf import settings
from ninja import NinjaAPI

from intramedial.http import routing
from intramedial.http.formats import Json
from intramedial.http.problems import REASONS

PROBLEM = "application/problem+json"
LINES = "application/jsonl"

SECURITY_SCHEMES: Json = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "imk_…",
        "description": "`Authorization: Bearer imk_…`. A workspace's key acts for any agent of the "
        "workspace; a key bound to an agent can only name that agent; a read-only key can only read.",
    },
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Signature",
        "description": 'HTTP Message Signatures (RFC 9421) with Ed25519. `Signature-Input` covers `"@method" '
        '"@target-uri"`, with a body also `"content-type" "content-digest"` (RFC 9530), and has the '
        "parameters `created`, `expires` (at most 60 s later), `nonce` (new each time), `keyid` (the agent's "
        '`did:key`), `alg="ed25519"` and `tag="intramedial"`. The target URI begins with the base URL of '
        "this service. A DID registered in several workspaces names one in the covered header "
        "`Intramedial-Workspace`.",
    },
}

WORKSPACE: Json = {
    "in": "header",
    "name": "Intramedial-Workspace",
    "required": False,
    "description": "With a signature by a DID that several workspaces know: which one. It must be covered.",
    "schema": {"type": "string"},
}

HEADERS: Json = {
    "X-Request-Id": {
        "description": "The id of this request, in the service's log too.",
        "schema": {"type": "string"},
    },
    "Server-Timing": {
        "description": "How long the service took, in ms (W3C Server Timing).",
        "schema": {"type": "string"},
        "example": "app;dur=1.27",
    },
    "Retry-After": {"description": "Seconds to wait before asking again.", "schema": {"type": "string"}},
    "RateLimit-Policy": {
        "description": "Of a trial: its calls `q` in its whole time of `w` seconds (IETF draft).",
        "schema": {"type": "string"},
        "example": '"trial";q=35;w=604800',
    },
    "RateLimit": {
        "description": "Of a trial: `r` calls are left, it ends in `t` seconds (IETF draft).",
        "schema": {"type": "string"},
        "example": '"trial";r=31;t=518400',
    },
    "WWW-Authenticate": {"description": "How to authenticate.", "schema": {"type": "string"}},
}


def describe(api: NinjaAPI) -> Json:
    """The whole description, ready to be served."""
    document: Json = api.get_openapi_schema(path_prefix="")
    document["servers"] = [{"url": settings.BASE_URL}]
    schemas = document["components"]["schemas"]
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    document["components"]["headers"] = HEADERS
    for schema in schemas.values():
        for prop in schema.get("properties", {}).values():
            _plain(prop)
    for path, operation in routing.operations(api):
        for method in operation.methods:
            described = document["paths"][path][method.lower()]
            credentials = routing.credentials_of(operation)
            _describe(described, credentials.schemes if credentials else ())
    return document


def _describe(described: Json, schemes: tuple[str, ...]) -> None:
    described["security"] = [{scheme: []} for scheme in schemes]
    if len(schemes) > 1:
        described["parameters"].append(WORKSPACE)
    for parameter in described["parameters"]:
        _plain(parameter["schema"])
        # A list of examples belongs to the schema, which has it too. In a parameter it would have to be a
        # map.
        parameter.pop("examples", None)
    described["responses"] = {str(status): response for status, response in described["responses"].items()}
    if described.pop("x-lines", False):  # the schema describes one line
        content = described["responses"]["200"]["content"]
        content[LINES] = content.pop("application/json")
    for status, response in ((int(status), response) for status, response in described["responses"].items()):
        content = response.get("content", {})
        for media in content.values():
            _plain(media["schema"])
        if status >= 400 and _is_problem(content):
            response["content"] = {PROBLEM: content.pop("application/json")}
            response["description"] = _reasons(status)
        names = ["X-Request-Id", "Server-Timing"]
        if schemes:
            names += ["RateLimit-Policy", "RateLimit"] if status != 401 else ["WWW-Authenticate"]
        if status in (409, 429, 503):
            names.append("Retry-After")
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _is_problem(content: Json) -> bool:
    schema = content.get("application/json", {}).get("schema", {})
    return schema.get("$ref", "").rsplit("/", 1)[-1] in ("Problem", "NotReady")


def _reasons(status: int) -> str:
    return "; ".join(f"`{reason}`: {title}" for reason, (code, title) in REASONS.items() if code == status)


def _plain(schema: Json) -> None:
    """Drop a title that only repeats the member's name, and the default null of a member that may be left
    out."""
    schema.pop("title", None)
    if schema.get("default", ...) is None:
        del schema["default"]
