"""Ids and cursors: what clients get to name a lease, a receipt or the next page.

An id names something and opens nothing. Ids rise with time, so new ones are neighbours in an index. With
random ids each insert would touch a page of its own, and the authority would slow down as its history grows.
The time in an id is no secret: the answer shows it.

A cursor of `GET wait` is base64url(tag + name): the name of the last resource of a page, and the first 16
bytes of an HMAC-SHA256 of workspace and name. Every process that has the same secret recognises a cursor that
was changed, made up, or given in another workspace.
"""

import hmac
import os
import time
from random import Random

from django.utils.crypto import salted_hmac

from intramedial.http.formats import base64url, from_base64url

TAG_LENGTH = 16

# Ids must be unique, not secret, and drawing one must not wait for the system. A forked process seeds again.
_random = Random()  # noqa: S311
os.register_at_fork(after_in_child=_random.seed)


def new_lease_id() -> str:
    """A fresh lease id: `lse_`, the time in ms (48 bits) and 80 random bits, in hexadecimal."""
    return _new("lse_")


def new_receipt_id() -> str:
    """A fresh receipt id: `rcp_`, then as in a lease id."""
    return _new("rcp_")


def new_stamp() -> int:
    """62 random bits: the stamp of a workspace after a change, different from all others."""
    return _random.getrandbits(62)


def _new(prefix: str) -> str:
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"


def cursor_after(workspace: str, name: str) -> str:
    """The cursor of the page that begins after the resource `name`."""
    tag = salted_hmac("coordination.cursor", f"{workspace}\n{name}", algorithm="sha256").digest()
    return base64url(tag[:TAG_LENGTH] + name.encode()).decode()


def read_cursor(workspace: str, cursor: str) -> str:
    """The name that `cursor_after` got. Raises ValueError for a cursor that it did not make for
    `workspace`."""
    try:
        name = from_base64url(cursor)[TAG_LENGTH:].decode()
    except ValueError:
        raise ValueError("is not a cursor that this service gave") from None
    if not hmac.compare_digest(cursor_after(workspace, name), cursor):
        raise ValueError("is not a cursor that this service gave")
    return name
