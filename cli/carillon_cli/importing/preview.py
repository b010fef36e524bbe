"""A dry run: what the rules of schedules say of each line, without asking the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carillon.domain.durations import parse_duration
from carillon.domain.instants import format_instant
from carillon.domain.schedule import CronSchedule, Every, Schedule, ScheduleError
from carillon_cli.importing.rows import BadLine, Row


@dataclass(frozen=True, slots=True)
class Planned:
    """A job that would be created. `first` is when it would fire first, or None."""

    row: Row
    first: str | None


def preview(row: Row, now_ms: int) -> Planned | BadLine:
    """What would become of a row, were it created now (epoch ms)."""
    try:
        first_ms = _schedule(row.schedule, now_ms).next_after(now_ms)
    except ScheduleError as error:
        return BadLine(row.line, str(error), row.name)
    return Planned(row, None if first_ms is None else format_instant(first_ms))


def _schedule(schedule: Mapping[str, Any], now_ms: int) -> Schedule:
    if "every" in schedule:
        return Every.anchored(parse_duration(schedule["every"], "every"), now_ms)
    return CronSchedule(schedule["cron"], schedule["timezone"])
