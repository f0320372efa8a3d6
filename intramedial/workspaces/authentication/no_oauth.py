"""Answers at the addresses where MCP clients look for OAuth after a 401. There is no OAuth here.

Such a client looks for the metadata of an authorization server (RFC 9728, RFC 8414, OpenID Connect
Discovery). If it finds none, it tries to register itself at default paths (RFC 7591). It shows its user the
last answer, so each of these answers explains what is wrong with the API key.
"""

import re

import orjson
from django.conf import settings

from intramedial.http import logs
from intramedial.http.calls import Reply, RequestParts, join_fields
from intramedial.http.problems import Problem, problem_body
from intramedial.http.serving import PROBLEM, Message, Receive, Send, begin, finish, unforeseen
from intramedial.workspaces.authentication import callers

PATHS = re.compile(
    r"(?:/[\w/-]+)?/\.well-known/"
    r"(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:/.*)?"
    r"|/(?:register|authorize|token)/?",
    re.DOTALL,
)
NONE_HERE = "There is no OAuth here: this service takes API keys, as `Authorization: Bearer imk_…`."
NO_KEY = (
    "The key of your request is missing, unknown, revoked or expired. A client sends none when it looks for "
    "OAuth, so set the header in the configuration of the client."
)
GOOD_KEY = "The API key that was sent is valid: send it with each request to"


def covers(path: str) -> bool:
    """Whether a client that looks for OAuth requests this path."""
    return PATHS.fullmatch(path) is not None


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one HTTP request, whatever its method: 404 with a problem."""
    begun = begin()
    await finish(scope, send, await _answer(scope), begun)


async def _answer(scope: Message) -> Reply:
    detail = f"{NONE_HERE} {await _cause(join_fields(scope['headers']).get('authorization'))}"
    problem = Problem("not_found", detail)
    problem.title = "There is no OAuth here"
    body = problem_body(problem, logs.request_id.get())
    # Clients that tried to register read these two members (RFC 7591, 3.2.2; RFC 6749, 5.2).
    body |= {"error": "invalid_request", "error_description": detail}
    return Reply(problem.status, orjson.dumps(body), (), PROBLEM)


async def _cause(authorization: str | None) -> str:
    """A sentence that says what is wrong with the key that was sent, as the API does."""
    if authorization is None:
        return NO_KEY
    parts = RequestParts("GET", b"/", b"", {"authorization": authorization})
    try:
        await callers.authenticate(parts)
    except Problem as problem:
        return problem.detail
    except Exception as error:
        return unforeseen(error).detail
    return f"{GOOD_KEY} {settings.BASE_URL}/mcp/compat."
