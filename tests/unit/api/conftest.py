"""The API under test."""

import pytest

from support.api import ApiUnderTest


@pytest.fixture
def api() -> ApiUnderTest:
    """A fresh API with two tenants and no jobs."""
    return ApiUnderTest()
