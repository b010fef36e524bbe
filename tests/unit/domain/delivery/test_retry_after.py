"""Reading Retry-After."""

from datetime import UTC, datetime

import pytest

from carillon.domain.retry_after import parse_retry_after

NEW_YEAR_MS = round(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1000
DAY_MS = 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("007", 7),
        (" 5 ", 5),
        ("Thu, 01 Jan 2026 00:02:00 GMT", 120),
        ("Thursday, 01-Jan-26 00:02:00 GMT", 120),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0),
        ("Friday, 31-Dec-76 00:00:00 GMT", 24 * 3600),
        ("Saturday, 31-Dec-77 00:00:00 GMT", 0),
        ("99999999999", 24 * 3600),
        ("9" * 5000, 24 * 3600),
        ("0" * 5000 + "1", 1),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 24 * 3600),
    ],
    ids=lambda value: str(value)[:40],
)
def test_b158_waits_that_are_read(text: str, seconds: int) -> None:
    """B158: seconds and HTTP dates, in the past 0, at most the documented day."""
    assert parse_retry_after(text, NEW_YEAR_MS) == seconds * 1000


@pytest.mark.parametrize(
    "text",
    [
        *("-1", "-5", "1.5", "1e3", "6m5s", "", " ", "abc", "٣", "120, 60", "+5", "0x10", "1_000", "5\n", "²"),
        *("2026-01-01T00:02:00Z", "Thu, 01 Jan 2026 00:02:00", "Thu, 01 Jan 2026 00:02:00 +0000"),
        *("Thu, 32 Jan 2026 00:02:00 GMT", "Thu, 01 Foo 2026 00:02:00 GMT", "Thu, 01 Jan 0000 00:00:00 GMT"),
        *("Thu Jan  1 00:02:00 2026", "Thu, 01 Jan 2026 24:00:00 GMT", "Thu, 01 Jan ٢026 00:02:00 GMT"),
    ],
    ids=ascii,
)
def test_b158_texts_that_are_ignored(text: str) -> None:
    """B158: everything else is as if the header were absent, and nothing raises."""
    assert parse_retry_after(text, NEW_YEAR_MS) is None


def test_b158_the_wait_until_a_date() -> None:
    """B158: a date one minute ahead is a wait of 60 s, to the millisecond of the present."""
    now_ms = round(datetime(2026, 10, 21, 7, 27, tzinfo=UTC).timestamp()) * 1000 + 250
    assert parse_retry_after("Wed, 21 Oct 2026 07:28:00 GMT", now_ms) == 59_750
