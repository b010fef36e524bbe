"""Small pieces of English: ordinals, lists, clock readings, lengths of time."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from carillon.domain.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_with_offset

DAY_MINUTES: Final = 1_440

_TEENS: Final = range(11, 14)
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_UNITS: Final = (("day", DAY_MS), ("hour", HOUR_MS), ("minute", MINUTE_MS), ("second", SECOND_MS), ("millisecond", 1))
_DATE_LENGTH: Final = len("2026-10-12")
_MINUTE_LENGTH: Final = len("2026-10-12T08:00")
_SECOND_LENGTH: Final = len("2026-10-12T08:00:00")


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`, `23rd`."""
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def joined(parts: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last


def many(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def clock(minute_of_day: int) -> str:
    """`09:05`."""
    return f"{minute_of_day // 60:02}:{minute_of_day % 60:02}"


def even_step(numbers: Sequence[int]) -> int | None:
    """The distance between ascending numbers, when it is the same everywhere; None for fewer than two."""
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else None


def runs_of(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as stretches without a hole, each by its first and last."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        first = runs.pop()[0] if runs and runs[-1][1] == number - 1 else number
        runs.append((first, number))
    return runs


def duration_words(duration_ms: int) -> str:
    """`90 seconds` as `1 minute 30 seconds`; whole weeks stay days: `14 days`."""
    words, rest_ms = [], duration_ms
    for noun, unit_ms in _UNITS:
        count, rest_ms = divmod(rest_ms, unit_ms)
        if count:
            words.append(many(count, noun))
    return " ".join(words) or "no time"


def wall_date(wall_ms: int) -> str:
    """The date on a wall clock: `2026-10-12`."""
    return format_with_offset(wall_ms, 0)[:_DATE_LENGTH]


def wall_clock(wall_ms: int) -> str:
    """The time on a wall clock, to the minute or as fine as it is: `08:00`, `08:00:30`."""
    length = _SECOND_LENGTH if wall_ms % MINUTE_MS else _MINUTE_LENGTH
    return format_with_offset(wall_ms, 0)[_DATE_LENGTH + 1 : length]
