"""A refusal and its receipt name the refused resource, as a grant names the granted one."""

import base64
import json

import pytest

from coordination.authority import process as authority
from coordination.authority.process import Ask
from coordination.core.messages import Revoke
from coordination.models import OutboxRow
from intramedial.receipts.receipt import resource_of
from tests.api.client import did

A, B, C = did("a"), did("b"), did("c")
BODIES = ("lease", "released", "expired")


def claims_of(answer):
    """The claims of an answer's receipt."""
    payload = answer.json()["receipt"]["jws"].split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def named(body):
    """The resource that a body names: a refusal itself, any other in what it granted or ended."""
    return (
        body["resource"]
        if not body["ok"]
        else next(body[name]["resource"] for name in BODIES if name in body)
    )


async def every_outcome(caller):
    """One answer of each outcome, with the resource that was asked for."""
    yield "granted", "doc:a", await caller.lease("doc:a#write", A)
    yield "renewed", "doc:a", await caller.lease("doc:a#read", A)
    yield "granted", "lock:b", await caller.lease("lock:b", B)
    yield "lease_held", "doc:a", await caller.lease("doc:a#read", B, prefer="wait=0")
    yield "lease_held", "lock:b", await caller.lease("lock:b", A)
    yield "deadlock", "doc:a", await caller.lease("doc:a#read", B)
    yield "not_held", "lock:never", await caller.release("lock:never", A)
    yield "not_held", "lock:b", await caller.release("lock:b#delete", C)
    yield "stale_lease", "doc:a", await caller.release("doc:a#read", A, "lse_other")
    yield "released", "doc:a", await caller.release("doc:a#read", A)
    yield "released", "lock:b", await caller.release("lock:b", B)
    # The resource is free and on offer to A.
    yield "lease_held", "lock:b", await caller.lease("lock:b", C)


async def test_every_answer_and_its_receipt_name_the_resource(caller):
    outcomes = set()
    async for outcome, resource, answer in every_outcome(caller):
        body, claims = answer.json(), claims_of(answer)
        assert (outcome, named(body)) == (claims["outcome"], resource)
        assert claims["resource"] == resource
        assert named(claims["result"]) == resource
        assert resource_of(claims) == resource
        outcomes.add(outcome)
    expected = {"granted", "renewed", "lease_held", "deadlock", "not_held", "stale_lease", "released"}
    assert outcomes == expected


async def outbox(in_thread, workspace):
    """The claims that wait for the ledger or are in it, by their event."""
    rows = await in_thread(lambda: list(OutboxRow.objects.filter(workspace=workspace.public_id)))
    return [json.loads(bytes(row.claims)) for row in rows]


@pytest.mark.parametrize("ending", ["expired", "released"])
async def test_the_receipt_of_an_expiry_names_its_resource(
    caller, workspace, in_thread, authority_clock, ending, monkeypatch
):
    # The drain would take the claims out of the outbox.
    monkeypatch.setattr("coordination.authority.outbox.Drain._round", lambda self, drained: 0)
    lease = (await caller.lease("doc:a#read", A)).json()["lease"]
    if ending == "expired":
        await authority_clock.advance(30_000)
    else:
        command = Revoke("doc:a", lease["leaseId"])
        await authority.get().ask(Ask(workspace.public_id, command, "operator", ""))
    claims = next(one for one in await outbox(in_thread, workspace) if "auth" not in one)
    assert (claims["outcome"], claims["resource"]) == (ending, "doc:a")
    assert named(claims["result"]) == "doc:a"


@pytest.mark.parametrize(
    ("claims", "resource"),
    [
        ({"resource": "lock:new", "result": {"lease": {"resource": "lock:new"}}}, "lock:new"),
        # Receipts from before the claim existed.
        ({"result": {"lease": {"resource": "lock:old"}}}, "lock:old"),
        ({"result": {"cycle": [{"agent": A, "waitsFor": "lock:old"}]}}, "lock:old"),
        ({"result": {"reason": "lease_held", "holder": A}}, ""),
        ({"resource": 7, "result": {"lease": {"resource": "lock:odd"}}}, "lock:odd"),
    ],
)
def test_older_receipts_can_still_be_read(claims, resource):
    assert resource_of(claims) == resource


async def test_withdraw_and_wait_answer_as_before(caller):
    await caller.lease("lock:a", A)
    await caller.lease("lock:a", B)
    assert (await caller.withdraw("lock:a", B)).json() == {"ok": True, "withdrawn": True}
    assert (await caller.withdraw("lock:a", B)).json() == {"ok": True, "withdrawn": False}
    picture = (await caller.wait("lock:a")).json()
    assert set(picture) == {"ok", "serverTime", "holders", "queue", "deadlocks"}
