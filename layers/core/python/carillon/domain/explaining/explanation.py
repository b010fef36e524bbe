"""The explanation of a schedule: its words, its next occurrences, the clock changes among them, and warnings.

It asks the same schedule objects that plan and fire the runs, so that what is shown is what happens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from carillon.domain.cron import Cron
from carillon.domain.durations import format_duration
from carillon.domain.explaining.clock_change_effects import ClockChange, clock_change_met_by, clock_changes_among
from carillon.domain.explaining.course_warnings import (
    clock_change_warning,
    clock_change_warnings,
    density_warnings,
    end_warnings,
)
from carillon.domain.explaining.day_warnings import day_warnings
from carillon.domain.explaining.schedule_warning import ScheduleWarning
from carillon.domain.explaining.schedule_words import schedule_words
from carillon.domain.instants import LAST_INSTANT_MS, SECOND_MS, format_instant
from carillon.domain.job import LONGEST_WINDOW_MS, MOST_RUNS
from carillon.domain.nominal_times import check_instant
from carillon.domain.schedule import CronSchedule, OneOff, Schedule, ScheduleError
from carillon.domain.zones import Zone, find_zone

MOST_OCCURRENCES: Final = 1_000
MOST_CLOCK_CHANGES: Final = 100


@dataclass(frozen=True, slots=True)
class ShownOccurrence:
    """A nominal time: epoch ms, and as the clock of the schedule's zone shows it, with the offset."""

    at_ms: int
    local: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a schedule means.

    Attributes:
        text: The schedule in one sentence.
        occurrences: The next nominal times, ascending.
        clock_changes: The first 100 between these occurrences, or before them with an effect, ascending.
        warnings: What its owner should know.
    """

    text: str
    occurrences: tuple[ShownOccurrence, ...]
    clock_changes: tuple[ClockChange, ...]
    warnings: tuple[ScheduleWarning, ...]


def preview(
    schedule: Schedule,
    from_ms: int,
    count: int,
    window_ms: int = 0,
    *,
    timezone: str = "UTC",
    run_at_local_ms: int | None = None,
    max_runs: int | None = None,
) -> Explanation:
    """Explain a schedule as of an instant.

    Args:
        schedule: The object that plans and fires.
        from_ms: Occurrences strictly later than this are shown, and a single run at it; epoch ms.
        count: How many at most, from 1 to 1,000.
        window_ms: Over how long the runs of different jobs are spread.
        timezone: On whose clock a schedule without a zone of its own is shown.
        run_at_local_ms: The wall clock time on that clock as which a one-off was given, in ms since
            1970-01-01T00:00:00 there; None when it was given as an instant.
        max_runs: How many runs are left to it, if that is limited.

    Raises:
        ScheduleError: At `from`, `count`, `timezone`, `window` or `max_runs`.
    """
    check_instant(from_ms, "from")
    _check_number(count, "count", MOST_OCCURRENCES)
    _check_number(1 if max_runs is None else max_runs, "max_runs", MOST_RUNS)
    _check_window(window_ms)
    # A single run may be due at the very instant: whoever creates it then is not too late.
    after_ms = from_ms - 1 if isinstance(schedule, OneOff) else from_ms
    shown_ms = tuple(schedule.between(after_ms, LAST_INSTANT_MS, count if max_runs is None else min(count, max_runs)))
    zone = find_zone(schedule.timezone if isinstance(schedule, CronSchedule) else timezone)
    changes = tuple(islice(_clock_changes(schedule, zone, from_ms, shown_ms, run_at_local_ms), MOST_CLOCK_CHANGES))
    return Explanation(
        text=schedule_words(schedule, window_ms, max_runs),
        occurrences=tuple(ShownOccurrence(at_ms, _local(zone, at_ms)) for at_ms in shown_ms),
        clock_changes=changes,
        warnings=(
            *end_warnings(schedule, from_ms, shown_ms, is_cut=len(shown_ms) == max_runs),
            *_warnings_of_clocks_and_days(schedule, from_ms, changes),
            *density_warnings(schedule, from_ms, window_ms),
        ),
    )


def _check_number(number: int, field: str, most: int) -> None:
    if not 1 <= number <= most:
        raise ScheduleError(field, "out of range", f"a whole number from 1 to {most:,}")


def _check_window(window_ms: int) -> None:
    if window_ms > LONGEST_WINDOW_MS:
        raise ScheduleError("window", "out of range", f"up to {format_duration(LONGEST_WINDOW_MS)}")


def _clock_changes(
    schedule: Schedule, zone: Zone, from_ms: int, shown_ms: tuple[int, ...], run_at_local_ms: int | None
) -> Iterator[ClockChange]:
    if isinstance(schedule, CronSchedule) and shown_ms:
        changes = clock_changes_among(schedule, from_ms, shown_ms[-1])
        yield from (change for change in changes if change.effect != "unaffected" or change.at_ms > shown_ms[0])
    if isinstance(schedule, OneOff) and run_at_local_ms is not None:
        change = clock_change_met_by(zone, run_at_local_ms, schedule.at_ms)
        yield from () if change is None else (change,)


def _warnings_of_clocks_and_days(
    schedule: Schedule, from_ms: int, changes: tuple[ClockChange, ...]
) -> Iterator[ScheduleWarning]:
    if isinstance(schedule, CronSchedule):
        yield from clock_change_warnings(schedule, from_ms, changes)
        yield from day_warnings(Cron.parse(schedule.expression))
    else:
        yield from map(clock_change_warning, changes)


def _local(zone: Zone, at_ms: int) -> str:
    """The zone's reading, or UTC's where the zone's calendar is already beyond the year 9999."""
    is_last_day = at_ms + zone.span_at(at_ms // SECOND_MS).offset_s * SECOND_MS > LAST_INSTANT_MS
    return format_instant(at_ms) if is_last_day else zone.local_text(at_ms)
