"""What the pages show is what the API answers: each sample is requested over HTTP, at its own time."""

import re
from datetime import datetime
from typing import Any

import jwt
import pytest
from django.conf import settings

from coordination.pages.module import fields, samples
from coordination.pages.module.samples import Sample
from tests.api.client import Caller
from tests.api.conftest import Clock

INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
SITUATIONS = {
    "one lock": samples.one_lock,
    "crashed holder": samples.crashed_holder,
    "broken deadlock": samples.broken_deadlock,
    "shared reads": samples.shared_reads,
}


def relative(value: Any, start: int, tokens_from: int, ids: dict[str, str]) -> Any:
    """An answer with its instants counted from the start, its tokens from 1 and its lease ids in their
    order."""
    if isinstance(value, dict):
        return {
            name: item - tokens_from if name == "fencingToken" else relative(item, start, tokens_from, ids)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [relative(item, start, tokens_from, ids) for item in value]
    if isinstance(value, str) and INSTANT.match(value):
        return round(datetime.fromisoformat(value).timestamp() * 1000) - start
    if isinstance(value, str) and value.startswith("lse_"):
        return ids.setdefault(value, f"lease {len(ids) + 1}")
    return value


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_every_sample_is_answered_as_shown(
    caller: Caller, authority_clock: Clock, situation: str
) -> None:
    steps = SITUATIONS[situation]()
    lease = next((sample.answer["lease"] for sample in steps if "lease" in sample.answer), None)
    before = lease["fencingToken"] - 1 if lease else 0
    start, shown_ids, served_ids = authority_clock.now, {}, {}
    real: dict[str, str] = {}
    for sample in steps:
        await authority_clock.advance(start + sample.at - authority_clock.now)
        members = {name: real.get(value, value) for name, value in sample.members.items()}
        answer = await ask(caller, sample, members)
        assert answer.status_code == sample.status, answer.text
        body = answer.json()
        if sample.method == "POST":
            assert body.pop("receipt").keys() == samples.RECEIPT.keys()
        if "lease" in body:
            real[sample.answer["lease"]["leaseId"]] = body["lease"]["leaseId"]
        assert list(body) == list(sample.answer)
        assert relative(body, start, 0, served_ids) == relative(
            sample.answer, samples.START, before, shown_ids
        )


async def ask(caller: Caller, sample: Sample, members: dict[str, str]) -> Any:
    """Send the sample's request."""
    path = samples.PREFIX + sample.path
    if sample.method == "POST":
        return await caller.call("POST", path, members)
    return await caller.call(sample.method, path, params=members)


async def test_the_stampede_of_the_page_is_answered_as_shown(caller: Caller) -> None:
    shown = samples.stampede()
    answers = [
        (await caller.lease(samples.FILE, f"did:web:agents.example:agent-{n}")).json()
        for n in range(samples.CROWD)
    ]
    held = [answer for answer in answers if not answer["ok"]]
    assert shown.grants == len(answers) - len(held) == 1
    places = [(a["position"], a["stampede"]["waitMs"]) for a in held if a["queued"]]
    assert shown.places == places
    assert len(places) == settings.QUEUE_LIMIT
    others = [answer["stampede"]["waitMs"] for answer in held if not answer["queued"]]
    assert (shown.others, {shown.others_wait_ms}) == (len(others), set(others))


async def test_the_claims_of_the_page_are_those_of_a_receipt(caller: Caller) -> None:
    body = (await caller.lease(samples.LOCK, samples.ANA)).json()
    receipt = body.pop("receipt")
    assert list(jwt.decode(receipt["jws"], options={"verify_signature": False})) == list(
        fields.example_claims(body)
    )
    assert [row.name for row in fields.claims()] == list(fields.example_claims(body))
