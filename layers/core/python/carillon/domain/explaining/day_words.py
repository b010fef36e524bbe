"""The days and months of a cron expression in words: `on the 1st or on Monday`, `on odd dates and Monday`.

The names are our own: those of the `calendar` module are in the language of the host.
"""

from collections.abc import Sequence
from typing import Final

from carillon.domain.cron import Cron
from carillon.domain.cron_days import DaysOfMonth, DaysOfWeek, bits
from carillon.domain.explaining.phrases import even_step, joined, ordinal, runs_of

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH: Final = ("first", "second", "third", "fourth", "fifth")
_EVERY_WEEK: Final = tuple(range(5))
_ALL_DATES: Final = tuple(range(1, 32))
_NAMED_DATES: Final = {_ALL_DATES[::2]: "odd dates", _ALL_DATES[1::2]: "even dates"}
_FEWEST_OF_A_RUN: Final = 3
_FEWEST_OF_A_PATTERN: Final = 4


def day_words(cron: Cron) -> str:
    """On which days; an empty text for every day."""
    dates, weekdays = date_phrases(cron.month_days), weekday_phrases(cron.week_days)
    if cron.both_day_fields:
        return _both(dates, weekdays)
    return f"on {joined(dates)} or on {joined(weekdays)}" if dates and weekdays else ""


def month_words(months: int) -> str:
    """In which months (bit n for month n); an empty text for all of them."""
    names = _run_phrases([month - 1 for month in bits(months)], MONTHS)
    return "" if months.bit_count() == len(MONTHS) else f"in {joined(names)}"


def date_phrases(days: DaysOfMonth) -> tuple[str, ...]:
    """The day-of-month field, a phrase for each kind of day; none when it names every date."""
    plain = tuple(bits(days.plain))
    if plain == _ALL_DATES:
        return ()
    return (
        *_plain_dates(plain),
        *(f"the workday nearest to the {ordinal(day)}" for day in bits(days.workdays)),
        *(_before_end(distance) for distance in bits(days.before_end)),
        *(("the last workday of the month",) if days.last_workday else ()),
    )


def weekday_phrases(days: DaysOfWeek) -> tuple[str, ...]:
    """The day-of-week field, a phrase for each kind of day; none when it names every weekday."""
    weeks = [_weeks_of(days, weekday) for weekday in range(len(_WEEKDAYS))]
    whole = [weekday for weekday, named in enumerate(weeks) if named == _EVERY_WEEK]
    if len(whole) == len(_WEEKDAYS):
        return ()
    rest = [weekday for weekday in range(len(_WEEKDAYS)) if weekday not in whole]
    return (
        *_run_phrases(whole, _WEEKDAYS),
        *(f"the {joined([_NTH[n] for n in weeks[day]])} {_of_the_month(day)}" for day in rest if weeks[day]),
        *(f"the last {_of_the_month(day)}" for day in rest if days.last >> _cron_weekday(day) & 1),
    )


def _both(dates: Sequence[str], weekdays: Sequence[str]) -> str:
    if not dates or not weekdays:
        return f"on {joined(dates or weekdays)}" if dates or weekdays else ""
    if len(dates) == len(weekdays) == 1:
        return f"on {dates[0]} and {weekdays[0]}, when both hold"
    return f"on {joined(dates, 'or')}, if that is {joined(weekdays, 'or')}"


def _plain_dates(dates: tuple[int, ...]) -> tuple[str, ...]:
    if dates in _NAMED_DATES:
        return (_NAMED_DATES[dates],)
    step = even_step(dates)
    if step is not None and step > 1 and len(dates) >= _FEWEST_OF_A_PATTERN:
        return (f"every {ordinal(step)} date from the {ordinal(dates[0])} to the {ordinal(dates[-1])}",)
    return _run_phrases([date - 1 for date in dates], [f"the {ordinal(date)}" for date in _ALL_DATES])


def _before_end(distance: int) -> str:
    before = {0: "", 1: "the day before "}.get(distance, f"the {ordinal(distance)} day before ")
    return f"{before}the last day of the month"


def _of_the_month(weekday: int) -> str:
    return f"{_WEEKDAYS[weekday]} of the month"


def _weeks_of(days: DaysOfWeek, weekday: int) -> tuple[int, ...]:
    """In which weeks of the month a weekday is named, from 0."""
    return tuple(week for week in _EVERY_WEEK if days.nth >> (7 * week + _cron_weekday(weekday)) & 1)


def _cron_weekday(weekday: int) -> int:
    """Cron counts weekdays from Sunday, people (and ISO 8601) from Monday."""
    return (weekday + 1) % len(_WEEKDAYS)


def _run_phrases(numbers: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Names by their numbers; three or more in a row as first `to` last."""
    phrases: list[str] = []
    for first, last in runs_of(numbers):
        if last - first + 1 >= _FEWEST_OF_A_RUN:
            phrases.append(f"{names[first]} to {names[last]}")
        else:
            phrases += names[first : last + 1]
    return tuple(phrases)
