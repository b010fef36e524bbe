"""Schedules in words: exact, so that what reads alike runs alike."""

from random import Random

import pytest

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.cron import Cron
from carillon.domain.cron_days import MonthShape
from carillon.domain.explaining.phrases import duration_words, joined, ordinal
from carillon.domain.explaining.schedule_words import cron_words, schedule_words
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule
from tests.unit.domain.time.oracles import random_expression
from tests.unit.domain.time.tables import utc

NOON = utc("2026-10-12T12:00")

CRON_WORDS = [
    ("B259-either", "0 0 1 * 1", "At 00:00 on the 1st or on Monday"),
    ("B259-both", "0 9 */2 * 1", "At 09:00 on odd dates and Monday, when both hold"),
    ("B259-nth", "0 0 * * 1#2", "At 00:00 on the second Monday of the month"),
    ("every-minute", "* * * * *", "Every minute"),
    ("every-five", "*/5 * * * *", "Every 5 minutes"),
    ("every-five-as-a-list", "0,5,10,15,20,25,30,35,40,45,50,55 * * * *", "Every 5 minutes"),
    ("every-five-from-three", "3/5 * * * *", "Every 5 minutes from :03 to :58 of every hour"),
    ("step-that-does-not-divide", "*/7 * * * *", "Every 7 minutes from :00 to :56 of every hour"),
    ("step-over-half", "*/45 * * * *", "At :00 and :45 of every hour"),
    ("step-60", "*/60 * * * *", "Every hour at :00"),
    ("hourly", "15 * * * *", "Every hour at :15"),
    ("twice-an-hour", "15,45 * * * *", "At :15 and :45 of every hour"),
    ("minutes-in-a-row", "0-3,30 * * * *", "At :00 to :03 and :30 of every hour"),
    ("daily", "0 9 * * *", "At 09:00 every day"),
    ("few-times", "0 */6 * * *", "At 00:00, 06:00, 12:00 and 18:00 every day"),
    ("uneven-times", "0,20 1,5,7 * * *", "At 01:00, 01:20, 05:00, 05:20, 07:00 and 07:20 every day"),
    ("even-hours", "0 */2 * * *", "Every 2 hours from 00:00 to 22:00 every day"),
    ("odd-hours", "30 1-23/2 * * *", "Every 2 hours from 01:30 to 23:30 every day"),
    ("hours-that-do-not-divide", "0 */5 * * *", "Every 5 hours from 00:00 to 20:00 every day"),
    ("office-hours", "*/15 9-17 * * MON-FRI", "Every 15 minutes from 09:00 to 17:45 on Monday to Friday"),
    ("minutes-of-an-hour", "* 9 * * *", "Every minute from 09:00 to 09:59 every day"),
    ("half-an-hour", "0-29 9 * * *", "Every minute from 09:00 to 09:29 every day"),
    ("hours-in-two-runs", "* 0-3,20-23 * * *", "Every minute of the hours 00 to 03 and 20 to 23 every day"),
    (
        "steps-of-both",
        "*/15 */2 * * *",
        "Every 15 minutes from :00 to :45 of every 2nd hour from 00 to 22 every day",
    ),
    ("uneven-minutes", "1-5,30 2,4,6 * * *", "At :01 to :05 and :30 of the hours 02, 04 and 06 every day"),
    ("uneven-minutes-of-an-hour", "1-8,30 2 * * *", "At :01 to :08 and :30 of the hour 02 every day"),
    ("last-day", "0 0 L * *", "At 00:00 on the last day of the month"),
    ("before-last-day", "0 0 L-3 * *", "At 00:00 on the 3rd day before the last day of the month"),
    ("last-but-one", "0 0 L-1 * *", "At 00:00 on the day before the last day of the month"),
    ("workday", "0 0 15W * *", "At 00:00 on the workday nearest to the 15th"),
    ("last-workday", "0 0 LW * *", "At 00:00 on the last workday of the month"),
    (
        "kinds-of-dates",
        "0 0 3,L,15W,LW * *",
        (
            "At 00:00 on the 3rd, the workday nearest to the 15th, the last day of the month "
            "and the last workday of the month"
        ),
    ),
    ("last-friday", "0 0 * * 5L", "At 00:00 on the last Friday of the month"),
    (
        "kinds-of-weekdays",
        "0 0 * * 1#1,1#3,5L,SUN",
        "At 00:00 on Sunday, the first and third Monday of the month and the last Friday of the month",
    ),
    ("all-weeks", "0 0 * * 1#1,1#2,1#3,1#4,1#5", "At 00:00 on Monday"),
    ("last-of-a-plain-weekday", "0 0 * * 5,5L", "At 00:00 on Friday"),
    ("weekend", "0 9 * * 6,0", "At 09:00 on Saturday and Sunday"),
    ("sunday-as-7", "0 9 * * 5-7", "At 09:00 on Friday to Sunday"),
    ("stepped-weekdays", "0 0 * * */2", "At 00:00 on Tuesday, Thursday, Saturday and Sunday"),
    ("dates-in-a-row", "0 0 1-7,20,21 * *", "At 00:00 on the 1st to the 7th, the 20th and the 21st"),
    ("even-dates", "0 0 2-31/2 * *", "At 00:00 on even dates"),
    ("every-third-date", "0 0 */3 * *", "At 00:00 on every 3rd date from the 1st to the 31st"),
    ("full-range-of-dates-or-monday", "0 0 1-31 * 1", "At 00:00 every day"),
    ("star-and-monday", "0 0 */1 * 1", "At 00:00 on Monday"),
    ("either-with-all-weekdays", "0 0 1 * 0-6", "At 00:00 every day"),
    ("question-mark", "0 0 ? * 1", "At 00:00 on Monday"),
    (
        "both-lists",
        "0 0 1,15 * */2",
        "At 00:00 on the 1st or the 15th, if that is Tuesday, Thursday, Saturday or Sunday",
    ),
    ("months", "0 0 1 1-3,JUL *", "At 00:00 on the 1st in January to March and July"),
    ("month-of-either", "0 0 31 2 1", "At 00:00 on the 31st or on Monday, in February"),
    ("every-day-of-a-month", "0 12 * 12 *", "At 12:00 every day in December"),
    ("every-minute-of-a-month", "* * * 5 *", "Every minute in May"),
    ("leap-day", "0 0 29 2 *", "At 00:00 on the 29th in February"),
    ("@hourly", "@hourly", "Every hour at :00"),
    ("@daily", "@daily", "At 00:00 every day"),
    ("@weekly", "@weekly", "At 00:00 on Sunday"),
    ("@monthly", "@monthly", "At 00:00 on the 1st"),
    ("@yearly", "@yearly", "At 00:00 on the 1st in January"),
]


@pytest.mark.parametrize(("expression", "words"), [pytest.param(*case, id=name) for name, *case in CRON_WORDS])
def test_an_expression_reads_so(expression: str, words: str) -> None:
    """The words say what the parsed expression matches, not how it was written."""
    assert cron_words(Cron.parse(expression)) == words


def meaning(cron: Cron) -> tuple[int, int, tuple[int, ...]]:
    """All that an expression matches on a plain calendar: times, months, days of every shape of month."""
    shapes = [MonthShape(first_weekday, length) for first_weekday in range(7) for length in range(28, 32)]
    return cron.times, cron.months, tuple(cron.days_in_month(shape) for shape in shapes)


def test_expressions_that_read_alike_match_alike() -> None:
    """Among thousands of expressions the same words never stand for different times."""
    random = Random(2026)  # noqa: S311 - reproducible, not secret
    meanings: dict[str, tuple[str, tuple[int, int, tuple[int, ...]]]] = {}
    for _ in range(3_000):
        cron = Cron.parse(random_expression(random, extended=True))
        assert meanings.setdefault(cron_words(cron), (cron.text, meaning(cron)))[1] == meaning(cron), cron.text
    assert len(meanings) > 1_000


def cron_schedule(gap: Gap, overlap: Overlap, zone: str = "Europe/Berlin", expression: str = "0 9 * * *") -> Schedule:
    """Nine o'clock, or something else, with choices for clock changes."""
    return CronSchedule(expression, zone, gap, overlap)


SCHEDULE_WORDS = [
    ("zone", cron_schedule("shift", "first"), "At 09:00 every day, Europe/Berlin time"),
    ("utc", CronSchedule("0 9 * * *"), "At 09:00 every day, UTC"),
    (
        "bounds",
        CronSchedule("0 9 * * *", start_ms=NOON, end_ms=NOON + 86_400_000),
        "At 09:00 every day, UTC, not before 2026-10-12T12:00:00.000Z, not after 2026-10-13T12:00:00.000Z",
    ),
    (
        "gap-skip",
        cron_schedule("skip", "first"),
        "At 09:00 every day, Europe/Berlin time; times that the clock skips are left out",
    ),
    (
        "overlap-last",
        cron_schedule("shift", "last"),
        "At 09:00 every day, Europe/Berlin time; times that the clock shows twice run the second time",
    ),
    (
        "both-choices",
        cron_schedule("skip", "both"),
        (
            "At 09:00 every day, Europe/Berlin time; times that the clock skips are left out, "
            "times that the clock shows twice run twice"
        ),
    ),
    (
        "choices-do-not-touch-wildcards",
        cron_schedule("skip", "both", expression="*/5 * * * *"),
        "Every 5 minutes, Europe/Berlin time",
    ),
    ("interval", Every(1_800_000, NOON), "Every 30 minutes, counted from 2026-10-12T12:00:00.000Z"),
    ("interval-from-start", Every(1_000, NOON, NOON), "Every second, counted from 2026-10-12T12:00:00.000Z"),
    (
        "interval-within-bounds",
        Every(5_400_000, NOON, NOON + 1, NOON + 5_400_000),
        (
            "Every 1 hour 30 minutes, counted from 2026-10-12T12:00:00.000Z, not before 2026-10-12T12:00:00.001Z, "
            "not after 2026-10-12T13:30:00.000Z"
        ),
    ),
    (
        "interval-of-days",
        Every(172_800_000, NOON),
        "Every 2 days, a day being 24 hours, counted from 2026-10-12T12:00:00.000Z",
    ),
    ("once", OneOff(NOON), "Once, at 2026-10-12T12:00:00.000Z"),
]


@pytest.mark.parametrize(("schedule", "words"), [pytest.param(*case, id=name) for name, *case in SCHEDULE_WORDS])
def test_a_schedule_reads_so(schedule: Schedule, words: str) -> None:
    """Zone, bounds and choices that differ from the usual ones are part of the sentence."""
    assert schedule_words(schedule) == words


def test_window_and_limit_belong_to_the_words() -> None:
    """What spreads or limits the runs is told too."""
    words = schedule_words(OneOff(NOON), window_ms=300_000, max_runs=1)
    assert words == (
        "Once, at 2026-10-12T12:00:00.000Z, at most 1 time; each job at its own constant delay of up to 5 minutes"
    )


def test_only_our_schedules_have_words() -> None:
    """A kind of schedule without words is a mistake of the program."""

    class Never(Schedule):
        def next_after(self, after_ms: int) -> None: ...

        def previous_before(self, before_ms: int) -> None: ...

        def count(self, after_ms: int, until_ms: int) -> int:
            return 0 * (until_ms - after_ms)

    with pytest.raises(TypeError, match="Never"):
        schedule_words(Never())


def test_ordinals_have_their_endings() -> None:
    """English has exceptions for the teens, in every hundred."""
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31, 111)
    assert " ".join(map(ordinal, numbers)) == "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 31st 111th"


def test_lists_are_joined_as_people_do() -> None:
    """One, two, many."""
    assert [joined(parts) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [
        (0, "no time"),
        (500, "500 milliseconds"),
        (90_000, "1 minute 30 seconds"),
        (1_209_600_000, "14 days"),
        (90_061_001, "1 day 1 hour 1 minute 1 second 1 millisecond"),
    ],
)
def test_a_duration_reads_so(duration_ms: int, words: str) -> None:
    """Units from days down, none left out that has a count."""
    assert duration_words(duration_ms) == words
