"""The formats of bytes and instants, rates, and what the strict reader of JSON refuses."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from intramedial.http.formats import base64url, from_base64url, rfc3339, rfc3339_of_ms
from intramedial.http.rates import Bucket, Buckets
from intramedial.http.strict_json import MalformedJson, parse


@pytest.mark.parametrize(
    ("data", "text"),
    # RFC 4648, section 10, without padding; and the two characters in which base64url differs from base64.
    [
        (b"", ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foobar", "Zm9vYmFy"),
        (b"\xfb\xff", "-_8"),
    ],
)
def test_base64url_and_back(data: bytes, text: str) -> None:
    assert base64url(data).decode() == text
    assert from_base64url(text) == data


@pytest.mark.parametrize("text", ["Zg==", "Zh", "Z", "Zm9v\n", "+/8", "Zm 9v", "ñ", "Zm9vY"])
def test_bytes_have_one_spelling(text: str) -> None:
    with pytest.raises(ValueError, match="not base64url"):
        from_base64url(text)


def test_instants_are_in_utc_with_milliseconds() -> None:
    at = datetime(2026, 1, 31, 12, 0, 0, 7_999, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(at) == "2026-01-31T10:00:00.007Z"
    assert rfc3339_of_ms(1_769_853_600_007) == "2026-01-31T10:00:00.007Z"
    assert rfc3339(datetime.fromtimestamp(0, UTC)) == rfc3339_of_ms(0) == "1970-01-01T00:00:00.000Z"


def test_a_bucket_fills_again_and_never_owes() -> None:
    bucket = Bucket(3, 2, now=0)
    assert [bucket.take(0) for _ in range(4)] == [True, True, True, False]
    assert bucket.left(1) == 2
    assert bucket.left(100) == 3
    assert not bucket.take(1, tokens=5)
    assert bucket.left(1) == 0


def test_a_full_table_forgets_the_key_used_longest_ago() -> None:
    buckets = Buckets(1, 0, keys=2)
    assert buckets.take("a", 0)
    assert buckets.take("b", 0)
    assert not buckets.take("a", 0)
    assert buckets.take("c", 0)
    assert (len(buckets), buckets.left("a", 0), buckets.left("b", 0)) == (2, 0, 1)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": 1, "\\u0061": 2}',
        b'{"a": {"b": [{"c": "x:y", "c": ""}]}}',
        b'{"a": [[[[[[]]]]]], "a": 1}',
        b'{"a": ' + b"9" * 300 + b', "a": 0}',
    ],
)
def test_a_name_that_is_given_twice_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedJson, match="same name twice"):
        parse(body, 16)


def test_numbers_of_many_digits_are_read() -> None:
    """orjson refuses numbers that are infinite as a float, so Python can read every number that passes."""
    assert parse(b'{"a": -' + b"9" * 300 + b', "b": [1e300, {"c": 0.5}]}', 16)["b"][1] == {"c": 0.5}
    with pytest.raises(MalformedJson, match="infinity"):
        parse(b'{"a": ' + b"9" * 5000 + b', "b": [1]}', 16)
    assert parse(b'{"a": 0.' + b"0" * 9000 + b'1, "b": [1]}', 16) == {"a": 0.0, "b": [1]}
