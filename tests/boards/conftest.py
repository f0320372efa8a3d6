"""Fixtures: a workspace whose agents have leased and waited, and browsers of its members."""

from tests.records.conftest import authority_clock, browse, conduct, running_authority

__all__ = ["authority_clock", "browse", "conduct", "running_authority"]
