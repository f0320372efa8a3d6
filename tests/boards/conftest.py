"""Fixtures: a workspace whose agents have leased and waited, and browsers of its members."""

from tests.records.conftest import browse, conduct, running_authority, time_

__all__ = ["browse", "conduct", "running_authority", "time_"]
