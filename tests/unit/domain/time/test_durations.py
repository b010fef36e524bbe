"""Durations: ISO 8601 outside, milliseconds inside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carillon.domain.durations import LONGEST_MS, format_duration, parse_duration
from carillon.domain.schedule import ScheduleError

READ = [
    ("PT15S", 15_000, "PT15S"),
    ("PT0S", 0, "PT0S"),
    ("P0D", 0, "PT0S"),
    ("PT0.5S", 500, "PT0.5S"),
    ("PT1.050S", 1_050, "PT1.05S"),
    ("PT90M", 5_400_000, "PT1H30M"),
    ("PT744H", 2_678_400_000, "P31D"),
    ("P1D", 86_400_000, "P1D"),
    ("P1W", 604_800_000, "P7D"),
    ("P1W1DT1H1M1S", 694_861_000, "P8DT1H1M1S"),
    ("P1DT2H", 93_600_000, "P1DT2H"),
    ("PT007S", 7_000, "PT7S"),
]

REFUSED = [
    "", "P", "PT", "P1DT", "P1M", "P1Y", "P1Y2D", "-PT1S", "PT-1S", "+PT1S", " PT1S", "PT1S ", "PT1S\n", "pt1s", "P1S",
    "PT1D", "PT1S1M", "PT1M1M", "PT.5S", "PT1.S", "PT1.0001S", "PT1,5S", "P0.5D", "PT\u0661S", "PT\uff11S", "15",
    "15s", "1:00", "PT1000000000000S", "P999999999999W", "PT1e3S",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected_ms", "canonical"), READ)
def test_a_duration_is_read(text: str, expected_ms: int, canonical: str) -> None:
    """Weeks, days, hours, minutes and seconds have one length each; there is one way to write a length."""
    assert parse_duration(text) == expected_ms
    assert format_duration(expected_ms) == canonical


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Months, years, signs, blanks, foreign digits and empty parts are refused at the caller's field."""
    with pytest.raises(ScheduleError) as refusal:
        parse_duration(text, "every")
    assert refusal.value.field == "every"


@settings(derandomize=True)
@given(st.integers(0, LONGEST_MS))
def test_a_duration_survives_its_text(duration_ms: int) -> None:
    """Formatting and parsing are inverse up to the longest duration."""
    assert parse_duration(format_duration(duration_ms)) == duration_ms
