"""The API under test."""

from collections.abc import Iterator

import pytest

from support.api import ApiUnderTest


@pytest.fixture
def api() -> ApiUnderTest:
    """A fresh API with two tenants and no jobs."""
    return ApiUnderTest()


@pytest.fixture
def nothing_written(api: ApiUnderTest) -> Iterator[None]:
    """Whatever the test sends, the stores are as before."""
    before = api.snapshot()
    yield
    assert api.snapshot() == before
