"""Schedules: when a job is to run, and the text in which a schedule is stored.

The text is short and canonical: one schedule has one text, and a text that `encode` would not write is refused.

    at|1790821800000
    every|60000|1790821800000||                      interval, anchor, start, end
    cron|shift|first|||Asia/Kolkata|0 2 * * *        gap, overlap, start, end, zone, expression
"""

import re
from typing import Final

from carillon.domain.clock_changes import as_gap, as_overlap
from carillon.domain.cron_schedule import CronSchedule
from carillon.domain.every import Every
from carillon.domain.nominal_times import Missed, Schedule
from carillon.domain.one_off import OneOff
from carillon.domain.schedule_error import ScheduleError

__all__ = ["CronSchedule", "Every", "Missed", "OneOff", "Schedule", "ScheduleError", "decode", "encode"]

_NUMBER: Final = "(0|[1-9][0-9]{0,15})"
_BOUND: Final = f"{_NUMBER}?"
_AT = re.compile(rf"at\|{_NUMBER}")
_EVERY = re.compile(rf"every\|{_NUMBER}\|{_NUMBER}\|{_BOUND}\|{_BOUND}")
_CRON = re.compile(rf"cron\|([a-z]+)\|([a-z]+)\|{_BOUND}\|{_BOUND}\|([^|]+)\|([^|]+)")


def encode(schedule: Schedule) -> str:
    """The text under which a schedule is stored; the same for equal schedules, always."""
    match schedule:
        case OneOff(at_ms):
            return f"at|{at_ms}"
        case Every(interval_ms, anchor_ms, start_ms, end_ms):
            return f"every|{interval_ms}|{anchor_ms}|{_bound_text(start_ms)}|{_bound_text(end_ms)}"
        case CronSchedule(expression, timezone, gap, overlap, start_ms, end_ms):
            return f"cron|{gap}|{overlap}|{_bound_text(start_ms)}|{_bound_text(end_ms)}|{timezone}|{expression}"
    raise TypeError(f"no stored form for {type(schedule).__name__}")


def decode(text: str) -> Schedule:
    """Read what `encode` wrote, and nothing else.

    Raises:
        ScheduleError: The text is damaged, or names a zone that the zone data no longer has.
    """
    schedule = _decode(text)
    if encode(schedule) != text:
        raise _damaged()
    return schedule


def _decode(text: str) -> Schedule:
    if match := _AT.fullmatch(text):
        return OneOff(int(match[1]))
    if match := _EVERY.fullmatch(text):
        interval, anchor, start, end = match.groups()
        return Every(int(interval), int(anchor), _bound(start), _bound(end))
    if match := _CRON.fullmatch(text):
        gap, overlap, start, end, timezone, expression = match.groups()
        return CronSchedule(expression, timezone, as_gap(gap), as_overlap(overlap), _bound(start), _bound(end))
    raise _damaged()


def _damaged() -> ScheduleError:
    return ScheduleError("schedule", "a stored schedule that cannot be read", "what was stored")


def _bound_text(bound_ms: int | None) -> str:
    return "" if bound_ms is None else str(bound_ms)


def _bound(text: str | None) -> int | None:
    return None if text is None else int(text)
