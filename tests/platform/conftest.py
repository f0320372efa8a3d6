"""What the tests of the listener share."""

from collections.abc import Iterator

import pytest

from tests.platform import listening


@pytest.fixture(autouse=True)
def no_connection_is_left() -> Iterator[None]:
    """Close the clients of `listening.py` when a test ends."""
    yield
    listening.close_all()
