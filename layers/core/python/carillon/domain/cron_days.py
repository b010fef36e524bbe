"""Which days of a month a cron expression names, as bit masks: bit n stands for day n."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SUNDAY: Final = 0
SATURDAY: Final = 6
EVERY_WEEK: Final = sum(1 << 7 * week for week in range(5))


def lowest_bit(mask: int) -> int:
    """Number of the lowest bit that is set; the mask must not be zero."""
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> Iterator[int]:
    """Numbers of the bits that are set, ascending."""
    while mask:
        yield lowest_bit(mask)
        mask &= mask - 1


@dataclass(frozen=True, slots=True)
class MonthShape:
    """All that day rules need to know of a month: the weekday of its first day (0 = Sunday) and its length in days."""

    first_weekday: int
    length: int

    def weekday(self, day: int) -> int:
        """Weekday of a day of the month, 0 = Sunday."""
        return (self.first_weekday + day - 1) % 7

    def nearest_workday(self, day: int) -> int:
        """The day from Monday to Friday nearest to this one, without leaving the month."""
        weekday = self.weekday(day)
        if weekday == SATURDAY:
            return day - 1 if day > 1 else day + 2
        if weekday == SUNDAY:
            return day + 1 if day < self.length else day - 2
        return day


@dataclass(frozen=True, slots=True)
class DaysOfMonth:
    """The day-of-month field.

    Attributes:
        plain: Bit d for day d.
        before_end: Bit n for the day n days before the last (`L-n`; bit 0 is `L`).
        workdays: Bit d for the workday nearest to day d (`dW`).
        last_workday: Whether the last workday is named (`LW`).
    """

    plain: int = 0
    before_end: int = 0
    workdays: int = 0
    last_workday: bool = False

    def __or__(self, other: "DaysOfMonth") -> "DaysOfMonth":
        return DaysOfMonth(
            self.plain | other.plain,
            self.before_end | other.before_end,
            self.workdays | other.workdays,
            self.last_workday or other.last_workday,
        )

    def in_month(self, shape: MonthShape) -> int:
        """The named days that such a month has."""
        days = self.plain & ((2 << shape.length) - 2)
        for distance in bits(self.before_end):
            days |= 1 << (shape.length - distance) if distance < shape.length else 0
        for day in bits(self.workdays):
            days |= 1 << shape.nearest_workday(day) if day <= shape.length else 0
        return days | (1 << shape.nearest_workday(shape.length) if self.last_workday else 0)


@dataclass(frozen=True, slots=True)
class DaysOfWeek:
    """The day-of-week field.

    Attributes:
        nth: Bit 7 * (k - 1) + w for the k-th weekday w of the month (`w#k`); a plain weekday has all five.
        last: Bit w for the last weekday w of the month (`wL`).
    """

    nth: int = 0
    last: int = 0

    def __or__(self, other: "DaysOfWeek") -> "DaysOfWeek":
        return DaysOfWeek(self.nth | other.nth, self.last | other.last)

    def in_month(self, shape: MonthShape) -> int:
        """The named days that such a month has."""
        days = 0
        for day in range(1, shape.length + 1):
            weekday, weeks_before = shape.weekday(day), (day - 1) // 7
            is_last = day + 7 > shape.length
            if self.nth >> (7 * weeks_before + weekday) & 1 or (is_last and self.last >> weekday & 1):
                days |= 1 << day
        return days
