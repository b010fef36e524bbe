"""The API under test."""

from collections.abc import Iterator

import pytest

from support.api import ApiUnderTest, Json


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


@pytest.fixture
def full(api: ApiUnderTest) -> Json:
    """A job with everything set."""
    return api.create(
        schedule={"cron": "0 18 * * *", "timezone": "UTC", "dst_gap": "shift", "dst_overlap": "first"},
        target__headers={"X-Team": "infra"},
        target__method="PUT",
        payload={"depth": "full"},
        priority="low",
        retry={"max_attempts": 3, "base": "PT7S", "jitter": "none"},
        retry_on=[503],
        misfire_policy="fire_all",
        misfire_grace="PT2M",
        max_catch_up=7,
        deadline="PT5M",
        labels={"team": "infra"},
    )
