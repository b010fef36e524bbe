"""What is told of clock changes is what the schedule does there."""

from random import Random
from typing import Any

import pytest

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.explaining.clock_change_effects import ClockChange, clock_change_met_by, clock_changes_among
from carillon.domain.instants import parse_local_time
from carillon.domain.schedule import CronSchedule, OneOff
from carillon.domain.zones import find_zone
from tests.unit.domain.time.oracles import NASTY_ZONES, random_expression
from tests.unit.domain.time.tables import utc

NEW_YORK, LORD_HOWE, APIA = "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"
SPRING, AUTUMN = ("2025-03-08T12:00", "2025-03-10T12:00"), ("2025-11-01T12:00", "2025-11-03T12:00")
SECOND_MS = 1_000

EFFECTS = [
    (
        "moved",
        CronSchedule("30 2 * * *", NEW_YORK),
        SPRING,
        "On 2025-03-09 the clock skips 02:00 to 03:00; 02:30 runs at 03:00 instead",
    ),
    (
        "moved",
        CronSchedule("0,15,30 2 * * *", NEW_YORK),
        SPRING,
        "On 2025-03-09 the clock skips 02:00 to 03:00; the 3 times from 02:00 to 02:30 run once, at 03:00 instead",
    ),
    (
        "skipped",
        CronSchedule("30 2 * * *", NEW_YORK, "skip"),
        SPRING,
        "On 2025-03-09 the clock skips 02:00 to 03:00; 02:30 does not run, as chosen",
    ),
    (
        "skipped",
        CronSchedule("*/20 2 * * *", NEW_YORK),
        SPRING,
        (
            "On 2025-03-09 the clock skips 02:00 to 03:00; the 3 times from 02:00 to 02:40 do not run: "
            "the schedule follows the clock"
        ),
    ),
    (
        "unaffected",
        CronSchedule("0 9 * * *", NEW_YORK),
        SPRING,
        "On 2025-03-09 the clock skips 02:00 to 03:00; no time of this schedule lies there",
    ),
    (
        "once",
        CronSchedule("30 1 * * *", NEW_YORK),
        AUTUMN,
        "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the first time only",
    ),
    (
        "once",
        CronSchedule("30 1 * * *", NEW_YORK, dst_overlap="last"),
        AUTUMN,
        "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the second time only",
    ),
    (
        "twice",
        CronSchedule("30 1 * * *", NEW_YORK, dst_overlap="both"),
        AUTUMN,
        "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs both times, as chosen",
    ),
    (
        "twice",
        CronSchedule("*/30 1 * * *", NEW_YORK),
        AUTUMN,
        (
            "On 2025-11-02 01:00 to 02:00 comes twice; the 2 times from 01:00 to 01:30 run both times: "
            "the schedule follows the clock"
        ),
    ),
    (
        "once",
        CronSchedule("45 1 * * *", LORD_HOWE),
        ("2026-04-04T00:00", "2026-04-06T00:00"),
        "On 2026-04-05 01:30 to 02:00 comes twice; 01:45 runs the first time only",
    ),
    (
        "skipped",
        CronSchedule("0 12 * * *", APIA),
        ("2011-12-29T12:00", "2011-12-31T12:00"),
        (
            "On 2011-12-30 the clock skips 00:00 to 2011-12-31 00:00; 12:00 does not run: "
            "a jump of more than three hours is not made up"
        ),
    ),
    (
        "unaffected",
        CronSchedule("0 12 * * *", "Africa/Monrovia"),
        ("1972-01-06T00:00", "1972-01-08T00:00"),
        "On 1972-01-07 the clock skips 00:00 to 00:44:30; no time of this schedule lies there",
    ),
]


@pytest.mark.parametrize(
    ("effect", "schedule", "between", "detail"), [pytest.param(*case, id=f"{case[0]}-{case[3]}") for case in EFFECTS]
)
def test_a_clock_change_is_told_so(effect: str, schedule: CronSchedule, between: tuple[str, str], detail: str) -> None:
    """The only change between two instants, its effect on this schedule, and the sentence for people."""
    (change,) = clock_changes_among(schedule, *map(utc, between))
    assert (change.effect, change.detail) == (effect, detail)


def test_both_readings_of_the_clock_are_given() -> None:
    """B262: what the clock would have shown and what it shows, with their offsets."""
    (change,) = clock_changes_among(CronSchedule("30 1 * * *", NEW_YORK), *map(utc, AUTUMN))
    assert change.at_ms == utc("2025-11-02T06:00")
    assert (change.before, change.after) == ("2025-11-02T02:00:00.000-04:00", "2025-11-02T01:00:00.000-05:00")


@pytest.mark.parametrize(
    ("expression", "is_felt"),
    [
        ("*/5 * * * *", False),
        ("0 * * * *", False),
        ("0 0-23 * * *", True),
        ("*/5 0-12 * * *", True),
        ("0 9 * * *", False),
    ],
)
def test_a_schedule_that_runs_on_feels_no_change(expression: str, is_felt: bool) -> None:  # noqa: FBT001 - a column of the table
    """Following the clock through all hours leaves no hole and no double run; fixed times of each hour leave a hole."""
    for days in (SPRING, AUTUMN):
        (change,) = clock_changes_among(CronSchedule(expression, NEW_YORK), *map(utc, days))
        assert change.is_felt is is_felt


def test_a_repeated_stretch_belongs_to_both_its_occurrences() -> None:
    """Asked up to the first pass, or from the second, the change is told; before and after both it is not."""
    schedule = CronSchedule("30 1 * * *", NEW_YORK)
    asked = [("04:00", "05:30"), ("06:30", "12:00"), ("04:00", "04:59"), ("07:00", "12:00")]
    found = [
        len(list(clock_changes_among(schedule, utc(f"2025-11-02T{first}"), utc(f"2025-11-02T{last}"))))
        for first, last in asked
    ]
    assert found == [1, 1, 0, 0]


def test_changes_outside_the_bounds_are_not_told() -> None:
    """A schedule that has not begun or is over does nothing there."""
    later = CronSchedule("30 2 * * *", NEW_YORK, start_ms=utc("2025-04-01T00:00"))
    earlier = CronSchedule("30 2 * * *", NEW_YORK, end_ms=utc("2025-03-01T00:00"))
    for schedule in (later, earlier):
        assert not list(clock_changes_among(schedule, *map(utc, SPRING)))


def test_what_is_told_is_what_happens() -> None:
    """For random schedules at every kind of change: so many runs in the stretch and at its end as the effect says."""
    random, seen = Random(262), dict[str, int]()  # noqa: S311 - reproducible, not secret
    gaps: list[Gap] = ["shift", "skip"]
    overlaps: list[Overlap] = ["first", "last", "both"]
    for _ in range(2_000):
        gap, overlap = random.choice(gaps), random.choice(overlaps)
        zone = random.choice(NASTY_ZONES)
        schedule = CronSchedule(random_expression(random, extended=True), zone, gap, overlap)
        from_ms = random.randrange(utc("1975-01-01T00:00"), utc("2060-01-01T00:00"))
        for change in clock_changes_among(schedule, from_ms, from_ms + 200 * 86_400_000):
            seen[change.effect] = seen.get(change.effect, 0) + 1
            assert runs_there(schedule, change) == runs_told(schedule, change), (schedule, change)
    assert set(seen) == {"unaffected", "moved", "skipped", "once", "twice"}


def runs_there(schedule: CronSchedule, change: ClockChange) -> tuple[int, ...]:
    """The runs in the repeated stretch, both passes, or those at the end of the skipped one."""
    length_ms = repeated_ms(change)
    if length_ms <= 0:
        return tuple(schedule.between(change.at_ms - 1, change.at_ms))
    return tuple(schedule.between(change.at_ms - length_ms - 1, change.at_ms + length_ms - 1))


def runs_told(schedule: CronSchedule, change: ClockChange) -> tuple[int, ...]:
    """The runs to be expected by the effect: those of the plain calendar, without a zone, mapped by hand."""
    length_ms = repeated_ms(change)
    plain = CronSchedule(schedule.expression)
    before_ms, after_ms = local_ms(change.before), local_ms(change.after)
    if length_ms <= 0:
        runs = plain.count(after_ms - 1, after_ms) or change.effect == "moved"
        return (change.at_ms,) if runs else ()
    times = list(plain.between(after_ms - 1, before_ms - 1))
    first = [change.at_ms - before_ms + time for time in times]
    second = [change.at_ms - after_ms + time for time in times]
    takes_first = change.effect == "twice" or "first" in change.detail
    takes_second = change.effect == "twice" or "second" in change.detail
    return tuple(first * takes_first + second * takes_second)


def repeated_ms(change: ClockChange) -> int:
    """The length of the repeated stretch; negative for a skipped one."""
    return local_ms(change.before) - local_ms(change.after)


def local_ms(text: str) -> int:
    """The wall clock time in a text with an offset."""
    return parse_local_time(text[: len("2025-11-02T01:00:00.000")])


ONE_OFFS: list[tuple[Any, ...]] = [
    ("moved", "2025-03-09T02:30:00", "shift", "first", "02:30 runs at 03:00 instead"),
    ("once", "2025-11-02T01:30:00", "shift", "first", "01:30 runs the first time only"),
    ("once", "2025-11-02T01:30:00", "shift", "last", "01:30 runs the second time only"),
]


@pytest.mark.parametrize(("effect", "text", "gap", "overlap", "told"), ONE_OFFS)
def test_a_single_local_time_is_told_what_becomes_of_it(
    effect: str, text: str, gap: Gap, overlap: Overlap, told: str
) -> None:
    """A one-off on a wall clock may be moved or have two readings."""
    at_ms = OneOff.at_local_time(text, NEW_YORK, gap, overlap).at_ms
    change = clock_change_met_by(find_zone(NEW_YORK), parse_local_time(text), at_ms)
    assert change is not None
    assert (change.effect, change.detail.split("; ")[1]) == (effect, told)


def test_an_ordinary_local_time_meets_no_change() -> None:
    """Most times exist once."""
    local = parse_local_time("2025-11-02T02:00:00")
    assert clock_change_met_by(find_zone(NEW_YORK), local, utc("2025-11-02T07:00")) is None
