"""Ids of leases, receipts and changes: they name things and open nothing.

Ids that rise with time are neighbours in an index: with random ones each insert would touch a page of its
own, and the authority would slow down as its history grows. The time is no secret: the answer tells it.
"""

import os
import time
from random import Random

# Unique is enough, and drawing one must not wait for the system. Seeded by it, for each process anew.
_random = Random()  # noqa: S311
os.register_at_fork(after_in_child=_random.seed)


def new_lease_id() -> str:
    """A fresh lease id: `lse_`, the time in ms (48 bits) and 80 random bits, in hexadecimal."""
    return _new("lse_")


def new_receipt_id() -> str:
    """A fresh receipt id: `rcp_`, and as in a lease id."""
    return _new("rcp_")


def new_stamp() -> int:
    """A number of 62 random bits, which no other change of any workspace has."""
    return _random.getrandbits(62)


def _new(prefix: str) -> str:
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"
