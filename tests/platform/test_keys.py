"""API keys have 256 bits and a checksum that detects typing errors. Only a prefix and a hash are stored."""

import hashlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intramedial.workspaces import keys
from intramedial.workspaces.models import ApiKey

SECRET = keys.make_key().secret


def test_a_key_has_a_mark_256_bits_and_a_checksum():
    assert SECRET.startswith("imk_")
    assert 62**keys.RANDOM_LENGTH >= 2**256
    assert len(SECRET) == len("imk_") + 43 + 6
    assert set(SECRET[4:]) <= set(string.ascii_letters + string.digits)


def test_two_keys_differ_in_secret_prefix_and_hash():
    first, second = keys.make_key(), keys.make_key()
    assert len({*first, *second}) == 6


def test_a_fresh_key_is_well_formed():
    assert all(keys.well_formed(keys.make_key().secret) for _ in range(100))


@given(st.integers(4, len(SECRET) - 1), st.sampled_from(string.ascii_letters + string.digits))
def test_one_changed_character_is_detected(place, character):
    changed = SECRET[:place] + character + SECRET[place + 1 :]
    assert keys.well_formed(changed) == (changed == SECRET)


@given(st.text())
def test_any_text_is_checked_without_an_error(text):
    assert not keys.well_formed(text)


NEARLY = {
    "nothing": "",
    "the beginning alone": "imk_",
    "too short": SECRET[:-1],
    "too long": SECRET + "0",
    "small letters": SECRET.lower(),
    "a space before it": " " + SECRET,
    "a line's end after it": SECRET + "\n",
}


@pytest.mark.parametrize("text", NEARLY.values(), ids=NEARLY)
def test_a_text_that_is_nearly_a_key_is_refused(text):
    assert not keys.well_formed(text)


def test_only_prefix_and_hash_are_stored(workspace, api_key):
    row = ApiKey.objects.get(workspace=workspace)
    assert row.sha256 == hashlib.sha256(api_key.encode()).hexdigest()
    assert api_key.startswith(row.prefix)
    assert len(row.prefix) == len("imk_") + 8
    stored = " ".join(str(value) for value in vars(row).values())
    assert api_key not in stored
