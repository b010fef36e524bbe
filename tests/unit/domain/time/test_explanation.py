"""The preview of a schedule: what it shows is what the engine does, and what it warns of is true."""

import pytest

from carillon.domain.explaining.explanation import MOST_OCCURRENCES, preview
from carillon.domain.instants import LAST_INSTANT_MS, parse_local_time
from carillon.domain.job import LONGEST_WINDOW_MS, MOST_RUNS
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError
from tests.unit.domain.time.tables import following, instants, utc

NEW_YORK = "America/New_York"
NOON = utc("2026-10-12T12:00")
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        pytest.param("0 0 1 * 1", "on the 1st or on Monday", id="B259-either"),
        pytest.param("0 9 */2 * 1", "odd dates and Monday", id="B259-both"),
        pytest.param("0 0 * * 1#2", "second Monday", id="B259-nth"),
    ],
)
def test_b259_words_and_times_come_from_one_engine(expression: str, says: str) -> None:
    """B259: the description has the meaning of the rule, and the times listed are those of the schedule."""
    schedule = CronSchedule(expression)
    explanation = preview(schedule, NOON, 20)
    assert says in explanation.text
    assert [occurrence.at_ms for occurrence in explanation.occurrences] == following(schedule, NOON, 20)


def test_b262_the_two_passes_of_a_repeated_hour_look_different() -> None:
    """B262: the four fires of the night show their offsets."""
    explanation = preview(CronSchedule("*/30 1 * * *", NEW_YORK), utc("2025-11-02T04:00"), 4)
    assert [(occurrence.at_ms, occurrence.local) for occurrence in explanation.occurrences] == list(
        zip(
            instants("2025-11-02T05:00 05:30 06:00 06:30"),
            [
                "2025-11-02T01:00:00.000-04:00",
                "2025-11-02T01:30:00.000-04:00",
                "2025-11-02T01:00:00.000-05:00",
                "2025-11-02T01:30:00.000-05:00",
            ],
            strict=True,
        )
    )
    assert [change.effect for change in explanation.clock_changes] == ["twice"]


WARNINGS: list[tuple[str, Schedule, str, str, str]] = [
    (
        "never-in-this-zone",
        CronSchedule("*/5 2 * 3 0L", "Europe/Berlin"),
        "2026-01-01T00:00",
        "never_fires clock_change_ahead",
        "From here on the clock of Europe/Berlin never shows a time of this schedule.",
    ),
    (
        "never-within-bounds",
        CronSchedule("0 9 * * *", start_ms=NOON, end_ms=NOON + 1),
        "2026-01-01T00:00",
        "never_fires",
        "No time of this schedule lies between its start and its end.",
    ),
    (
        "over",
        CronSchedule("0 9 * * *", end_ms=NOON),
        "2026-11-01T00:00",
        "nothing_ahead",
        "Nothing lies ahead. The last run was that of 2026-10-12T09:00:00.000Z.",
    ),
    (
        "past-one-off",
        OneOff(NOON),
        "2026-11-01T00:00",
        "nothing_ahead",
        "Nothing lies ahead. The last run was that of 2026-10-12T12:00:00.000Z.",
    ),
    (
        "ends",
        Every(DAY_MS, NOON, NOON, NOON + DAY_MS),
        "2026-10-12T00:00",
        "ends_soon",
        "The last run is that of 2026-10-13T12:00:00.000Z; nothing follows.",
    ),
    ("one-off", OneOff(NOON), "2026-10-12T00:00", "", ""),
    (
        "change-among",
        CronSchedule("30 1 * * *", NEW_YORK),
        "2025-11-01T12:00",
        "clock_change_ahead",
        "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the first time only.",
    ),
    (
        "change-ahead",
        CronSchedule("30 1 * * *", NEW_YORK),
        "2025-06-01T12:00",
        "clock_change_ahead",
        "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the first time only.",
    ),
    ("change-not-felt", CronSchedule("0 9 * * *", NEW_YORK), "2025-11-01T12:00", "", ""),
    (
        "leap-day",
        CronSchedule("0 0 29 2 *"),
        "2026-01-01T00:00",
        "leap_day_only",
        "Its only day is 29 February, which comes in leap years only.",
    ),
    (
        "leap-day-by-exclusion",
        CronSchedule("0 0 */28 2 */7"),
        "2026-01-01T00:00",
        "misses_months both_day_fields",
        "Not every month has such a day; nothing runs in those that do not.",
    ),
    (
        "day-31",
        CronSchedule("0 0 31 * *"),
        "2026-01-01T00:00",
        "misses_months",
        (
            "Nothing runs in February, April, June, September or November. "
            "For the last day of any month write L as the day of the month."
        ),
    ),
    (
        "day-29",
        CronSchedule("0 0 29 * *"),
        "2026-01-01T00:00",
        "misses_months",
        "Nothing runs in February outside leap years. For the last day of any month write L as the day of the month.",
    ),
    ("last-days-by-range", CronSchedule("0 0 28-31 * *"), "2026-01-01T00:00", "", ""),
    (
        "fifth-monday",
        CronSchedule("0 0 * * 1#5"),
        "2026-01-01T00:00",
        "misses_months",
        "Not every month has such a day; nothing runs in those that do not.",
    ),
    (
        "either",
        CronSchedule("0 0 31 * 1"),
        "2026-01-01T00:00",
        "either_day_field",
        (
            "Both day fields are restricted, so a day that matches either of them is enough. "
            "For a weekday of a certain week write MON#2 or 5L as the day of the week."
        ),
    ),
    (
        "both",
        CronSchedule("0 9 */2 * 1"),
        "2026-01-01T00:00",
        "both_day_fields",
        "One of the day fields begins with *, so a day must match both of them; without the * either would do.",
    ),
    ("every-minute", CronSchedule("* * * * *"), "2026-01-01T00:00", "very_frequent", "This is 1,440 runs a day."),
    ("every-second", Every(1_000, NOON), "2026-01-01T00:00", "very_frequent", "This is 86,400 runs a day."),
    ("every-other-minute", CronSchedule("*/2 * * * *"), "2026-01-01T00:00", "", ""),
]


@pytest.mark.parametrize(
    ("schedule", "start", "codes", "first"), [pytest.param(*case, id=name) for name, *case in WARNINGS]
)
def test_a_schedule_is_warned_of(schedule: Schedule, start: str, codes: str, first: str) -> None:
    """These codes in this order, and the sentence of the first."""
    warnings = preview(schedule, utc(start), 5).warnings
    assert [warning.code for warning in warnings] == codes.split()
    assert not first or warnings[0].detail == first


@pytest.mark.parametrize(
    ("schedule", "window_ms", "is_warned"),
    [
        (CronSchedule("*/10 * * * *"), 600_000, False),
        (CronSchedule("*/10 * * * *"), 600_001, True),
        (CronSchedule("0,10 0 1 1 *"), 3_600_000, True),
        (CronSchedule("0 */12 * * *", NEW_YORK), DAY_MS // 2, False),
        (CronSchedule("0 */12 * * *", NEW_YORK), LONGEST_WINDOW_MS, True),
        (Every(60_000, NOON), 61_000, True),
        (Every(61_000, NOON), 60_000, False),
        (OneOff(NOON), 60_000, False),
    ],
)
def test_several_occurrences_in_one_window_are_warned_of(schedule: Schedule, window_ms: int, is_warned: bool) -> None:  # noqa: FBT001 - a column of the table
    """Closer than the window is a warning; as far apart as the window is none."""
    warnings = preview(schedule, utc("2026-06-01T00:00"), 1, window_ms).warnings
    assert ("several_per_window" in [warning.code for warning in warnings]) is is_warned


def test_a_single_run_at_the_very_instant_is_shown() -> None:
    """Whoever creates it then is not too late; what recurs is shown from the next time on."""
    assert preview(OneOff(NOON), NOON, 1) == preview(OneOff(NOON), NOON - 1, 1)
    assert [each.at_ms for each in preview(OneOff(NOON), NOON, 1).occurrences] == [NOON]
    assert not preview(OneOff(NOON), NOON, 1).warnings
    assert not preview(OneOff(NOON), NOON + 1, 1).occurrences
    assert preview(Every(60_000, NOON, NOON), NOON, 1).occurrences[0].at_ms == NOON + 60_000


def test_a_limit_of_runs_ends_the_list() -> None:
    """So many runs are left, so no more are shown, and that is said."""
    explanation = preview(CronSchedule("0 9 * * *"), NOON, 10, max_runs=3)
    assert len(explanation.occurrences) == 3
    assert explanation.warnings[0].code == "ends_soon"
    assert not preview(CronSchedule("0 9 * * *"), NOON, 3, max_runs=4).warnings


def test_a_schedule_without_a_zone_is_shown_on_the_clock_asked_for() -> None:
    """Intervals and instants know no zone; without one they are shown in UTC."""
    for schedule in (Every(DAY_MS, NOON), OneOff(NOON + DAY_MS)):
        shown = [preview(schedule, NOON, 1, timezone=zone).occurrences[0].local for zone in ("UTC", "Asia/Kolkata")]
        assert shown == ["2026-10-13T12:00:00.000Z", "2026-10-13T17:30:00.000+05:30"]


def test_a_single_local_time_that_was_moved_is_warned_of() -> None:
    """The caller knows the wall clock time; where it does not exist the preview says what was made of it."""
    text = "2025-03-09T02:30:00"
    schedule = OneOff.at_local_time(text, NEW_YORK)
    explanation = preview(
        schedule, utc("2025-01-01T00:00"), 1, timezone=NEW_YORK, run_at_local_ms=parse_local_time(text)
    )
    assert [change.effect for change in explanation.clock_changes] == ["moved"]
    assert [warning.code for warning in explanation.warnings] == ["clock_change_ahead"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_ends_of_the_calendar_can_be_shown(zone: str) -> None:
    """The first and the last instant have a text in every zone, if need be that of UTC."""
    for at_ms in (0, LAST_INSTANT_MS):
        schedule = OneOff(at_ms)
        (occurrence,) = preview(schedule, max(at_ms - 1, 0), 1, timezone=zone).occurrences or [None]
        assert occurrence is None or occurrence.at_ms == at_ms
    assert preview(CronSchedule("0 0 * * *", zone), LAST_INSTANT_MS - 2 * DAY_MS, 9).occurrences


def test_the_wait_for_the_first_occurrence_tells_only_changes_that_matter() -> None:
    """Years of clock changes before the next leap day are left out; one that skips the schedule's time is told."""
    assert not preview(CronSchedule("0 0 29 2 *", NEW_YORK), NOON, 1).clock_changes
    skipped = preview(CronSchedule("30 2 * * 0", NEW_YORK, "skip"), utc("2025-03-08T12:00"), 1)
    assert [change.effect for change in skipped.clock_changes] == ["skipped"]


def test_a_long_preview_has_a_bounded_list_of_clock_changes() -> None:
    """Centuries of leap days do not bring hundreds of clock changes along."""
    assert len(preview(CronSchedule("0 0 29 2 *", NEW_YORK), NOON, 60).clock_changes) == 100


@pytest.mark.parametrize(
    ("arguments", "options", "field"),
    [
        ((-1, 1), {}, "from"),
        ((LAST_INSTANT_MS + 1, 1), {}, "from"),
        ((NOON, 0), {}, "count"),
        ((NOON, MOST_OCCURRENCES + 1), {}, "count"),
        ((NOON, 1), {"max_runs": 0}, "max_runs"),
        ((NOON, 1), {"max_runs": MOST_RUNS + 1}, "max_runs"),
        ((NOON, 1), {"window_ms": LONGEST_WINDOW_MS + 1}, "window"),
        ((NOON, 1), {"timezone": "Mars/Base"}, "timezone"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    arguments: tuple[int, int], options: dict[str, object], field: str
) -> None:
    """The refusal names the field of the question."""
    with pytest.raises(ScheduleError) as refusal:
        preview(Every(1_000, NOON), *arguments, **options)  # type: ignore[arg-type]  # wrong on purpose
    assert refusal.value.field == field
