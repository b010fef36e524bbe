"""Cron expressions on clocks that change."""

import pytest

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.instants import parse_instant
from carillon.domain.schedule import CronSchedule
from carillon.domain.zones import zone_data_version
from tests.unit.domain.time.tables import following, instants, utc

NEW_YORK, BERLIN, LOS_ANGELES = "America/New_York", "Europe/Berlin", "America/Los_Angeles"
TORONTO, LORD_HOWE, TROLL, CAIRO = "America/Toronto", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Cairo"

FIRES = [
    ("B028", "0 0 * * *", "Europe/Warsaw", "2017-03-25T23:00", "2017-03-26T22:00 2017-03-27T22:00"),
    (
        "B029",
        "30 * * * *",
        "Europe/Vienna",
        "2017-10-28T22:05",
        "2017-10-28T22:30 23:30 2017-10-29T00:30 01:30 02:30 03:30",
    ),
    ("B031", "0 1 * * *", BERLIN, "2020-10-24T00:00", "2020-10-24T23:00 2020-10-26T00:00 2020-10-27T00:00"),
    ("B032", "1 2 * * *", BERLIN, "2020-03-29T00:59:55", "2020-03-29T01:00 2020-03-30T00:01"),
    ("B034", "0 2 * * *", LOS_ANGELES, "2025-03-08T12:00", "2025-03-09T10:00 2025-03-10T09:00"),
    ("B035-before-gap", "30 2 * * *", NEW_YORK, "2025-03-09T06:59:59", "2025-03-09T07:00 2025-03-10T06:30"),
    ("B035-from-its-fire", "30 2 * * *", NEW_YORK, "2025-03-09T07:00", "2025-03-10T06:30"),
    ("B037", "30 1 * * *", NEW_YORK, "2025-11-02T05:45", "2025-11-03T06:30"),
    ("B038", "30 1 * * *", NEW_YORK, "2025-11-02T06:10", "2025-11-03T06:30"),
    ("B040", "15 0-4 * * *", NEW_YORK, "2025-11-02T06:01", "2025-11-02T07:15 08:15 09:15"),
    ("B043", "0 2 * * 0", BERLIN, "2024-10-27T00:30", "2024-11-03T01:00"),
    ("B044", "0 * * * *", LOS_ANGELES, "2021-11-07T07:30", "2021-11-07T08:00 09:00 10:00 11:00"),
    ("B047", "*/15 2 * * *", NEW_YORK, "2025-03-09T05:00", "2025-03-10T06:00 06:15 06:30"),
    ("B049-wildcard", "* 2 29 3 *", BERLIN, "2026-03-01T00:00", "2027-03-29T00:00"),
    ("B049-fixed", "0-59 2 29 3 *", BERLIN, "2026-03-01T00:00", "2026-03-29T01:00 2027-03-29T00:00"),
    ("B050", "0 */2 * * *", TORONTO, "2023-03-12T04:30", "2023-03-12T05:00 08:00 10:00 12:00"),
    ("B052", "0 1-23/2 * * *", TORONTO, "2023-11-05T04:30", "2023-11-05T05:00 08:00 10:00 12:00"),
    (
        "B053",
        "*/20 1 * * *",
        NEW_YORK,
        "2025-11-02T04:00",
        "2025-11-02T05:00 05:20 05:40 06:00 06:20 06:40 2025-11-03T06:00",
    ),
    ("B055", "0,30 2,3 * * *", NEW_YORK, "2025-03-09T06:00", "2025-03-09T07:00 07:30 2025-03-10T06:00 06:30"),
    ("B056", "0 12 * * 0", BERLIN, "2022-03-24T11:00", "2022-03-27T10:00"),
    ("B058", "0 17 * * *", NEW_YORK, "2016-03-12T22:00", "2016-03-13T21:00"),
    ("B059", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", "2018-11-04T03:00 2018-11-05T02:00"),
    ("B061", "30 0 * * 5", CAIRO, "2026-04-23T10:00", "2026-04-23T22:00 2026-04-30T21:30"),
    ("B062", "0 0 29 3 *", "Asia/Beirut", "2026-03-01T00:00", "2026-03-28T22:00"),
    ("B064", "30 23 * * 6", "America/Nuuk", "2026-03-28T12:00", "2026-03-29T01:00 2026-04-05T00:30"),
    ("B065", "0 0 * * *", "America/Havana", "2025-11-01T12:00", "2025-11-02T04:00 2025-11-03T05:00"),
    # IANA 2026f: Cuba does not change its clocks in autumn 2026.
    ("B065-with-2026f", "0 0 * * *", "America/Havana", "2026-10-31T12:00", "2026-11-01T04:00 2026-11-02T04:00"),
    ("B067", "30 23 * * 4", CAIRO, "2026-10-29T10:00", "2026-10-29T20:30 2026-11-05T21:30"),
    ("B068", "15 2 * * *", LORD_HOWE, "2026-10-03T12:00", "2026-10-03T15:30 2026-10-04T15:15"),
    ("B070", "30 * * * *", LORD_HOWE, "2026-04-04T13:00", "2026-04-04T13:30 14:30 15:00 16:00 17:00"),
    ("B071", "45 * * * *", LORD_HOWE, "2026-10-03T14:00", "2026-10-03T14:15 15:15 15:45 16:45"),
    ("B073", "30 1 * * *", TROLL, "2026-03-28T12:00", "2026-03-29T01:00 23:30"),
    ("B074", "30 1 * * *", TROLL, "2026-10-24T12:00", "2026-10-24T23:30 2026-10-26T01:30"),
    ("B076-vancouver", "0 9 * * *", "America/Vancouver", "2026-11-29T20:00", "2026-11-30T16:00"),
    ("B076-edmonton", "0 9 * * *", "America/Edmonton", "2026-11-29T20:00", "2026-11-30T15:00"),
    ("B076-casablanca", "0 9 * * *", "Africa/Casablanca", "2026-11-29T20:00", "2026-11-30T09:00"),
    ("B077", "0 9 1 12 *", "America/Vancouver", "2026-01-31T00:00", "2026-12-01T16:00"),
    ("B079", "* * * 5 *", LOS_ANGELES, "2022-02-22T18:39:51", "2022-05-01T07:00"),
    ("B014-eight-years-in-a-zone", "0 0 29 2 *", BERLIN, "2096-03-01T00:00", "2104-02-28T23:00 2108-02-28T23:00"),
    (
        "skipped-day-is-not-made-up",
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29T12:00",
        "2011-12-29T22:00 2011-12-30T22:00",
    ),
    (
        "skipped-day-follows-the-clock",
        "0 */12 * * *",
        "Pacific/Apia",
        "2011-12-29T12:00",
        "2011-12-29T22:00 2011-12-30T10:00 22:00",
    ),
    ("gap-of-three-hours", "30 1 * * *", "Antarctica/Casey", "2020-10-02T18:00", "2020-10-03T16:01 2020-10-04T14:30"),
    (
        "seconds-in-the-offset",
        "0 12 * * *",
        "Africa/Monrovia",
        "1971-06-01T00:00",
        "1971-06-01T12:44:30 1971-06-02T12:44:30",
    ),
    ("far-future", "30 2 * * *", NEW_YORK, "9998-03-08T05:00", "9998-03-08T07:00 9998-03-09T06:30"),
    ("end-of-time", "0 0 * * *", "Pacific/Kiritimati", "9999-12-29T12:00", "9999-12-30T10:00"),
]

COUNTS = [
    ("autumn", LOS_ANGELES, "2021-11-07T07:00", "2021-11-08T08:00", 100, 25),
    ("spring", NEW_YORK, "2022-03-13T05:00", "2022-03-14T04:00", 92, 23),
    ("half-hour-back", LORD_HOWE, "2026-04-04T13:00", "2026-04-05T13:30", 98, 24),
    ("half-hour-forth", LORD_HOWE, "2026-10-03T13:30", "2026-10-04T13:00", 94, 23),
]

CHOICES = [
    ("gap-shift", "30 2 * * *", "shift", "first", "2025-03-08T12:00", "2025-03-09T07:00 2025-03-10T06:30"),
    ("gap-skip", "30 2 * * *", "skip", "first", "2025-03-08T12:00", "2025-03-10T06:30 2025-03-11T06:30"),
    ("gap-skip-keeps-what-exists", "0,30 2,3 * * *", "skip", "first", "2025-03-09T06:00", "2025-03-09T07:00 07:30"),
    ("overlap-first", "30 1 * * *", "shift", "first", "2025-11-01T12:00", "2025-11-02T05:30 2025-11-03T06:30"),
    ("overlap-last", "30 1 * * *", "shift", "last", "2025-11-01T12:00", "2025-11-02T06:30 2025-11-03T06:30"),
    ("overlap-last-from-the-first-pass", "30 1 * * *", "shift", "last", "2025-11-02T05:30", "2025-11-02T06:30"),
    ("overlap-both", "30 1 * * *", "shift", "both", "2025-11-01T12:00", "2025-11-02T05:30 06:30 2025-11-03T06:30"),
    ("wildcard-ignores-gap", "*/30 2 * * *", "shift", "first", "2025-03-09T05:00", "2025-03-10T06:00"),
    (
        "wildcard-ignores-overlap",
        "*/30 1 * * *",
        "skip",
        "last",
        "2025-11-01T12:00",
        "2025-11-02T05:00 05:30 06:00 06:30",
    ),
]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"), [pytest.param(*case, id=name) for name, *case in FIRES]
)
def test_a_clock_change_is_met_by_the_rule(expression: str, zone: str, after: str, expected: str) -> None:
    """Fixed times survive a gap and fire once in an overlap; wildcards follow the clock."""
    wanted = instants(expected)
    assert following(CronSchedule(expression, zone), utc(after), len(wanted)) == wanted


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"), [pytest.param(*case, id=name) for name, *case in FIRES]
)
def test_looking_back_finds_the_same_fires(expression: str, zone: str, after: str, expected: str) -> None:
    """The fires listed backwards from the last are the fires listed forwards."""
    schedule, wanted = CronSchedule(expression, zone), instants(expected)
    assert list(schedule.newest(utc(after), wanted[-1], 100)) == wanted
    assert schedule.count(utc(after), wanted[-1]) == len(wanted)


def test_b041_the_fire_before_the_second_pass_is_that_of_the_first() -> None:
    """B041: looking back from inside a repeated hour finds its only fire, not yesterday's."""
    schedule = CronSchedule("30 1 * * *", NEW_YORK)
    assert schedule.previous_before(utc("2025-11-02T06:20")) == utc("2025-11-02T05:30")
    assert schedule.previous_before(utc("2025-11-02T06:40")) == utc("2025-11-02T05:30")


@pytest.mark.parametrize(
    ("zone", "first", "end", "quarters", "hours"), [pytest.param(*case, id=f"B046-{name}") for name, *case in COUNTS]
)
def test_a_local_day_has_its_own_length(zone: str, first: str, end: str, quarters: int, hours: int) -> None:
    """Days of 25, 23, 24.5 and 23.5 hours have so many quarters and full hours on the clock."""
    after, until = utc(first) - 1, utc(end) - 1
    for expression, expected in (("*/15 * * * *", quarters), ("0 * * * *", hours)):
        schedule = CronSchedule(expression, zone)
        assert schedule.count(after, until) == expected
        assert len(list(schedule.between(after, until))) == expected


@pytest.mark.parametrize(
    ("expression", "gap", "overlap", "after", "expected"), [pytest.param(*case, id=name) for name, *case in CHOICES]
)
def test_a_job_may_choose_another_rule(expression: str, gap: Gap, overlap: Overlap, after: str, expected: str) -> None:
    """`dst_gap` and `dst_overlap` change the fixed times of New York and leave wildcards alone."""
    schedule, wanted = CronSchedule(expression, NEW_YORK, gap, overlap), instants(expected)
    assert following(schedule, utc(after), len(wanted)) == wanted


def test_b076_the_zone_data_are_the_package_s() -> None:
    """B076: the rules in use are IANA 2026f or later, whatever the host has."""
    assert zone_data_version() >= "2026f"


def test_b080_times_are_compared_in_utc() -> None:
    """B080: 01:45 before the change is earlier than 01:30 after it, and the night has four hours up to 03:00."""
    summer, winter = parse_instant("2025-11-02T01:45:00-04:00"), parse_instant("2025-11-02T01:30:00-05:00")
    assert summer < winter
    night_ms = parse_instant("2025-11-02T03:00:00-05:00") - parse_instant("2025-11-02T00:00:00-04:00")
    assert night_ms == 4 * 3_600_000


def test_b082_one_invalid_local_time_stops_no_other_schedule() -> None:
    """B082: at the moment of the change each of a thousand schedules has its next fire."""
    tick = utc("2026-03-29T01:00:30")
    schedules = [CronSchedule(f"{n % 60} {n % 24} * * *", BERLIN) for n in range(999)] + [
        CronSchedule("30 2 * * *", BERLIN)
    ]
    upcoming = [schedule.next_after(tick) for schedule in schedules]
    assert all(instant is not None and tick < instant <= tick + 25 * 3_600_000 for instant in upcoming)
    assert schedules[-1].previous_before(tick) == utc("2026-03-29T01:00")


def test_a_schedule_that_only_names_skipped_hours_has_no_fire() -> None:
    """Every five minutes of hour 2 on the last Sunday in March: Berlin never has that hour, and the search ends."""
    schedule = CronSchedule("*/5 2 * 3 0L", BERLIN)
    assert schedule.next_after(utc("2026-01-01T00:00")) is None
    assert schedule.next_after(utc("9990-01-01T00:00")) is None
