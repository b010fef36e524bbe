"""Instants: RFC 3339 outside, epoch milliseconds inside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carillon.domain.instants import (
    FIRST_INSTANT_MS,
    LAST_INSTANT_MS,
    format_compact,
    format_instant,
    format_with_offset,
    parse_compact,
    parse_instant,
    parse_local_time,
)
from carillon.domain.schedule import OneOff, ScheduleError

READ = [
    ("utc", "2026-10-12T02:30:00Z", "2026-10-12T02:30:00.000Z"),
    ("offset", "2026-10-12T08:00:00+05:30", "2026-10-12T02:30:00.000Z"),
    ("behind", "2026-10-11T21:30:00.5-05:00", "2026-10-12T02:30:00.500Z"),
    ("B248-milliseconds", "2026-10-12T12:00:00.900Z", "2026-10-12T12:00:00.900Z"),
    ("B272-nine-digits-are-cut", "2026-03-01T00:00:00.999999999Z", "2026-03-01T00:00:00.999Z"),
    ("B272-unknown-offset", "2026-03-01T00:00:00-00:00", "2026-03-01T00:00:00.000Z"),
    ("B272-lower-case", "2026-03-01t00:00:00z", "2026-03-01T00:00:00.000Z"),
    ("leap-day", "2028-02-29T23:59:59Z", "2028-02-29T23:59:59.000Z"),
    ("first", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
    ("last", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ("first-by-its-offset", "1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00.000Z"),
    ("widest-offset", "2026-03-01T23:59:00+23:59", "2026-03-01T00:00:00.000Z"),
]

REFUSED = [
    ("B272-beyond-9999-in-utc", "9999-12-31T23:59:59-12:00"),
    ("B272-before-1970-in-utc", "0001-01-01T00:00:00+14:00"),
    ("B272-leap-second", "2026-06-30T23:59:60Z"),
    ("B272-24-hours", "2026-03-01T24:00:00Z"),
    ("B272-no-leap-year", "2026-02-29T00:00:00Z"),
    ("B272-offset-of-24-hours", "2026-03-01T00:00:00+24:00"),
    ("B272-number", "1772323200"),
    ("B272-full-width-digits", "\uff12\uff10\uff12\uff16-03-01T00:00:00Z"),
    ("arabic-digits", "2026-03-0\u0661T00:00:00Z"),
    ("ten-fraction-digits", "2026-03-01T00:00:00.1234567890Z"),
    ("no-fraction-digit", "2026-03-01T00:00:00.Z"),
    ("comma", "2026-03-01T00:00:00,5Z"),
    ("no-offset", "2026-03-01T00:00:00"),
    ("offset-without-colon", "2026-03-01T00:00:00+0100"),
    ("offset-minutes", "2026-03-01T00:00:00+01:60"),
    ("blank-for-T", "2026-03-01 00:00:00Z"),
    ("no-seconds", "2026-03-01T00:00Z"),
    ("date-only", "2026-03-01"),
    ("month-13", "2026-13-01T00:00:00Z"),
    ("day-0", "2026-03-00T00:00:00Z"),
    ("year-0", "0000-03-01T00:00:00Z"),
    ("five-digit-year", "12026-03-01T00:00:00Z"),
    ("sign", "+2026-03-01T00:00:00Z"),
    ("newline-at-end", "2026-03-01T00:00:00Z\n"),
    ("blank-in-front", " 2026-03-01T00:00:00Z"),
    ("NUL", "2026-03-01T00:00:00Z\0"),
    ("empty", ""),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case, id=name) for name, *case in READ])
def test_an_instant_is_read_as_utc(text: str, expected: str) -> None:
    """The same instant comes out in UTC with milliseconds; finer digits are cut."""
    assert format_instant(parse_instant(text)) == expected


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in REFUSED])
def test_what_is_no_instant_is_refused(text: str) -> None:
    """A refusal is a ScheduleError at the caller's field, never another error, and does not repeat the input."""
    with pytest.raises(ScheduleError) as refusal:
        parse_instant(text, "run_at")
    assert refusal.value.field == "run_at"
    assert not text or text not in str(refusal.value)


@pytest.mark.parametrize("later_ms", [0, 1_000, 3_600_000])
def test_b271_a_one_off_that_is_not_later_has_no_next_fire(later_ms: int) -> None:
    """B271: equal to now, a second ago, an hour ago: there is no next nominal time, so nothing to store as active."""
    run_at = parse_instant("2026-10-12T12:00:00Z")
    assert OneOff(run_at).next_after(run_at + later_ms) is None
    assert OneOff(run_at).next_after(run_at - 1) == run_at


@settings(derandomize=True)
@given(st.integers(FIRST_INSTANT_MS, LAST_INSTANT_MS))
def test_an_instant_survives_its_texts(instant_ms: int) -> None:
    """Formatting and parsing are inverse, in both forms and from any clock."""
    assert parse_instant(format_instant(instant_ms)) == instant_ms
    assert parse_compact(format_compact(instant_ms)) == instant_ms
    middle_ms = min(max(instant_ms, 86_400_000), LAST_INSTANT_MS - 86_400_000)
    assert parse_instant(format_with_offset(middle_ms, -12_600)) == middle_ms


@settings(derandomize=True)
@given(st.integers(FIRST_INSTANT_MS, LAST_INSTANT_MS), st.integers(FIRST_INSTANT_MS, LAST_INSTANT_MS))
def test_texts_sort_as_the_instants_do(one_ms: int, other_ms: int) -> None:
    """Both forms have a fixed width, so that keys made of them are in the order of time."""
    order = one_ms < other_ms
    assert (format_instant(one_ms) < format_instant(other_ms)) is order
    assert (format_compact(one_ms) < format_compact(other_ms)) is order


def test_the_compact_form_is_that_of_run_ids() -> None:
    """No dot, no colon, no dash: nothing that a header or a key would have to escape."""
    assert format_compact(parse_instant("2026-10-12T02:30:00Z")) == "20261012T023000000Z"


@pytest.mark.parametrize(
    "text", ["20261012T023000Z", "20261012T023000000", "20260229T000000000Z", "2026\u06611012T023000000Z", ""]
)
def test_only_the_compact_form_is_read_as_such(text: str) -> None:
    """A run id with another time in it is no run id of ours."""
    with pytest.raises(ScheduleError):
        parse_compact(text)


def test_a_local_time_has_no_offset() -> None:
    """A local time counts from the same clock's 1970; with an offset it would be an instant."""
    assert parse_local_time("1970-01-02T00:00:00.250") == 86_400_250
    with pytest.raises(ScheduleError):
        parse_local_time("2026-03-08T02:30:00Z")


@pytest.mark.parametrize(
    ("offset_seconds", "expected"),
    [
        (0, "T00:00:00.000Z"),
        (19_800, "T05:30:00.000+05:30"),
        (-12_600, "T20:30:00.000-03:30"),
        (-2670, "T23:15:30.000-00:44:30"),
    ],
)
def test_an_offset_is_written_in_full(offset_seconds: int, expected: str) -> None:
    """Two readings of a repeated hour differ in their offsets; historic ones may have seconds."""
    assert format_with_offset(0, offset_seconds).endswith(expected)
