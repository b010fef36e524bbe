"""Warnings that come from the day fields: days that some months lack, and fields that are easily misread."""

from calendar import monthrange
from collections.abc import Iterator
from typing import Final

from carillon.domain.cron import Cron
from carillon.domain.cron_days import MonthShape, bits
from carillon.domain.explaining.day_words import MONTHS, date_phrases, weekday_phrases
from carillon.domain.explaining.phrases import joined
from carillon.domain.explaining.schedule_warning import ScheduleWarning

_COMMON_YEAR: Final = 2026
_LEAP_YEAR: Final = 2028


def day_warnings(cron: Cron) -> Iterator[ScheduleWarning]:
    """The warnings for an expression."""
    yield from _missing_days(cron)
    if not cron.both_day_fields:
        yield ScheduleWarning(
            "either_day_field",
            "Both day fields are restricted, so a day that matches either of them is enough. "
            "For a weekday of a certain week write MON#2 or 5L as the day of the week.",
        )
    elif date_phrases(cron.month_days) and weekday_phrases(cron.week_days):
        yield ScheduleWarning(
            "both_day_fields",
            "One of the day fields begins with *, so a day must match both of them; without the * either would do.",
        )


def _missing_days(cron: Cron) -> Iterator[ScheduleWarning]:
    days = {month: _days_by_first_weekday(cron, _COMMON_YEAR, month) for month in bits(cron.months)}
    missed = [month for month, by_first_weekday in days.items() if not any(by_first_weekday)]
    if len(missed) == len(days):
        yield ScheduleWarning("leap_day_only", "Its only day is 29 February, which comes in leap years only.")
    elif not all(all(by_first_weekday) for month, by_first_weekday in days.items() if month not in missed):
        yield ScheduleWarning("misses_months", "Not every month has such a day; nothing runs in those that do not.")
    elif missed:
        names = joined([_missed_name(cron, month) for month in missed], "or")
        yield ScheduleWarning(
            "misses_months", f"Nothing runs in {names}. For the last day of any month write L as the day of the month."
        )


def _days_by_first_weekday(cron: Cron, year: int, month: int) -> list[int]:
    """The matching days (as bits) of a month of that length, for each weekday that it may begin with."""
    length = monthrange(year, month)[1]
    return [cron.days_in_month(MonthShape(first_weekday, length)) for first_weekday in range(7)]


def _missed_name(cron: Cron, month: int) -> str:
    in_leap_years = any(_days_by_first_weekday(cron, _LEAP_YEAR, month))
    return f"{MONTHS[month - 1]}{' outside leap years' if in_leap_years else ''}"
