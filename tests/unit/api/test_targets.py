"""Targets at the door: the same decision when a job is created and when it is changed."""

import pytest

from support.api import ApiUnderTest, Json, assert_refused, job
from support.target_rows import ALLOWED, REFUSED_URLS, TargetRow, id_of


@pytest.fixture(scope="module")
def api() -> ApiUnderTest:
    """One API for all rows: those that are refused leave nothing behind."""
    return ApiUnderTest()


@pytest.fixture(scope="module")
def stored(api: ApiUnderTest) -> Json:
    """A job with a good target."""
    return api.create()


@pytest.mark.parametrize("row", REFUSED_URLS, ids=id_of)
def test_b226_a_bad_target_is_refused_at_creation_and_at_a_patch(
    api: ApiUnderTest, stored: Json, row: TargetRow
) -> None:
    """B226: 422 with the code of what is wrong; nothing is created, and the job keeps its target.

    The address that is told of a cancel is judged alike.
    """
    before = api.snapshot()
    expected = {("/target/url", row.code or "")}
    created = api.call("POST", "/v1/jobs", job(target__url=row.url))
    patched = api.patch(stored["id"], {"target": {"url": row.url}})
    assert_refused(created, 422, expected)
    assert_refused(patched, 422, expected)
    told = api.call("POST", "/v1/jobs", job(target__cancel_url=row.url))
    assert_refused(told, 422, {("/target/cancel_url", row.code or "")})
    assert api.snapshot() == before
    assert len(row.url) < 20 or row.url not in created.text + patched.text


@pytest.mark.parametrize("url", sorted({row.url for row in ALLOWED}))
def test_a_good_target_is_stored_as_it_was_sent(api: ApiUnderTest, url: str) -> None:
    """The job shows the URL to the letter; how it is read is decided anew at each attempt."""
    assert api.create(target__url=url)["target"]["url"] == url
