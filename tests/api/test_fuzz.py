"""Generated input: no input causes a server error, and each answer is one that is described."""

import json

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intramedial.api import routes_by_path
from tests.api import served
from tests.api.client import COORDINATION, did, exchange

KEPT = "lock:kept"
NAMES = ["resource", "actorDid", "leaseId", "did", "proof", "ttlMs", "__proto__", ""]

texts = st.one_of(
    st.text(max_size=300),
    st.sampled_from([KEPT, "lock:a", "doc:a#read", "a" * 256, did("a"), "did:key:z6Mk", "#", "\0", "\u202e"]),
)
numbers = st.one_of(st.integers(), st.integers(2**62, 2**70), st.floats())
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(NAMES), values, max_size=5).map(
    lambda document: json.dumps(document).encode("utf-8", "surrogatepass")
)


@st.composite
def damaged(draw):
    """A document in which a few bytes are changed, dropped or doubled."""
    body = bytearray(draw(documents))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(body)


bodies = st.one_of(st.just(b""), documents, damaged(), st.binary(max_size=200))
paths = st.one_of(
    st.sampled_from(sorted(routes_by_path())),
    st.sampled_from(sorted(routes_by_path())),
    st.text(max_size=40).map(lambda text: "/api/" + text),
)
methods = st.sampled_from(["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "BREW"])
queries = st.one_of(
    st.just(b""),
    st.binary(max_size=60),
    st.dictionaries(
        st.sampled_from(["resource", "actorDid", "did", "limit", "cursor"]), texts, max_size=3
    ).map(lambda query: str(httpx.QueryParams(query)).encode("utf-8", "replace")),
)
header_values = st.one_of(
    st.sampled_from([b"application/json", b"text/plain", b"wait=0", b"Bearer imk_x", b"10.0.0.1", b"null"]),
    st.binary(max_size=40),
)
HEADER_NAMES = """
content-type content-length authorization prefer origin host x-forwarded-for signature signature-input
content-digest content-encoding intramedial-workspace expect cookie
"""
header_names = st.sampled_from(HEADER_NAMES.split())
headers = st.lists(st.tuples(header_names.map(str.encode), header_values), max_size=3)
requests = st.tuples(methods, paths, queries, headers, bodies, st.booleans())


def answered(method, path, sent):
    """The answer as a client sees it."""
    request = httpx.Request(method, "http://test" + (path if path in routes_by_path() else "/api/other"))
    return httpx.Response(
        sent[0]["status"], headers=sent[0]["headers"], content=sent[1]["body"], request=request
    )


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batch=st.lists(requests, min_size=5, max_size=12))
async def test_any_input_is_answered_as_described(caller, batch):
    for method, path, query, fields, body, with_key in batch:
        if with_key:
            fields = [
                (b"authorization", f"Bearer {caller.key}".encode()),
                (b"content-type", b"application/json"),
                *(field for field in fields if field[0] not in (b"authorization", b"content-type")),
            ]
        message = {"type": "http.request", "body": body, "more_body": False}
        sent, _ = await exchange([message], method=method, path=path, query=query, headers=fields)
        answer = answered(method, path, sent)
        assert answer.status_code < 500, (method, path, query, fields, body, answer.text)
        served.check(answer)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(["lease", "release"]),
            st.sampled_from([documents, damaged()]).flatmap(lambda s: s),
        ),
        min_size=3,
        max_size=10,
    )
)
async def test_no_body_harms_a_lease_of_another_agent(caller, asked):
    kept = (await caller.lease(KEPT, did("keeper"))).json()["lease"]
    for operation, body in asked:
        answer = await caller.call("POST", f"{COORDINATION}/{operation}", body)
        assert answer.status_code in (200, 400, 409, 422)
    held = (await caller.lease(KEPT, did("keeper"))).json()["lease"]
    assert (held["leaseId"], held["fencingToken"]) == (kept["leaseId"], kept["fencingToken"])
