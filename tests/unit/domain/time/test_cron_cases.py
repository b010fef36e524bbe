"""Cron expressions: what they mean on a clock that never changes, and what is refused."""

import pytest

from carillon.domain.cron import LONGEST_EXPRESSION, Cron
from carillon.domain.schedule import CronSchedule, ScheduleError
from tests.unit.domain.time.tables import following, instants, utc

MEANINGS = [
    (
        "B001",
        "0 9 1,15 * 1",
        "2026-06-01T09:00",
        "2026-06-08T09:00 2026-06-15T09:00 2026-06-22T09:00 2026-06-29T09:00 2026-07-01T09:00",
    ),
    ("B002", "0 9 */2 * 1", "2026-06-01T09:00", "2026-06-15T09:00 2026-06-29T09:00 2026-07-13T09:00 2026-07-27T09:00"),
    ("B004", "0 0 * * */2", "2026-01-02T00:00", "2026-01-03T00:00 2026-01-04T00:00 2026-01-06T00:00 2026-01-08T00:00"),
    ("B005", "* * * * */3", "2018-02-08T00:00", "2018-02-10T00:00"),
    ("B007", "0 9 * * 5-7", "2026-06-01T00:00", "2026-06-05T09:00 2026-06-06T09:00 2026-06-07T09:00 2026-06-12T09:00"),
    (
        "B008-from-0",
        "0 9 * * 0-7/2",
        "2026-06-01T00:00",
        "2026-06-02T09:00 2026-06-04T09:00 2026-06-06T09:00 2026-06-07T09:00 2026-06-09T09:00",
    ),
    (
        "B008-from-1",
        "0 9 * * 1-7/2",
        "2026-06-01T00:00",
        "2026-06-01T09:00 2026-06-03T09:00 2026-06-05T09:00 2026-06-07T09:00 2026-06-08T09:00",
    ),
    ("B013", "0 0 31 2 1", "2026-01-01T00:00", "2026-02-02T00:00 2026-02-09T00:00 2026-02-16T00:00"),
    ("B014-across-2100", "0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"),
    ("B014", "0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00 2032-02-29T00:00 2036-02-29T00:00"),
    ("B016-minutes", "5/15 * * * *", "2026-06-01T00:00", "2026-06-01T00:05 00:20 00:35 00:50"),
    ("B016-days", "0 0 1/1 * *", "2020-02-26T11:37:35", "2020-02-27T00:00"),
    ("B017-step-60", "*/60 * * * *", "2026-06-01T00:30", "2026-06-01T01:00 02:00"),
    ("B017-step-7", "0 9 * * */7", "2026-06-01T00:00", "2026-06-07T09:00 2026-06-14T09:00"),
    ("B020-blanks", " \t0  9 *\t* 1 ", "2026-06-01T09:00", "2026-06-08T09:00"),
    ("B022-last-friday", "0 0 * * 5L", "2026-06-02T00:00", "2026-06-26T00:00 2026-07-31T00:00"),
    ("B022-last-friday-by-name", "0 0 * * FriL", "2026-06-02T00:00", "2026-06-26T00:00 2026-07-31T00:00"),
    ("B022-last-sunday-as-7", "0 0 * * 7L", "2026-06-02T00:00", "2026-06-28T00:00"),
    ("B022-workday-saturday", "0 0 15W * *", "2026-08-01T00:00", "2026-08-14T00:00 2026-09-15T00:00"),
    ("B022-workday-sunday", "0 0 15W * *", "2026-11-01T00:00", "2026-11-16T00:00"),
    ("B022-workday-stays-behind-first", "0 0 1W * *", "2026-07-31T00:00", "2026-08-03T00:00"),
    ("B022-workday-stays-before-last", "0 0 31W * *", "2026-05-01T00:00", "2026-05-29T00:00 2026-07-31T00:00"),
    ("B022-last-workday", "0 0 LW * *", "2026-05-01T00:00", "2026-05-29T00:00 2026-06-30T00:00"),
    ("B022-last-day", "0 0 L 2 *", "2026-01-01T00:00", "2026-02-28T00:00 2027-02-28T00:00 2028-02-29T00:00"),
    ("B022-before-last-day", "0 0 L-3 * *", "2026-02-01T00:00", "2026-02-25T00:00 2026-03-28T00:00"),
    ("B022-first-by-distance", "0 0 L-30 * *", "2026-02-01T00:00", "2026-03-01T00:00 2026-05-01T00:00"),
    ("B022-specials-in-a-list", "0 0 1,L * *", "2026-02-02T00:00", "2026-02-28T00:00 2026-03-01T00:00"),
    ("B022-question-mark", "0 0 ? * 1", "2026-06-02T00:00", "2026-06-08T00:00"),
    ("B022-question-mark-for-weekday", "0 0 15 * ?", "2026-06-02T00:00", "2026-06-15T00:00"),
    ("B023", "0 0 * * 1#5", "2026-06-02T00:00", "2026-06-29T00:00 2026-08-31T00:00 2026-11-30T00:00"),
    ("B023-sunday-as-7", "0 0 * * 7#1", "2026-06-02T00:00", "2026-06-07T00:00"),
    ("B023-by-name", "0 9 * * mon#2", "2026-06-02T00:00", "2026-06-08T09:00"),
    ("B025", "0 * * * 1-5", "2016-02-29T11:00", "2016-02-29T12:00"),
    ("B026", "0 6 * * 0", "2015-11-27T15:15", "2015-11-29T06:00 2015-12-06T06:00"),
    ("B026-midweek", "0 3 * * 3", "2015-09-18T12:00", "2015-09-23T03:00"),
    ("names", "0 0 * jan-MAR,Dec Mon-fri", "2026-03-30T12:00", "2026-03-31T00:00 2026-12-01T00:00"),
    ("full-range-is-no-star", "0 0 1-31 * 1", "2026-06-02T00:00", "2026-06-03T00:00 2026-06-04T00:00"),
    ("star-in-front-of-a-list", "0 0 *,5 * 1", "2026-06-02T00:00", "2026-06-08T00:00"),
    ("@hourly", "@hourly", "2026-06-01T00:30", "2026-06-01T01:00"),
    ("@daily", "@daily", "2026-06-01T00:30", "2026-06-02T00:00"),
    ("@midnight", "@midnight", "2026-06-01T00:30", "2026-06-02T00:00"),
    ("@weekly", "@weekly", "2026-06-01T00:30", "2026-06-07T00:00"),
    ("@monthly", "@MONTHLY", "2026-06-01T00:30", "2026-07-01T00:00"),
    ("@yearly", "@yearly", "2026-06-01T00:30", "2027-01-01T00:00"),
    ("@annually", "@annually", "2026-06-01T00:30", "2027-01-01T00:00"),
]

REFUSALS = [
    ("B010-minutes", "30-10 * * * *", "minute", "downwards"),
    ("B010-hours", "0 22-2 * * *", "hour", "downwards"),
    ("B010-weekdays", "0 0 * * FRI-SUN", "day-of-week", "downwards"),
    ("B011-feb-31", "0 0 31 2 *", "no date", "matches"),
    ("B011-feb-30", "0 0 30 2 *", "no date", "matches"),
    ("B011-apr-31", "0 0 31 4 *", "no date", "matches"),
    ("B011-short-months", "0 0 31 2,4,6 *", "no date", "matches"),
    ("B011-feb-30-and-star", "0 0 30 2 */2", "no date", "matches"),
    ("B011-second-monday-on-1st", "0 0 */31 * 1#2", "no date", "matches"),
    ("B011-31W-in-june", "0 0 31W 6 *", "no date", "matches"),
    ("B011-before-february", "0 0 L-29 2 *", "no date", "matches"),
    ("B017-zero", "*/0 * * * *", "minute", "step out of range 1-60"),
    ("B017-90", "*/90 * * * *", "minute", "step out of range 1-60"),
    ("B019-underscore", "0 0 * * MON_FRI", "day-of-week", "cannot be read"),
    ("B019-long-name", "0 0 * * Monday", "day-of-week", "does not know"),
    ("B019-empty-entry", "1,,2 * * * *", "minute", "empty entry"),
    ("B019-open-list", "1, * * * *", "minute", "empty entry"),
    ("B019-minus", "-5 * * * *", "minute", "cannot be read"),
    ("B019-plus", "+5 * * * *", "minute", "cannot be read"),
    ("B019-python-number", "1_0 * * * *", "minute", "cannot be read"),
    ("B019-decimal", "1.5 * * * *", "minute", "cannot be read"),
    ("B019-arabic-five", "\u0665 * * * *", "characters", ""),
    ("B019-full-width-five", "\uff15 * * * *", "characters", ""),
    ("B019-full-width-star", "\uff0a * * * *", "characters", ""),
    ("B019-dotless-i", "0 0 * * fr\u0131", "characters", ""),
    ("B020-four-fields", "0 9 * *", "has 4 fields", ""),
    ("B020-six-fields", "0 0 9 * * 1", "has 6 fields", "seconds"),
    ("B020-seven-fields", "0 0 9 * * 1 2026", "has 7 fields", "seconds"),
    ("B020-newline", "0 9 * *\n1", "characters", ""),
    ("B020-newline-at-end", "0 9 * * 1\n", "characters", ""),
    ("B020-empty", "", "has 0 fields", ""),
    ("B020-blank", "   ", "has 0 fields", ""),
    ("B022-L-before-weekday", "0 0 * * L5", "day-of-week", "stands behind"),
    ("B022-L-alone-as-weekday", "0 0 * * L", "day-of-week", "does not know"),
    ("B022-H", "H H * * *", "hour", "H or R"),
    ("B022-H-in-range", "H(0-29)/10 * * * *", "minute", "H or R"),
    ("B022-R", "R * * * *", "minute", "H or R"),
    ("B022-question-mark-as-hour", "0 ? * * *", "hour", "only in the day fields"),
    ("B022-question-mark-in-list", "0 0 ?,1 * *", "day-of-month", "only in the day fields"),
    ("B022-last-day-with-step", "0 0 L/2 * *", "day-of-month", "does not know"),
    ("B022-range-of-workdays", "0 0 1W-5W * *", "day-of-month", "cannot be read"),
    ("B022-too-far-before-last", "0 0 L-31 * *", "day-of-month", "out of range 0-30"),
    ("B022-W-as-weekday", "0 0 * * 1W", "day-of-week", "cannot be read"),
    ("B023-sixth", "0 0 * * 1#6", "day-of-week", "out of range 1-5"),
    ("B023-zeroth", "0 0 * * 1#0", "day-of-week", "out of range 1-5"),
    ("minute-60", "60 * * * *", "minute", "out of range 0-59"),
    ("hour-24", "0 24 * * *", "hour", "out of range 0-23"),
    ("day-0", "0 0 0 * *", "day-of-month", "out of range 1-31"),
    ("month-13", "0 0 * 13 *", "month", "out of range 1-12"),
    ("weekday-8", "0 0 * * 8", "day-of-week", "out of range 0-7"),
    ("name-of-another-field", "0 0 * MON *", "month", "does not know"),
    ("huge-number", f"{'9' * 150} * * * *", "minute", "out of range"),
    ("@reboot", "@reboot", "@reboot", "nothing reboots"),
    ("@every", "@every 5m", "@every", "not a cron expression"),
    ("@unknown", "@fortnightly", "alias", ""),
    ("too-long", "0 0 * * 1" + " " * LONGEST_EXPRESSION, "too long", ""),
]


@pytest.mark.parametrize(
    ("expression", "after", "expected"), [pytest.param(*case, id=name) for name, *case in MEANINGS]
)
def test_an_expression_matches_these_times(expression: str, after: str, expected: str) -> None:
    """In UTC the fires strictly after an instant are these, in this order."""
    wanted = instants(expected)
    assert following(CronSchedule(expression), utc(after), len(wanted)) == wanted


@pytest.mark.parametrize(("expression", "where", "what"), [pytest.param(*case, id=name) for name, *case in REFUSALS])
def test_a_bad_expression_is_refused_with_a_reason(expression: str, where: str, what: str) -> None:
    """A refusal belongs to the field `cron`, names the part at fault and never repeats the input."""
    with pytest.raises(ScheduleError) as refusal:
        Cron.parse(expression)
    assert refusal.value.field == "cron"
    assert where in refusal.value.detail
    assert what in refusal.value.detail
    assert refusal.value.allowed


@pytest.mark.parametrize(
    ("expression", "hint"),
    [("@every 5m", '{"every": duration}'), ("@reboot", '{"delay": duration}'), ("H * * * *", "`window`")],
)
def test_a_foreign_dialect_gets_a_hint(expression: str, hint: str) -> None:
    """What other schedulers offer is refused with what to use here."""
    with pytest.raises(ScheduleError) as refusal:
        Cron.parse(expression)
    assert hint in refusal.value.allowed


@pytest.mark.parametrize(
    ("expression", "follows"),
    [
        ("* * * * *", True),
        ("*/15 2 * * *", True),
        ("0 */2 * * *", True),
        ("@hourly", True),
        ("0,15,30,45 2 * * *", False),
        ("0 0-23/2 * * *", False),
        ("0-59 0-23 * * *", False),
        ("@daily", False),
    ],
)
def test_a_star_in_front_of_minute_or_hour_follows_the_clock(expression: str, follows: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only the first character of the two fields decides, not the set of values."""
    assert Cron.parse(expression).follows_clock is follows


def test_an_expression_keeps_its_spelling_but_for_blanks() -> None:
    """Users find again what they wrote, and equal expressions are stored equally."""
    assert CronSchedule(" 0\t9  * * mon-Fri ").expression == "0 9 * * mon-Fri"
    assert CronSchedule("0 9 * * 1 ") == CronSchedule("0 9 * * 1")
