"""The schedule types: their nominal times, their bounds, and what an outage missed."""

from collections.abc import Callable

import pytest

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError
from tests.unit.domain.time.tables import following, instants, utc

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
NOON = utc("2026-10-12T12:00")
NEW_YORK = "America/New_York"

# --- one-offs ---------------------------------------------------------------------------------------------------------

LOCAL_TIMES = [
    ("plain", "2026-10-12T08:00:00", "Asia/Kolkata", "shift", "first", "2026-10-12T02:30"),
    ("milliseconds", "2026-10-12T08:00:00.250", "Asia/Kolkata", "shift", "first", "2026-10-12T02:30:00.250"),
    ("in-a-gap", "2025-03-09T02:30:00", NEW_YORK, "shift", "first", "2025-03-09T07:00"),
    ("at-the-edge-of-a-gap", "2025-03-09T02:00:00", NEW_YORK, "shift", "first", "2025-03-09T07:00"),
    ("behind-a-gap", "2025-03-09T03:00:00", NEW_YORK, "skip", "first", "2025-03-09T07:00"),
    ("in-a-gap-of-half-an-hour", "2026-10-04T02:15:00", "Australia/Lord_Howe", "shift", "first", "2026-10-03T15:30"),
    ("first-of-two", "2025-11-02T01:30:00", NEW_YORK, "shift", "first", "2025-11-02T05:30"),
    ("last-of-two", "2025-11-02T01:30:00", NEW_YORK, "shift", "last", "2025-11-02T06:30"),
    ("only-one-of-last", "2025-11-02T02:00:00", NEW_YORK, "shift", "last", "2025-11-02T07:00"),
]

LOCAL_REFUSALS = [
    ("in-a-gap-with-skip", ("2025-03-09T02:30:00", NEW_YORK, "skip", "first"), "run_at"),
    ("on-a-day-that-never-was", ("2011-12-30T12:00:00", "Pacific/Apia", "shift", "first"), "run_at"),
    ("with-an-offset", ("2025-03-09T02:30:00Z", NEW_YORK, "shift", "first"), "run_at"),
    ("both", ("2025-11-02T01:30:00", NEW_YORK, "shift", "both"), "dst_overlap"),
    ("unknown-overlap", ("2025-11-02T01:30:00", NEW_YORK, "shift", "second"), "dst_overlap"),
    ("unknown-gap", ("2025-11-02T01:30:00", NEW_YORK, "SHIFT", "first"), "dst_gap"),
    ("unknown-zone", ("2025-11-02T01:30:00", "New York", "shift", "first"), "timezone"),
    ("beyond-the-last-instant", ("9999-12-31T23:59:59", NEW_YORK, "shift", "first"), "run_at"),
]


@pytest.mark.parametrize(
    ("text", "zone", "gap", "overlap", "expected"), [pytest.param(*case, id=name) for name, *case in LOCAL_TIMES]
)
def test_a_one_off_may_be_given_on_a_local_clock(
    text: str, zone: str, gap: Gap, overlap: Overlap, expected: str
) -> None:
    """The wall clock time becomes one instant, by the same rules as in cron."""
    assert OneOff.at_local_time(text, zone, gap, overlap) == OneOff(utc(expected))


@pytest.mark.parametrize(("arguments", "field"), [pytest.param(*case, id=name) for name, *case in LOCAL_REFUSALS])
def test_a_local_time_that_is_no_instant_is_refused(arguments: tuple[str, str, Gap, Overlap], field: str) -> None:
    """The refusal names the field that has to change."""
    with pytest.raises(ScheduleError) as refusal:
        OneOff.at_local_time(*arguments)
    assert refusal.value.field == field


def test_a_delay_counts_from_now() -> None:
    """A delay becomes an instant at once; one beyond the calendar is refused."""
    assert OneOff.after_delay(1_500, NOON) == OneOff(NOON + 1_500)
    with pytest.raises(ScheduleError, match="delay"):
        OneOff.after_delay(LAST_INSTANT_MS, NOON)


# --- intervals --------------------------------------------------------------------------------------------------------


def test_an_interval_without_start_fires_first_one_interval_after_now() -> None:
    """Anchored at creation: the first nominal time strictly after it is one interval later."""
    schedule = Every.anchored(HOUR_MS, NOON)
    assert schedule.next_after(NOON) == NOON + HOUR_MS
    assert schedule.next_after(NOON + 5 * HOUR_MS + 1) == NOON + 6 * HOUR_MS


def test_an_interval_with_start_fires_first_at_the_start() -> None:
    """The start is a nominal time, and so is the end when a multiple falls on it."""
    schedule = Every.anchored(HOUR_MS, NOON, NOON + 10 * MINUTE_MS, NOON + 130 * MINUTE_MS)
    assert list(schedule.between(0, LAST_INSTANT_MS)) == [NOON + n * MINUTE_MS for n in (10, 70, 130)]
    assert schedule.count(0, LAST_INSTANT_MS) == 3
    assert schedule.previous_before(NOON + 10 * MINUTE_MS) is None


def test_a_late_start_keeps_the_anchor() -> None:
    """A start that moved by an edit does not move the grid."""
    schedule = Every(HOUR_MS, NOON, start_ms=NOON + 90 * MINUTE_MS)
    assert schedule.next_after(NOON) == NOON + 2 * HOUR_MS


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Every(999, NOON), "every"),
        (lambda: Every(1_000, -1), "start_at"),
        (lambda: Every(1_000, NOON, None, LAST_INSTANT_MS + 1), "end_at"),
        (lambda: Every(1_000, NOON, NOON, NOON - 1), "end_at"),
        (lambda: CronSchedule("0 9 * * *", start_ms=-1), "start_at"),
        (lambda: CronSchedule("0 9 * * *", start_ms=5, end_ms=4), "end_at"),
        (lambda: OneOff(-1), "run_at"),
        (lambda: OneOff(LAST_INSTANT_MS + 1), "run_at"),
    ],
)
def test_a_bound_that_cannot_hold_is_refused(make: Callable[[], Schedule], field: str) -> None:
    """The refusal names the field as the interface calls it."""
    with pytest.raises(ScheduleError) as refusal:
        make()
    assert refusal.value.field == field


# --- cron within bounds, and what an outage missed --------------------------------------------------------------------


def test_a_cron_schedule_keeps_within_start_and_end() -> None:
    """Both bounds belong to the schedule."""
    schedule = CronSchedule("0 * * * *", start_ms=NOON, end_ms=NOON + 2 * HOUR_MS)
    assert following(schedule, 0, 9) == [NOON, NOON + HOUR_MS, NOON + 2 * HOUR_MS]
    assert schedule.newest(0, LAST_INSTANT_MS, 9) == (NOON, NOON + HOUR_MS, NOON + 2 * HOUR_MS)
    assert schedule.count(0, LAST_INSTANT_MS) == 3
    assert schedule.previous_before(NOON) is None
    assert schedule.count(NOON, NOON - 1) == 0


def test_b245_the_next_time_comes_from_the_planned_one() -> None:
    """B245: from the scheduled 10:00 the next is 10:05; from a wake-up just before, it is 10:00 itself."""
    schedule = CronSchedule("*/5 * * * *")
    assert schedule.next_after(utc("2026-06-01T10:00")) == utc("2026-06-01T10:05")
    assert schedule.next_after(utc("2026-06-01T09:59:59.820")) == utc("2026-06-01T10:00")


MISSED = [
    ("B083", "*/5 * * * *", "UTC", ("2026-06-01T10:00", "11:03"), 12, ("2026-06-01T10:05", "11:00")),
    ("B085-fixed", "0,30 1 * * *", NEW_YORK, ("2025-11-02T04:50", "07:10"), 2, ("2025-11-02T05:00", "05:30")),
    ("B085-wildcard", "*/30 1 * * *", NEW_YORK, ("2025-11-02T04:50", "07:10"), 4, ("2025-11-02T05:00", "06:30")),
    ("B086", "30 2 * * *", NEW_YORK, ("2025-03-09T06:50", "07:20"), 1, ("2025-03-09T07:00", "07:00")),
    (
        "B091",
        "* * * * *",
        "UTC",
        ("2026-06-01T00:00", "2026-07-01T00:00"),
        43_200,
        ("2026-06-01T00:01", "2026-07-01T00:00"),
    ),
    ("B095", "0 * * * *", "UTC", ("2026-06-01T00:30", "03:30"), 3, ("2026-06-01T01:00", "03:00")),
]


@pytest.mark.parametrize(
    ("expression", "zone", "outage", "count", "ends"), [pytest.param(*case, id=name) for name, *case in MISSED]
)
def test_what_an_outage_missed_is_told_by_the_live_rule(
    expression: str, zone: str, outage: tuple[str, str], count: int, ends: tuple[str, str]
) -> None:
    """Count, first and last without listing; the newest few oldest first."""
    after_ms, until_ms = instants(" ".join(outage))
    missed = CronSchedule(expression, zone).missed(after_ms, until_ms, 2)
    assert missed is not None
    assert [missed.first_ms, missed.last_ms] == instants(" ".join(ends))
    assert missed.count == count
    assert missed.newest_ms[-1] == missed.last_ms
    assert len(missed.newest_ms) == min(count, 2)


def test_b086_the_fire_after_a_made_up_one_is_the_next_day() -> None:
    """B086: the made-up fire is a fire like any other."""
    assert CronSchedule("30 2 * * *", NEW_YORK).next_after(utc("2025-03-09T07:00")) == utc("2025-03-10T06:30")


def test_an_outage_without_a_nominal_time_missed_nothing() -> None:
    """There is no summary of nothing."""
    assert CronSchedule("0 9 * * *").missed(utc("2026-06-01T10:00"), utc("2026-06-01T11:00"), 5) is None
    assert OneOff(NOON).missed(NOON, NOON + HOUR_MS, 5) is None
    assert CronSchedule("0 9 * * *", end_ms=5).missed(10, 10 * HOUR_MS, 5) is None
