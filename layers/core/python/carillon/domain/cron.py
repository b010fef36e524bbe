"""Cron expressions over the plain calendar: which wall clock minutes match, before any zone comes into it.

Wall clock minutes are counted from 1970-01-01T00:00 on the clock in question. The rules are those of Vixie's cron as
Debian ships it:

- If the day-of-month or the day-of-week field starts with `*` (stepped or not), a day must match both; otherwise either
  is enough.
- If the minute or the hour field starts with `*`, the expression *follows the clock*; otherwise it has *fixed times*.
  That matters when clocks change: see `zoned_cron`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Final

from carillon.domain import cron_fields
from carillon.domain.cron_days import DaysOfMonth, DaysOfWeek, MonthShape, bits, lowest_bit
from carillon.domain.instants import EPOCH_ORDINAL
from carillon.domain.schedule_error import ScheduleError

DAY_MINUTES: Final = 1440
LONGEST_EXPRESSION: Final = 200

_FIELDS: Final = 5
_FIRST_YEAR: Final = 1969  # where it is still 1969 when UTC enters 1970
_LEAP_YEAR: Final = 2000
_LAST_YEAR: Final = 9999
_LAST_DAY: Final = date.max.toordinal() - EPOCH_ORDINAL
_MONTH_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY: Final = 2
_SHORTEST_MONTH: Final = 28
_BLANKS: Final = re.compile("[ \t]+")
_ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ALLOWED: Final = (
    "five fields: minute, hour, day-of-month, month, day-of-week; or one of @hourly, @daily, @midnight, @weekly, "
    "@monthly, @yearly, @annually"
)


def _month_length(year: int, month: int) -> int:
    leap_day = month == _FEBRUARY and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTH_LENGTHS[month] + leap_day


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression.

    Attributes:
        text: The expression with single blanks, otherwise as written.
        times: Bit m for minute m of the day.
        months: Bit n for month n.
        month_days: The day-of-month field.
        week_days: The day-of-week field.
        both_day_fields: Whether a day must match both day fields, or either.
        follows_clock: Whether the minute or the hour field starts with `*`.
    """

    text: str
    times: int
    months: int
    month_days: DaysOfMonth
    week_days: DaysOfWeek
    both_day_fields: bool
    follows_clock: bool
    _days_by_shape: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def parse(text: str) -> "Cron":
        """Read an expression of five fields, or an alias such as `@daily`.

        Raises:
            ScheduleError: It cannot be read, or no date ever matches it. The detail names the field.
        """
        return _parse(text)

    def means(self, other: "Cron") -> bool:
        """Whether another expression says the same, field by field, however it is spelt: `@daily` is `0 0 * * *`."""
        return replace(self, text=other.text) == other

    def can_match(self) -> bool:
        """Whether any date matches. Every month of the calendar occurs with each weekday as its first day."""
        return any(
            self.days_in_month(MonthShape(first_weekday, length))
            for month in bits(self.months)
            for length in {_MONTH_LENGTHS[month], _month_length(_LEAP_YEAR, month)}
            for first_weekday in range(7)
        )

    def days_in_month(self, shape: MonthShape) -> int:
        """The days of such a month that match both day fields, or either: bit d for day d."""
        by_date, by_weekday = self.month_days.in_month(shape), self.week_days.in_month(shape)
        return by_date & by_weekday if self.both_day_fields else by_date | by_weekday

    def first_from(self, minute: int) -> int | None:
        """The first matching minute that is not before this one; None when the calendar ends before it."""
        day, minute_of_day = divmod(minute, DAY_MINUTES)
        if day > _LAST_DAY:
            return None
        today = date.fromordinal(day + EPOCH_ORDINAL)
        days = self._days_in(today.year, today.month)
        if days >> today.day & 1 and (later_times := self.times >> minute_of_day):
            return minute + lowest_bit(later_times)
        first_time = lowest_bit(self.times)
        if later_days := days >> today.day + 1:
            return (day + 1 + lowest_bit(later_days)) * DAY_MINUTES + first_time
        for year, month in self._months_after(today.year, today.month):
            if days := self._days_in(year, month):
                return _day_number(year, month, lowest_bit(days)) * DAY_MINUTES + first_time
        return None

    def last_until(self, minute: int) -> int | None:
        """The last matching minute that is not after this one; None when the calendar begins after it."""
        day, minute_of_day = divmod(minute, DAY_MINUTES)
        if day > _LAST_DAY:
            day, minute_of_day = _LAST_DAY, DAY_MINUTES - 1
        today = date.fromordinal(day + EPOCH_ORDINAL)
        days = self._days_in(today.year, today.month)
        if days >> today.day & 1 and (times := self.times & (2 << minute_of_day) - 1):
            return day * DAY_MINUTES + times.bit_length() - 1
        last_time = self.times.bit_length() - 1
        if days := days & (1 << today.day) - 1:
            return (day - today.day + days.bit_length() - 1) * DAY_MINUTES + last_time
        for year, month in self._months_before(today.year, today.month):
            if days := self._days_in(year, month):
                return _day_number(year, month, days.bit_length() - 1) * DAY_MINUTES + last_time
        return None

    def count(self, first: int, end: int) -> int:
        """How many minutes match from `first` on and before `end`."""
        if end <= first:
            return 0
        (first_day, first_minute), (end_day, end_minute) = divmod(first, DAY_MINUTES), divmod(end, DAY_MINUTES)
        whole_days = self._count_days(first_day, end_day) * self.times.bit_count()
        return whole_days - self._count_in_day(first_day, first_minute) + self._count_in_day(end_day, end_minute)

    def _count_in_day(self, day: int, end_minute: int) -> int:
        """Matching minutes of a day before a minute of that day."""
        if day > _LAST_DAY:
            return 0
        that = date.fromordinal(day + EPOCH_ORDINAL)
        matches = self._days_in(that.year, that.month) >> that.day & 1
        return matches * (self.times & (1 << end_minute) - 1).bit_count()

    def _count_days(self, first_day: int, end_day: int) -> int:
        """Matching days from one day number on and before another."""
        first = date.fromordinal(first_day + EPOCH_ORDINAL)
        end = date.fromordinal(min(end_day, _LAST_DAY) + EPOCH_ORDINAL)
        months = range(first.year * 12 + first.month, end.year * 12 + end.month)
        whole_months = sum(self._days_in((n - 1) // 12, (n - 1) % 12 + 1).bit_count() for n in months)
        return whole_months - self._count_in_month(first) + self._count_in_month(end)

    def _count_in_month(self, end: date) -> int:
        """Matching days of a month before a day of that month."""
        return (self._days_in(end.year, end.month) & (1 << end.day) - 1).bit_count()

    def _days_in(self, year: int, month: int) -> int:
        """The matching days of a month: bit d for day d."""
        if not self.months >> month & 1:
            return 0
        length = _month_length(year, month)
        first_weekday = date(year, month, 1).toordinal() % 7
        key = first_weekday * 4 + length - _SHORTEST_MONTH
        days = self._days_by_shape.get(key)
        if days is None:
            days = self._days_by_shape[key] = self.days_in_month(MonthShape(first_weekday, length))
        return days

    def _months_after(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        yield from ((year, later) for later in bits(self.months & (-2 << month)))
        for later_year in range(year + 1, _LAST_YEAR + 1):
            yield from ((later_year, each) for each in bits(self.months))

    def _months_before(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        descending = [*bits(self.months)][::-1]
        yield from ((year, earlier) for earlier in descending if earlier < month)
        for earlier_year in range(year - 1, _FIRST_YEAR - 1, -1):
            yield from ((earlier_year, each) for each in descending)


def _day_number(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - EPOCH_ORDINAL


@lru_cache(maxsize=4096)
def _parse(text: str) -> Cron:
    if len(text) > LONGEST_EXPRESSION:
        raise ScheduleError("cron", "too long", f"at most {LONGEST_EXPRESSION} characters")
    expression = _BLANKS.sub(" ", text.strip(" \t"))
    minute, hour, month_day, month, week_day = _split(expression)
    hours = cron_fields.plain_field(cron_fields.HOUR, hour)
    minutes = cron_fields.plain_field(cron_fields.MINUTE, minute)
    cron = Cron(
        text=expression,
        times=sum(minutes << 60 * each for each in bits(hours)),
        months=cron_fields.plain_field(cron_fields.MONTH, month),
        month_days=cron_fields.join_entries(cron_fields.DAY_OF_MONTH, month_day, cron_fields.month_days),
        week_days=cron_fields.join_entries(cron_fields.DAY_OF_WEEK, week_day, cron_fields.week_days),
        both_day_fields=month_day.startswith("*") or week_day.startswith("*"),
        follows_clock=minute.startswith("*") or hour.startswith("*"),
    )
    if not cron.can_match():
        raise ScheduleError("cron", "no date ever matches", "a day that at least one of the named months has")
    return cron


def _split(expression: str) -> list[str]:
    """The five fields in capital letters, an alias replaced, `?` written as the `*` that it means."""
    if not expression.isascii() or not expression.isprintable():
        raise ScheduleError("cron", "has characters that no cron expression has", "ASCII, fields apart by blanks")
    if expression.startswith("@"):
        return _expanded(expression.lower()).split(" ")
    parts = expression.upper().split(" ")
    if len(parts) != _FIELDS:
        raise _wrong_number_of_fields(len(parts) if expression else 0)
    minute, hour, month_day, month, week_day = parts
    return [minute, hour, "*" if month_day == "?" else month_day, month, "*" if week_day == "?" else week_day]


def _expanded(alias: str) -> str:
    if alias in _ALIASES:
        return _ALIASES[alias]
    if alias.startswith("@every"):
        raise ScheduleError("cron", "@every is not a cron expression", 'the schedule {"every": duration}')
    if alias == "@reboot":
        raise ScheduleError("cron", "@reboot has no meaning here: nothing reboots", 'the schedule {"delay": duration}')
    raise ScheduleError("cron", "not a known alias", _ALLOWED)


def _wrong_number_of_fields(count: int) -> ScheduleError:
    hint = ""
    if count in (_FIELDS + 1, _FIELDS + 2):
        hint = ": there is no field for seconds or years; for less than a minute use `every`"
    return ScheduleError("cron", f"has {count} field{'s' * (count != 1)}{hint}", _ALLOWED)
