"""The API of trials: beginning one, adding an agent, reading its state, a ticket for a live socket."""

import time
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from ninja import Router
from pydantic import Field

from intramedial.http import origins, shapes
from intramedial.http.addresses import address_hash, client_address, site_hash
from intramedial.http.calls import Call, Credentials, Headers, Principal, Reply, RequestParts, TrialState
from intramedial.http.formats import rfc3339
from intramedial.http.problems import Problem
from intramedial.http.routing import invalid
from intramedial.identity.did import Did, did_key_public
from intramedial.identity.proofs import TYPE, check_proof
from intramedial.workspaces import tickets, trials
from intramedial.workspaces.authentication import callers
from intramedial.workspaces.authentication.callers import UNCOUNTED

router = Router(tags=["trial"], by_alias=True)


async def _any_key(parts: RequestParts) -> Principal:
    signed = await callers.proven_key(parts)
    return Principal("", "signature", signed.did, read_only=False, semantic_classes={})


NEW_KEY = Credentials(("signature",), _any_key, cross_origin=False)
"""A signature by whatever key: it may be one that the service has never seen. Any page could make one."""


class TrialKey(shapes.Shape):
    """The key that begins a trial."""

    did: Did = Field(description="The `did:key` of the key that signs the request.")


class NewAgent(shapes.Shape):
    """A further agent of the trial."""

    did: Did = Field(description="The `did:key` of the new agent.")
    proof: str = Field(
        description="Compact JWS, signed by the new key (EdDSA), with the header "
        f'`{{"alg": "EdDSA", "typ": "{TYPE}"}}` and the claims `{{"did": the new did:key, "trial": the '
        'did:key of the trial, "aud": the base URL of this service, "iat": seconds since 1970}`. '
        "Good for a minute."
    )


class Trial(shapes.Shape):
    """A trial as it stands."""

    did: Did = Field(description="The key that began it.")
    workspace: shapes.Workspace
    calls_limit: int
    calls_used: int
    expires_at: shapes.Instant


class TrialWithAgents(Trial):
    """A trial as it stands, with its further agents."""

    agents: list[Did] = Field(description="Its further agents, oldest first.")


class Ticket(shapes.Shape):
    """Opens one live socket."""

    ticket: str = Field(description="Send it as the subprotocol `ticket.…` beside `intramedial`.")
    expires_at: shapes.Instant


@router.post(
    "keys",
    auth=NEW_KEY,
    operation_id="beginTrial",
    summary="Begin a trial",
    response={200: Trial, 201: Trial, **shapes.errors(body=True)},
)
async def keys(request: Call, body: TrialKey) -> Reply:
    """Begin a trial for the key that signs: a workspace of its own, a number of calls, some days.

    201 the first time; for the same key again 200 and the same state, with nothing reset. Only for pages of
    this very origin, and for programs (which send no `Origin`). An address may begin some trials an hour.
    """
    origins.require_same_origin(request.parts.headers)
    _require_ed25519(body.did)
    request.caller.require_actor(body.did)
    parts = request.parts
    address = client_address(parts.client, parts.headers.get("x-forwarded-for", ""), settings.TRUSTED_PROXIES)
    begin = partial(trials.begin, body.did, address_hash(address), site_hash(address))
    state, new = await callers.process().trials.run(begin)
    return Reply(201 if new else 200, _json(_shape(state)), _left(state.trial))


@router.get(
    "",
    auth=UNCOUNTED,
    operation_id="seeTrial",
    summary="What is left of a trial",
    response={200: TrialWithAgents, **shapes.errors()},
)
async def see(request: Call) -> Reply:
    """The trial that the signing key began or was added to. Not counted."""
    trial = _trial(request)
    state = await callers.process().trials.run(partial(trials.find, trial.did))
    return Reply(200, _json(_shape(state) | {"agents": state.agents}))


@router.post(
    "agents",
    auth=UNCOUNTED,
    operation_id="addTrialAgent",
    summary="Add an agent to a trial",
    response={200: TrialWithAgents, 201: TrialWithAgents, **shapes.errors(body=True)},
)
async def agents(request: Call, body: NewAgent) -> Reply:
    """Add a second agent to the trial, signed by the key that began it. All its agents share the calls.

    201 for a new one, 200 for one the trial has. A trial has at most 8 agents, its own key included. Not
    counted.
    """
    trial = _trial(request)
    _require_ed25519(body.did)
    if request.caller.actor != trial.did:
        raise Problem("forbidden", f"Only the key that began the trial, {trial.did}, can add agents.")
    try:
        check_proof(body.proof, did=body.did, trial=trial.did, audience=settings.BASE_URL, now=time.time())
    except ValueError as error:
        raise invalid(("/proof", str(error))) from None
    state, new = await callers.process().trials.run(partial(trials.add_agent, trial.did, body.did))
    return Reply(201 if new else 200, _json(_shape(state) | {"agents": state.agents}))


@router.post(
    "ticket",
    auth=UNCOUNTED,
    operation_id="issueTicket",
    summary="Open a live socket",
    response={201: Ticket, **shapes.errors(415)},
)
async def ticket(request: Call) -> Reply:
    """A ticket for `/ws/prueba/`: good once, for 30 seconds. A body is not read. Not counted."""
    _trial(request)
    issue = partial(tickets.issue, request.caller.workspace)
    secret, expires_at = await callers.process().trials.run(issue)
    return Reply(201, _json({"ticket": secret, "expiresAt": rfc3339(expires_at)}))


def _trial(call: Call) -> TrialState:
    if call.caller.trial is None:
        raise Problem("forbidden", "These credentials are not those of a trial.")
    return call.caller.trial


def _require_ed25519(did: str) -> None:
    try:
        did_key_public(did)
    except ValueError as error:
        raise invalid(("/did", str(error))) from None


def _shape(state: trials.State) -> dict[str, Any]:
    return {
        "did": state.trial.did,
        "workspace": state.workspace,
        "callsLimit": state.trial.calls_limit,
        "callsUsed": state.trial.calls_used,
        "expiresAt": rfc3339(state.trial.expires_at),
    }


def _left(trial: TrialState) -> Headers:
    return tuple((name.encode(), value.encode()) for name, value in trial.headers(time.time()).items())


def _json(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value)
