"""Fixtures of the tests of the listener."""

from collections.abc import Iterator

import pytest

from tests.platform import listening


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """When a test ends, the clients of `listening.py` are closed."""
    yield
    listening.close_all()
