"""The next occurrence after the rules of a zone have changed: promised ones are kept, none is run twice or made up.

The schedules are by the present rules, and what is stored is said to come from rules that were an hour ahead or behind.
"""

import pytest

from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.replanning import is_right_for_sure, next_by_the_rules
from carillon.domain.schedule import CronSchedule

FOUR = "0 16,17,18,20 * * *"
DAILY = "0 16 * * *"
TWICE = "0 16,17 * * *"
HOURLY = "0 * * * *"
QUARTERS = "*/15 * * * *"
ROWS = [
    ("B077-an-hour-earlier-by-the-new-rules", DAILY, "10:00", "17:00", None, "16:00"),
    ("an-hour-later-by-the-new-rules", DAILY, "10:00", "15:00", None, "16:00"),
    ("right", DAILY, "10:00", "16:00", None, "16:00"),
    ("due-by-both", DAILY, "17:30", "17:00", None, "17:00"),
    ("past-by-the-new-rules-is-not-lost", DAILY, "16:30", "17:00", None, "17:00"),
    ("ran-today-and-would-come-again", DAILY, "15:30", "+15:00", "15:00", "+16:00"),
    ("ran-today-long-ago", DAILY, "17:30", "+15:00", "15:00", "+16:00"),
    ("the-one-that-ran-is-the-next-by-the-new-rules", TWICE, "15:30", "16:00", "15:00", "17:00"),
    ("sent-ahead-and-next-collide", TWICE, "16:59", "18:00", "17:00", "18:00"),
    ("both-ran", TWICE, "16:30", "+15:00", "16:00", "+16:00"),
    ("irregular", FOUR, "15:30", "16:00", "15:00", "17:00"),
    ("shifted-by-whole-steps", HOURLY, "15:30", "16:00", "15:00", "16:00"),
    ("frequent", QUARTERS, "15:01", "15:15", "15:00", "15:15"),
    ("frequent-and-sent-ahead", QUARTERS, "14:59", "15:15", "15:00", "15:15"),
    ("a-day-that-the-old-rules-left-out", DAILY, "10:00", "+16:00", None, "16:00"),
    ("ran-and-the-next-moves-by-another-way", DAILY, "15:30", "+18:00", "15:00", "+16:00"),
    ("due-at-this-instant", DAILY, "15:00", "15:00", None, "15:00"),
    ("should-have-been-due-at-this-instant", DAILY, "16:00", "17:00", None, "17:00"),
    ("a-time-that-the-new-rules-leave-out", DAILY, "10:00", "11:00", None, "16:00"),
]


def instant(text: str) -> int:
    """`16:00` of the day, `+16:00` of the day after."""
    return parse_instant(f"2026-06-0{2 if text.startswith('+') else 1}T{text.lstrip('+')}:00Z")


@pytest.mark.parametrize(
    ("expression", "now", "stored", "planned", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_what_becomes_of_a_stored_occurrence(
    expression: str, now: str, stored: str, planned: str | None, expected: str
) -> None:
    """The table of cases; asked again with the answer stored, it stays."""
    schedule, planned_ms = CronSchedule(expression, "UTC"), None if planned is None else instant(planned)
    first = next_by_the_rules(schedule, stored_ms=instant(stored), planned_ms=planned_ms, now_ms=instant(now))
    assert format_instant(first) == format_instant(instant(expected))
    assert next_by_the_rules(schedule, stored_ms=first, planned_ms=planned_ms, now_ms=instant(now)) == first


@pytest.mark.parametrize(
    ("expression", "now", "stored", "planned", "expected"), [pytest.param(*row[1:], id=row[0]) for row in ROWS]
)
def test_what_is_right_for_sure_stays(
    expression: str, now: str, stored: str, planned: str | None, expected: str
) -> None:
    """The short answer that needs no reading of the job never differs from the long one."""
    del planned
    if is_right_for_sure(CronSchedule(expression, "UTC"), instant(stored), instant(now)):
        assert stored == expected


def test_most_jobs_need_no_reading() -> None:
    """A right occurrence that is hours away is seen to be right from the due index alone."""
    daily = CronSchedule(DAILY, "UTC")
    assert is_right_for_sure(daily, instant("16:00"), instant("10:00"))
    assert not is_right_for_sure(daily, instant("17:00"), instant("10:00"))
    assert not is_right_for_sure(daily, instant("16:00"), instant("14:00"))


def test_a_schedule_that_is_over_keeps_its_last_promise() -> None:
    """Without an occurrence by the new rules the stored one stays, and ends the schedule."""
    ended = CronSchedule(DAILY, "UTC", end_ms=instant("12:00"))
    assert next_by_the_rules(ended, stored_ms=instant("11:00"), planned_ms=None, now_ms=instant("10:00")) == instant(
        "11:00"
    )


def test_a_twin_behind_the_end_does_not_bring_the_one_that_ran_back() -> None:
    """Ran at 06:50, which is 06:55 now; promised is 07:10, and the schedule ends before its twin: it stays."""
    ended = CronSchedule("15,35,55 * * * *", "UTC", end_ms=instant("07:14"))
    stored = next_by_the_rules(ended, stored_ms=instant("07:10"), planned_ms=instant("06:50"), now_ms=instant("06:54"))
    assert format_instant(stored) == format_instant(instant("07:10"))


def test_b077_the_zone_of_the_case() -> None:
    """B077: Vancouver's new rules: stored 17:00Z, right 16:00Z."""
    vancouver = CronSchedule("0 9 1 12 *", "America/Vancouver")
    right = next_by_the_rules(
        vancouver,
        stored_ms=parse_instant("2026-12-01T17:00:00Z"),
        planned_ms=None,
        now_ms=parse_instant("2026-11-29T20:00:00Z"),
    )
    assert format_instant(right) == "2026-12-01T16:00:00.000Z"
