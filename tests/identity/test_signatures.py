"""Signed requests: RFC 9421 and RFC 9530 with this service's requirements."""

import base64
import dataclasses
import hashlib
from types import SimpleNamespace

import pytest
from http_message_signatures import ContentDigest, HTTPMessageVerifier, MappingKeyResolver
from hypothesis import given, settings
from hypothesis import strategies as st

from intramedial.http import origins
from intramedial.identity import did, signatures
from tests.signing import BASE_URL, Agent

NOW = 1_700_000_000
BODY = b'{"resource": "lock:deploy/production"}'
LEASE = "/api/v1/acp/coordination/lease"

AGENT = Agent("signatures")


def signed(method="POST", path=LEASE, body=BODY, **options):
    return AGENT.request(method, path, body, **{"created": NOW, **options})


def verify(parts, now=NOW, base_url=BASE_URL):
    return signatures.verify(parts, base_url=base_url, now=now)


def change(parts, **headers):
    """The same request with some header fields replaced, or removed where the value is None."""
    merged = {**parts.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return dataclasses.replace(
        parts, headers={name: value for name, value in merged.items() if value is not None}
    )


def refused(parts, words, **options):
    with pytest.raises(signatures.BadSignature, match=words):
        verify(parts, **options)


def test_a_signed_request_names_its_agent():
    assert verify(signed(nonce="n-1")) == signatures.SignedBy(AGENT.did, AGENT.public_key, "n-1", NOW + 90)


def test_without_a_body_method_and_target_are_enough():
    assert verify(signed("GET", f"{LEASE[:-5]}wait?resource=lock%3Aa%2Fb", b"")).did == AGENT.did


def test_rfc_9421_appendix_b_2_6():
    """The example is for another service (other components, no tag), so only the algorithm is used here."""
    public_key = base64.urlsafe_b64decode("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs=")
    message = SimpleNamespace(
        method="POST",
        url="http://example.com/foo?param=Value&Pet=dog",
        headers={
            "date": "Tue, 20 Apr 2021 02:07:55 GMT",
            "content-type": "application/json",
            "content-length": "18",
            "signature-input": 'sig-b26=("date" "@method" "@path" "@authority" "content-type"'
            ' "content-length");created=1618884473;keyid="test-key-ed25519"',
            "signature": "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1"
            "u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
        },
    )
    verifier = HTTPMessageVerifier(
        signature_algorithm=signatures.Ed25519,
        key_resolver=MappingKeyResolver(public_keys={"test-key-ed25519": public_key}, private_keys={}),
    )
    [result] = verifier.verify(message, max_age=None)
    assert result.label == "sig-b26"
    message.headers["content-length"] = "19"
    with pytest.raises(signatures.InvalidSignature):
        verifier.verify(message, max_age=None)


# --- keys that any program can sign for

IDENTITY = bytes([1]) + bytes(31)


def forged_under(public_key: bytes):
    """A request "signed" with R = identity, S = 0, which satisfies [S]B = R + [k]A for the identity key A."""
    claimed = "did:key:z" + did.base58_encode(b"\xed\x01" + public_key)
    parts = signed(key_id=claimed)
    return change(parts, signature=f"sig=:{base64.b64encode(IDENTITY + bytes(32)).decode()}:")


def test_a_request_forged_under_the_identity_key_is_refused():
    refused(forged_under(IDENTITY), "small-order")


@pytest.mark.parametrize("y", [2**255 - 18, 2**255 - 20, 0])
def test_other_small_order_keys_are_refused(y):
    refused(forged_under(y.to_bytes(32, "little")), "keyid")


# --- what the signature binds


def test_a_changed_part_is_refused():
    parts = signed(path=LEASE + "?a=1")
    refused(dataclasses.replace(parts, method="PUT"), "does not match")
    refused(dataclasses.replace(parts, raw_path=LEASE.encode() + b"/"), "does not match")
    refused(dataclasses.replace(parts, query=b"a=2"), "does not match")
    refused(dataclasses.replace(parts, query=b""), "does not match")
    refused(dataclasses.replace(parts, body=BODY + b" "), "Content-Digest does not match")
    refused(change(parts, content_type="text/plain"), "does not match")
    refused(parts, "does not match", base_url="https://api.intramedial.com")


def test_the_digest_is_checked_over_the_body_and_must_be_signed():
    parts = signed()
    other = base64.b64encode(hashlib.sha256(b"{}").digest()).decode()
    swapped = dataclasses.replace(change(parts, content_digest=f"sha-256=:{other}:"), body=b"{}")
    refused(swapped, "does not match")
    refused(change(parts, content_digest=None), "content-digest")
    unsigned = {**signed(body=b"").headers, "content-type": "application/json"}
    refused(dataclasses.replace(parts, headers=unsigned), "Required component")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("md5=:1B2M2Y8AsgTpgAmY7PhCfg==:", "Unsupported content digest"),
        ("sha-256=:AAAA:", "Invalid sha-256 digest length"),
        ("sha-256=abc", "byte sequences"),
        ("", "at least one digest"),
        ("sha-256", "byte sequences"),
        ("=", "Malformed"),
        ("sha-256=:" + "A" * 600 + ":", "longer than"),
    ],
)
def test_a_bad_content_digest_is_refused(value, words, monkeypatch):
    parts = signed()
    monkeypatch.setattr(ContentDigest, "prepare", lambda *args, **options: None)  # let the signer sign it
    components = ("@method", "@target-uri", "content-type", "content-digest")
    fields = {"content-type": "application/json", "content-digest": value}
    headers = AGENT.sign("POST", BASE_URL + LEASE, headers=fields, components=components, created=NOW)
    refused(dataclasses.replace(parts, headers=headers), words)


@pytest.mark.parametrize(
    "components",
    [
        (),
        ("@method",),
        ("@target-uri",),
        ("@path", "@method"),
        ("@method", "@target-uri"),  # but not the content type
        ("@method", "@target-uri", '"content-type";sf'),
    ],
)
def test_missing_components_are_refused_by_name(components):
    refused(signed(components=components), "Required component|Unknown Structured Field")


def test_a_workspace_header_must_be_covered():
    parts = signed(headers={"intramedial-workspace": "ws_1"})
    assert verify(parts).did == AGENT.did
    refused(change(parts, intramedial_workspace="ws_2"), "does not match")
    refused(change(signed(), intramedial_workspace="ws_1"), "Required component")


def test_more_components_may_be_covered():
    components = ("@method", "@target-uri", "@authority", "content-type", "prefer")
    assert verify(signed(headers={"prefer": "wait=0"}, components=components)).did == AGENT.did


def test_the_raw_target_is_signed():
    """Decoding on the way would turn %2F into a slash and make both targets equal."""
    one, other = signed("GET", "/a%2Fb?x=%20y+z", b""), signed("GET", "/a/b?x=%20y+z", b"")
    assert verify(one).did == verify(other).did == AGENT.did
    refused(dataclasses.replace(one, raw_path=b"/a/b"), "does not match")


def test_a_target_outside_rfc_3986_is_refused():
    for path in (b"/a b", "/á".encode(), b"/a%zz", b"/\xff"):
        refused(dataclasses.replace(signed("GET", "/a", b""), raw_path=path), "Invalid URL|ascii")


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("https://API.intramedial.com:443", "https://api.intramedial.com"),
        ("http://localhost:80", "http://localhost"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://a:8443/", "https://a:8443"),
        ("https://a:80", "https://a:80"),
    ],
)
def test_the_origin_is_written_as_browsers_write_it(base_url, origin):
    assert origins.origin(base_url) == origin


# --- time, nonce, key, algorithm, tag


@pytest.mark.parametrize("now", [NOW - 30, NOW, NOW + 60, NOW + 90])
def test_clocks_may_differ_by_thirty_seconds(now):
    assert verify(signed(), now=now).kept_until == NOW + 90


def test_a_wrong_clock_is_refused_with_words():
    refused(signed(), r"31 s ahead of the server's time, 2023-11-14T22:12:49Z: set your clock", now=NOW - 31)
    refused(signed(), r"expired 31 s before the server's time, 2023-11-14T22:14:51Z", now=NOW + 91)


@pytest.mark.parametrize("lifetime_s", [-1, 0, 61, 315_360_000])
def test_signatures_live_for_a_minute_at_most(lifetime_s):
    refused(signed(lifetime_s=lifetime_s), "1 to 60 seconds")


def without(parts, pattern, replacement=""):
    return change(parts, signature_input=parts.headers["signature-input"].replace(pattern, replacement))


@pytest.mark.parametrize("name", ["created", "expires", "nonce", "keyid", "alg"])
def test_every_parameter_is_required(name):
    parts = signed(nonce="n")
    parameter = next(
        part for part in parts.headers["signature-input"].split(";") if part.startswith(name + "=")
    )
    refused(without(parts, f";{parameter}"), f'parameter "{name}" is missing')


def test_parameters_of_the_wrong_type_are_refused():
    parts = signed(nonce="n")
    refused(without(parts, f"created={NOW}", f'created="{NOW}"'), "Integer")
    refused(without(parts, f"created={NOW}", f"created={NOW}.5"), "Integer")
    refused(without(parts, f"created={NOW}", "created=@1700000000"), "Integer")
    refused(without(parts, 'nonce="n"', "nonce=n"), "does not match|String")
    refused(without(parts, 'nonce="n"', "nonce=:AAAA:"), "String")
    refused(without(parts, 'nonce="n"', 'nonce="n";more=1'), "more")
    refused(without(parts, 'alg="ed25519"', 'alg="hmac-sha256"'), "algorithm")


def test_nonces_have_a_bounded_length():
    assert verify(signed(nonce="n" * 128)).nonce == "n" * 128
    refused(signed(nonce=""), "nonce")
    refused(signed(nonce="n" * 129), "nonce")


@pytest.mark.parametrize(
    "key_id", ["test-key", "did:web:example.com", Agent("other").did + "#key", "did:key:zDnaerDaTF"]
)
def test_the_key_id_is_an_ed25519_did_key(key_id):
    refused(signed(key_id=key_id), "keyid must be an Ed25519 key")


def test_another_agents_key_does_not_verify():
    refused(signed(key_id=Agent("other").did), "does not match")


def test_the_tag_must_be_this_services():
    refused(signed(tag=None), "tag")
    refused(signed(tag="web-bot-auth"), "tag")


def test_exactly_one_signature_has_the_tag():
    first, second = signed(label="a"), signed(label="b", tag="other-service")
    both = change(
        first,
        signature=f"{first.headers['signature']}, {second.headers['signature']}",
        signature_input=f"{first.headers['signature-input']}, {second.headers['signature-input']}",
    )
    assert verify(both).did == AGENT.did  # another signature, such as a proxy's, does no harm
    third = signed(label="c")
    twice = change(
        first,
        signature=f"{first.headers['signature']}, {third.headers['signature']}",
        signature_input=f"{first.headers['signature-input']}, {third.headers['signature-input']}",
    )
    refused(twice, "exactly one")
    repeated = change(first, signature=f"{first.headers['signature']}, {first.headers['signature']}")
    refused(repeated, "Malformed")


@pytest.mark.parametrize("field", ["signature", "signature-input"])
@pytest.mark.parametrize(
    "value", [None, "", "a", "a=1", "a=()", "a=:AA:", "\x00", "ñ", "a=:****:", "a=((", ",", "a=1," * 9]
)
def test_malformed_fields_are_refused(field, value):
    refused(change(signed(), **{field: value}), ".")


@pytest.mark.parametrize("field", ["signature", "signature-input", "intramedial-workspace"])
def test_long_fields_are_refused_before_they_are_parsed(field):
    refused(change(signed(), **{field: "a" * 5000}), "longer than")


@pytest.mark.parametrize("length", [0, 1, 63, 65, 96])
def test_signatures_of_another_length_are_refused(length):
    refused(change(signed(), signature=f"sig=:{base64.b64encode(bytes(length)).decode()}:"), "does not match")


FUZZ = st.one_of(st.text(max_size=60), st.text(alphabet='sig="()@;:,.abc 019-?*/\\\t%', max_size=120))


@settings(max_examples=300)
@given(
    field=st.sampled_from(["signature", "signature-input", "content-digest"]),
    noise=FUZZ,
    at=st.integers(0, 400),
)
def test_noise_in_a_field_never_verifies_and_never_crashes(field, noise, at):
    parts = signed(nonce="n")
    value = parts.headers[field]
    try:
        # Noise that still verifies is another spelling of the same fields: white space, another label.
        assert verify(change(parts, **{field: value[:at] + noise + value[at:]})).nonce == "n"
    except signatures.BadSignature as refusal:
        assert str(refusal)


@settings(max_examples=200)
@given(components=FUZZ)
def test_noise_in_the_covered_components_never_crashes(components):
    parts = signed(nonce="n")
    noisy = parts.headers["signature-input"].replace('"@method"', components)
    try:
        verify(change(parts, signature_input=noisy))
    except signatures.BadSignature as refusal:
        assert str(refusal)
