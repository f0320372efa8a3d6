"""Rate limits in memory: token buckets.

A bucket holds at most `most` tokens and gains `per_unit` of them in each unit of time. The caller measures
the time (in seconds, sweeps or minutes) and passes it in, so this module reads no clock.
"""


class Bucket:
    """One bucket, full at first."""

    __slots__ = ("_as_of", "_most", "_per_unit", "_tokens")

    def __init__(self, most: float, per_unit: float, now: float) -> None:
        self._most = most
        self._per_unit = per_unit
        self._tokens = most
        self._as_of = now

    def left(self, now: float) -> float:
        """How many tokens it holds."""
        return min(self._most, self._tokens + (now - self._as_of) * self._per_unit)

    def take(self, now: float, tokens: float = 1) -> bool:
        """Take tokens, and return whether it held so many. If not, it is empty afterwards."""
        left = self.left(now)
        self._tokens, self._as_of = max(0.0, left - tokens), now
        return left >= tokens


class Buckets:
    """A bucket for each key. A key that has none yet gets a full one. Above `keys` of them, the one that was
    used longest ago is forgotten."""

    def __init__(self, most: float, per_unit: float, keys: int) -> None:
        self._most = most
        self._per_unit = per_unit
        self._keys = keys
        self._buckets: dict[str, Bucket] = {}  # the one that was used last comes last

    def __len__(self) -> int:
        """How many keys have a bucket."""
        return len(self._buckets)

    def left(self, key: str, now: float) -> float:
        """How many tokens the key has."""
        bucket = self._buckets.get(key)
        return self._most if bucket is None else bucket.left(now)

    def take(self, key: str, now: float, tokens: float = 1) -> bool:
        """Take tokens of a key, and return whether it had so many. If not, it has none afterwards."""
        bucket = self._buckets.pop(key, None) or Bucket(self._most, self._per_unit, now)
        if len(self._buckets) >= self._keys:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[key] = bucket
        return bucket.take(now, tokens)
