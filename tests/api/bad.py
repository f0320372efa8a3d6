"""Input that is refused, grouped by what is wrong with it."""

import json
from typing import Any

from tests.api.client import did

GOOD = {"resource": "lock:a", "actorDid": did("a")}


def raw(resource: str = '"lock:a"', more: str = "") -> bytes:
    """A body for a lease with one or more members written by hand."""
    return f'{{"resource": {resource}, "actorDid": "{did("a")}"{more}}}'.encode()


MALFORMED = {
    "empty": b"",
    "white space": b" \n",
    "not JSON": b"resource=lock:a",
    "cut short": b'{"resource": "lock:a", "actorDid": ',
    "single quotes": b"{'resource': 'lock:a'}",
    "trailing comma": b'{"resource": "lock:a",}',
    "a comment": b'{"resource": "lock:a"} // why not',
    "two documents": raw() + b" {}",
    "a NUL after it": raw() + b"\0",
    "an array": b"[" + raw() + b"]",
    "a string": b'"lock:a"',
    "a number": b"1",
    "true": b"true",
    "null": b"null",
    "NaN": raw(more=', "x": NaN'),
    "Infinity": raw(more=', "x": Infinity'),
    "-Infinity": raw(more=', "x": -Infinity'),
    "a number that overflows": raw(more=', "x": 1e999'),
    "a number of a thousand digits": raw(more=', "x": 1' + "0" * 999),
    "a leading zero": raw(more=', "x": 01'),
    "hexadecimal": raw(more=', "x": 0x1F'),
    "a name twice": raw(more=', "resource": "lock:b"'),
    "the same name twice with an escape": raw(more=r', "\u0072esource": "lock:b"'),
    "a name twice further in": raw(more=', "x": [{"y": {"z": 1, "z": 1}}]'),
    "an unknown name twice": raw(more=', "x": 1, "x": 1'),
    "nested too deep": raw(more=', "x": ' + "[" * 16 + "]" * 16),
    "nested far too deep": raw(more=', "x": ' + "[" * 8000 + "]" * 8000),
    "objects nested too deep": raw(more=', "x": ' + '{"y":' * 16 + "1" + "}" * 16),
    "nested without an end": b"[" * 16_000,
    "a lone high surrogate": raw(resource=r'"lock:\ud800"'),
    "a lone low surrogate": raw(resource=r'"lock:\udc00"'),
    "surrogates the wrong way round": raw(resource=r'"lock:\udc00\ud800"'),
    "a lone surrogate in an unknown member": raw(more=r', "x": "\ud800"'),
    "a lone surrogate as a name": raw(more=r', "\ud800": 1'),
    "a surrogate in UTF-8": b'{"resource": "lock:\xed\xa0\x80"}',
    "not UTF-8": b'{"resource": "lock:\xff"}',
    "overlong UTF-8": b'{"resource": "lock:\xc0\xaf"}',
    "Latin-1": '{"resource": "lock:ñ"}'.encode("latin-1"),
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + raw(),
    "a raw control character": b'{"resource": "lock:\x01"}',
    "a raw newline": b'{"resource": "lock:\n"}',
    "a bad escape": rb'{"resource": "lock:\x41"}',
    "an unquoted name": b'{resource: "lock:a"}',
}

BAD_RESOURCES = {
    "empty": "",
    "too long": "x" * 257,
    "too long and not ASCII": "ñ" * 257,
    "leading white space": " lock:a",
    "trailing white space": "lock:a ",
    "a leading no-break space": "\u00a0lock:a",
    "nothing but white space": "   ",
    "NUL": "lock:\0a",
    "a newline": "lock:\na",
    "DEL": "lock:\x7f",
    "a C1 control": "lock:\x85a",
    "a bidi override": "lock:\u202egnp.exe",
    "a bidi isolate": "lock:\u2066a",
    "a zero-width space": "lock:\u200ba",
    "a zero-width joiner": "lock:\u200da",
    "a byte order mark": "lock:\ufeffa",
    "a word joiner": "lock:\u2060a",
    "a soft hyphen": "lock:\u00ada",
    "a tag character": "lock:\U000e0041",
    "a line separator": "lock:\u2028a",
    "a suffix there is not": "doc:a#update",
    "an empty suffix": "doc:a#",
    "a suffix in capitals": "doc:a#READ",
    "two suffixes": "doc:a#read#read",
    "nothing before the suffix": "#read",
    "white space before the suffix": "doc:a #read",
}

BAD_DIDS = {
    "empty": "",
    "not a DID": "alice",
    "no method": "did:",
    "no identifier": "did:web:",
    "capitals in the method": "did:Web:a",
    "the scheme in capitals": "DID:web:a",
    "a colon at the end": "did:web:a:",
    "white space": "did:web:a b",
    "a newline at the end": "did:web:a\n",
    "a leading space": " did:web:a",
    "a path": "did:web:a/b",
    "a query": "did:web:a?b",
    "a fragment": "did:web:a#key-1",
    "a bad percent": "did:web:a%zz",
    "not ASCII": "did:web:ñ",
    "NUL": "did:web:a\0",
    "too long": "did:web:" + "a" * 249,
    "far too long": "did:key:z" + "1" * 10_000,
    "a did:key of nothing": "did:key:z",
    "a did:key without its multibase": "did:key:6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "a did:key in another alphabet": "did:key:z0OIl",
    "a did:key of an unknown type": "did:key:z" + "2" * 40,
    "a did:key cut short": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2d",
    "a did:key with one more": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doKK",
    "the identity point": "did:key:z6MkeXCES4onVW4up9Qgz1KRnZsKmGufcaZxF7Zpv2w5QwUK",
}

WRONG_TYPES: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a number past 64 bits": 2**63,
    "a fraction": 1.5,
    "true": True,
    "an array": ["lock:a"],
    "an object": {"name": "lock:a"},
}
