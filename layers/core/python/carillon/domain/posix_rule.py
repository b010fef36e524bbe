"""The rule at the end of a zone file: when clocks change in the years after its list (POSIX TZ, as in RFC 9636).

Only what the zone files in use contain is read: `EST5EDT,M3.2.0,M11.1.0/2`, names in angle brackets, times of day from
-167 to 167 hours. Days by number (`J60`) are refused; no zone has them.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Self

from carillon.domain.instants import EPOCH_ORDINAL

DAY_SECONDS: Final = 86_400
HOUR_SECONDS: Final = 3_600
_DECEMBER: Final = 12

_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_CLOCK = r"[+-]?\d{1,3}(?::\d{2}(?::\d{2})?)?"
_DAY = r"M\d{1,2}\.[1-5]\.[0-6]"
_RULE = re.compile(
    rf"{_NAME}(?P<standard>{_CLOCK})"
    rf"(?:{_NAME}(?P<summer>{_CLOCK})?,(?P<start>{_DAY})(?:/(?P<start_time>{_CLOCK}))?"
    rf",(?P<end>{_DAY})(?:/(?P<end_time>{_CLOCK}))?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class _YearlyChange:
    """A change on the n-th weekday of a month, week 5 being the last; the time is read on the clock before it."""

    month: int
    week: int
    weekday: int
    clock_seconds: int
    offset_before: int
    offset_after: int

    @classmethod
    def parse(cls, day: str, clock: str | None, offset_before: int, offset_after: int) -> Self:
        month, week, weekday = map(int, day.removeprefix("M").split("."))
        return cls(month, week, weekday, _clock_seconds(clock or "2"), offset_before, offset_after)

    def in_year(self, year: int) -> tuple[int, int]:
        """The UTC epoch second of the change, and the offset after it."""
        return self._day_in(year) * DAY_SECONDS + self.clock_seconds - self.offset_before, self.offset_after

    def _day_in(self, year: int) -> int:
        first = date(year, self.month, 1).toordinal()
        day = first + (self.weekday - first) % 7 + (self.week - 1) * 7
        following_month = first + 31 if self.month == _DECEMBER else date(year, self.month + 1, 1).toordinal()
        return (day if day < following_month else day - 7) - EPOCH_ORDINAL


@dataclass(frozen=True, slots=True)
class PosixRule:
    """A standard offset, and the two yearly changes if there are any."""

    standard_offset: int
    changes: tuple[_YearlyChange, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the rule.

        Raises:
            ValueError: The text has another form.
        """
        match = _RULE.fullmatch(text)
        if match is None:
            raise ValueError("not a POSIX time zone rule of the form in use")
        standard = -_clock_seconds(match["standard"])
        if match["start"] is None:
            return cls(standard, ())
        summer = standard + HOUR_SECONDS if match["summer"] is None else -_clock_seconds(match["summer"])
        start = _YearlyChange.parse(match["start"], match["start_time"], standard, summer)
        end = _YearlyChange.parse(match["end"], match["end_time"], summer, standard)
        return cls(standard, (start, end))

    def changes_in(self, year: int) -> list[tuple[int, int]]:
        """The year's changes as (UTC epoch second, seconds east of UTC from then on), ascending."""
        return sorted(change.in_year(year) for change in self.changes)


def _clock_seconds(text: str) -> int:
    hours, minutes, seconds = (text.lstrip("+-") + ":0:0").split(":")[:3]
    size = int(hours) * HOUR_SECONDS + int(minutes) * 60 + int(seconds)
    return -size if text.startswith("-") else size
