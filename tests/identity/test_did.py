"""DID syntax (W3C DID Core, section 3.1) and did:key, against the vectors of the did:key specification."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_sign_seed_keypair

from intramedial.identity import did

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "did_key.json").read_text())
ED25519 = VECTORS["ed25519"][0]["did"]

# The eight points of small order of edwards25519 in canonical encoding (the identity is the first), as listed
# in "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko, 2020), table 1.
SMALL_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
)


def raw_did_key(key: bytes, prefix: bytes = b"\xed\x01") -> str:
    return "did:key:z" + did.base58_encode(prefix + key)


@pytest.mark.parametrize("vector", VECTORS["ed25519"], ids=lambda vector: vector["seed"][-2:])
def test_ed25519_vectors_of_the_did_key_specification(vector):
    public_key, _ = crypto_sign_seed_keypair(bytes.fromhex(vector["seed"]))
    assert did.did_key_from_public(public_key) == vector["did"]
    assert did.did_key_public(vector["did"]) == public_key
    assert did.check_did(vector["did"]) == vector["did"]


@pytest.mark.parametrize("other", VECTORS["others"].values(), ids=VECTORS["others"])
def test_other_key_types_can_be_named_but_do_not_sign(other):
    assert did.check_did(other) == other
    with pytest.raises(ValueError, match="must be an Ed25519 key"):
        did.did_key_public(other)


@pytest.mark.parametrize(
    "text",
    [
        "did:web:agents.example.com",
        "did:web:localhost%3A8443:user",
        "did:example:123456789abcdefghi",
        "did:a:b",
        "did:0:-._",
        "did:x::y",
        "did:example:" + "a" * 244,
    ],
)
def test_dids_of_other_methods_only_need_did_syntax(text):
    assert did.check_did(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "did",
        "did:",
        "did:web:",
        "did::abc",
        "DID:web:a",
        "did:Web:a",
        "did:web:a:",
        "did:web:a#key",
        "did:web:a/path",
        "did:web:a?query",
        "did:web:a%3",
        "did:web:a%zz",
        "did:web:a b",
        "did:web:á",
        "did:web:a\n",
        " did:web:a",
        "did:web:a\u202e",
        "urn:web:a",
        "did:example:" + "a" * 245,
    ],
)
def test_a_text_that_is_no_did_is_refused_with_words(text):
    with pytest.raises(ValueError, match="DID"):
        did.check_did(text)


@pytest.mark.parametrize(
    "text",
    [
        "did:key:" + ED25519.removeprefix("did:key:z"),  # another multibase
        ED25519[:-1],
        ED25519 + "1",
        "did:key:z1" + ED25519.removeprefix("did:key:z"),  # a leading zero byte
        ED25519.replace("z6Mk", "z6Mk0"),  # 0 is not in base58
        ED25519.replace("z6Mk", "z6Mk%20"),
        "did:key:1.1:z" + ED25519.removeprefix("did:key:z"),
        "did:key:z",
        "did:key:z" + "z" * 240,
        raw_did_key(bytes(32), prefix=b"\x12\x20"),  # a hash, not a key
        raw_did_key(b"\x04" + bytes(32), prefix=b"\x80\x24"),  # not a compressed point
        raw_did_key(b"\x02" + bytes(31), prefix=b"\x80\x24"),
        raw_did_key(bytes(31)),
        raw_did_key(bytes(33)),
    ],
)
def test_a_did_key_that_is_no_key_is_refused(text):
    with pytest.raises(ValueError, match="did:key"):
        did.check_did(text)
    with pytest.raises(ValueError, match="did:key"):
        did.did_key_public(text)


@pytest.mark.parametrize("encoded", SMALL_ORDER)
def test_small_order_keys_are_refused_with_words(encoded):
    text = raw_did_key(bytes.fromhex(encoded))
    for check in (did.check_did, did.did_key_public):
        with pytest.raises(ValueError, match=r"small-order|z6Mk"):
            check(text)


def test_non_canonical_and_off_curve_keys_are_refused():
    field = 2**255 - 19
    for y in (field + 1, field + 3, 2):  # the identity and y = 3 written with y ≥ p; no point has y = 2
        with pytest.raises(ValueError, match=r"curve point|z6Mk"):
            did.check_did(raw_did_key(y.to_bytes(32, "little")))


def test_surrounding_white_space_is_not_stripped():
    for text in (f" {ED25519}", f"{ED25519}\n", ED25519[:-1] + " "):
        with pytest.raises(ValueError, match=r"DID|z6Mk"):
            did.check_did(text)
        with pytest.raises(ValueError, match="did:key"):
            did.did_key_public(text)


@given(st.binary(max_size=100))
def test_base58_round_trip(data):
    assert did.base58_decode(did.base58_encode(data)) == data


@given(st.text(alphabet="123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=100))
def test_each_base58_text_has_one_value(text):
    assert did.base58_encode(did.base58_decode(text)) == text


@pytest.mark.parametrize(
    ("text", "data"),
    # draft-msporny-base58-03, section 5.
    [
        ("2NEpo7TZRRrLZSi2U", b"Hello World!"),
        (
            "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
            b"The quick brown fox jumps over the lazy dog.",
        ),
        ("11233QC4", bytes.fromhex("0000287fb4cd")),
    ],
)
def test_base58_vectors(text, data):
    assert did.base58_encode(data) == text
    assert did.base58_decode(text) == data


@given(st.text(max_size=300))
def test_any_text_is_accepted_or_refused_with_a_value_error(text):
    for candidate in (text, "did:key:" + text, "did:key:z" + text):
        try:
            assert did.check_did(candidate) == candidate
        except ValueError as error:
            assert str(error)
