"""The grammar of a cron expression's five fields.

Each field is a list of entries with commas between them: `*`, a value, a range `a-b` that runs upwards, each with an
optional step `/n`. A single value with a step runs to the end of the field's range. A step is at most the number of
values in the field. Months and weekdays have English names of three letters, in any case; 7 is Sunday too. The day of
the month knows `L`, `L-n`, `nW` and `LW`; the day of the week knows `nL` and `n#k`. `?` may stand for a `*` alone in
either day field.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, Protocol, Self, TypeVar

from carillon.domain.cron_days import EVERY_WEEK, DaysOfMonth, DaysOfWeek, bits
from carillon.domain.schedule_error import ScheduleError

_PLAIN = re.compile(r"(?:\*|(?P<first>[0-9]+|[A-Z]+)(?:-(?P<last>[0-9]+|[A-Z]+))?)(?:/(?P<step>[0-9]+))?")
_BEFORE_END = re.compile(r"L(?:-(?P<distance>[0-9]+))?")
_WORKDAY = re.compile(r"(?P<day>[0-9]+)W")
_LAST_WEEKDAY = re.compile(r"(?P<weekday>[0-9]+|[A-Z]{3})L")
_NTH_WEEKDAY = re.compile(r"(?P<weekday>[0-9]+|[A-Z]{3})#(?P<nth>[0-9]+)")
_RANDOM = re.compile(r"[HR](?:\(.*\))?(?:/.*)?")


@dataclass(frozen=True, slots=True)
class FieldKind:
    """One of the five fields: its name, its range, the names of its values, and what is allowed, in words."""

    name: str
    lowest: int
    highest: int
    allowed: str
    value_names: tuple[str, ...] = ()
    size: int = 0

    def refusal(self, detail: str) -> ScheduleError:
        """The refusal of this field."""
        return ScheduleError("cron", f"the {self.name} field {detail}", self.allowed)

    def value(self, text: str) -> int:
        """Read a number or a name.

        Raises:
            ScheduleError: It is neither, or out of range.
        """
        if text in self.value_names:
            return self.lowest + self.value_names.index(text)
        if not text.isdecimal():
            raise self.refusal("has a word that it does not know")
        return self.number(text, self.lowest, self.highest, "a value")

    def number(self, text: str, lowest: int, highest: int, what: str) -> int:
        """Read a number within limits.

        Raises:
            ScheduleError: It is out of range.
        """
        number = int(text)
        if not lowest <= number <= highest:
            raise self.refusal(f"has {what} out of range {lowest}-{highest}")
        return number


MINUTE: Final = FieldKind("minute", 0, 59, "0-59, *, lists, ranges and steps such as 0,30 or */15", size=60)
HOUR: Final = FieldKind("hour", 0, 23, "0-23, *, lists, ranges and steps such as 9-17 or */6", size=24)
DAY_OF_MONTH: Final = FieldKind(
    "day-of-month", 1, 31, "1-31, *, ?, lists, ranges and steps, and L, L-3, 15W, LW", size=31
)
MONTH: Final = FieldKind(
    "month",
    1,
    12,
    "1-12 or JAN-DEC, *, lists, ranges and steps",
    ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
    size=12,
)
DAY_OF_WEEK: Final = FieldKind(
    "day-of-week",
    0,
    7,
    "0-7 or SUN-SAT, *, ?, lists, ranges and steps, and 5L (last Friday), MON#2 (second Monday)",
    ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"),
    size=7,
)


def plain_mask(kind: FieldKind, entry: str) -> int:
    """Read one entry of `*`, values, ranges and steps: bit v for value v.

    Raises:
        ScheduleError: The entry is not of that form.
    """
    match = _PLAIN.fullmatch(entry)
    if match is None:
        raise kind.refusal(_what_is_wrong(entry))
    step = 1 if match["step"] is None else kind.number(match["step"], 1, kind.size, "a step")
    first, last = kind.lowest, kind.highest
    if match["first"] is not None:
        first = kind.value(match["first"])
        last = first if match["step"] is None else last
    if match["last"] is not None:
        last = kind.value(match["last"])
    if last < first:
        raise kind.refusal("has a range that runs downwards: write both parts, such as 22-23,0-2, and Sunday as 7")
    return sum(1 << value for value in range(first, last + 1, step))


def month_days(entry: str) -> DaysOfMonth:
    """Read one entry of the day-of-month field."""
    kind = DAY_OF_MONTH
    if entry == "LW":
        return DaysOfMonth(last_workday=True)
    if match := _BEFORE_END.fullmatch(entry):
        distance = kind.number(match["distance"] or "0", 0, 30, "a distance from the last day")
        return DaysOfMonth(before_end=1 << distance)
    if match := _WORKDAY.fullmatch(entry):
        return DaysOfMonth(workdays=1 << kind.value(match["day"]))
    return DaysOfMonth(plain=plain_mask(kind, entry))


def week_days(entry: str) -> DaysOfWeek:
    """Read one entry of the day-of-week field."""
    kind = DAY_OF_WEEK
    if match := _LAST_WEEKDAY.fullmatch(entry):
        return DaysOfWeek(last=1 << kind.value(match["weekday"]) % 7)
    if match := _NTH_WEEKDAY.fullmatch(entry):
        nth = kind.number(match["nth"], 1, 5, "a week of the month")
        return DaysOfWeek(nth=1 << 7 * (nth - 1) + kind.value(match["weekday"]) % 7)
    return DaysOfWeek(nth=sum(EVERY_WEEK << weekday for weekday in {day % 7 for day in bits(plain_mask(kind, entry))}))


class _Joinable(Protocol):
    def __or__(self, other: Self, /) -> Self: ...


_Entry = TypeVar("_Entry", bound=_Joinable)


def join_entries(kind: FieldKind, field: str, read: Callable[[str], _Entry]) -> _Entry:
    """Read a field's entries and join them.

    Raises:
        ScheduleError: An entry is empty or refused by `read`.
    """
    entries = field.split(",")
    if "" in entries:
        raise kind.refusal("has an empty entry")
    if any(_RANDOM.fullmatch(entry) for entry in entries):
        raise ScheduleError(
            "cron",
            f"the {kind.name} field asks for a value of our choice (H or R)",
            "a fixed value; to spread jobs over time set `window`",
        )
    return reduce(or_, map(read, entries))


def plain_field(kind: FieldKind, field: str) -> int:
    """Read a whole field of plain entries."""
    return join_entries(kind, field, lambda entry: plain_mask(kind, entry))


def _what_is_wrong(entry: str) -> str:
    if "?" in entry:
        return "has a ?, which stands alone and only in the day fields"
    if entry.startswith("L") and entry != "L":
        return "has L before a weekday: it stands behind, such as 5L"
    return "has an entry that cannot be read"
