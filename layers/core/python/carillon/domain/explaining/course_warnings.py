"""Warnings that come from the course of a schedule: its end, the clock changes ahead, how close its times come."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from carillon.domain.cron import Cron
from carillon.domain.cron_days import bits
from carillon.domain.explaining.clock_change_effects import ClockChange, clock_changes_among
from carillon.domain.explaining.phrases import duration_words
from carillon.domain.explaining.schedule_warning import ScheduleWarning
from carillon.domain.instants import DAY_MS, FIRST_INSTANT_MS, LAST_INSTANT_MS, MINUTE_MS, format_instant
from carillon.domain.schedule import CronSchedule, OneOff, Schedule

MANY_RUNS_A_DAY: Final = 1_440
LOOK_AHEAD_MS: Final = 400 * DAY_MS
"""How far a clock change is looked for when none is among the occurrences shown: a year and some."""

_MOST_CHANGES: Final = 4
_CLOSELY_READ: Final = 200


def end_warnings(
    schedule: Schedule, from_ms: int, shown_ms: Sequence[int], *, is_cut: bool
) -> Iterator[ScheduleWarning]:
    """Whether the schedule comes to its end, or never begins.

    Args:
        schedule: One of ours.
        from_ms: The instant asked from, epoch ms.
        shown_ms: The nominal times shown, ascending; none only if there are none.
        is_cut: Whether a limit on the number of runs ends it after those.
    """
    if not shown_ms:
        yield _nothing_shown(schedule, from_ms)
    elif is_cut or (not isinstance(schedule, OneOff) and schedule.next_after(shown_ms[-1]) is None):
        yield ScheduleWarning("ends_soon", f"The last run is that of {format_instant(shown_ms[-1])}; nothing follows.")


def clock_change_warnings(
    schedule: CronSchedule, from_ms: int, among: Sequence[ClockChange]
) -> Iterator[ScheduleWarning]:
    """The clock changes that are felt: those among the occurrences shown, or else the first of the coming 400 days."""
    felt = [change for change in among if change.is_felt][:_MOST_CHANGES]
    if not felt:
        ahead = clock_changes_among(schedule, from_ms, min(from_ms + LOOK_AHEAD_MS, LAST_INSTANT_MS))
        felt = list(islice((change for change in ahead if change.is_felt), 1))
    return map(clock_change_warning, felt)


def clock_change_warning(change: ClockChange) -> ScheduleWarning:
    """The warning of one clock change."""
    return ScheduleWarning("clock_change_ahead", f"{change.detail}.")


def density_warnings(schedule: Schedule, from_ms: int, window_ms: int) -> Iterator[ScheduleWarning]:
    """Times that come closer than the window over which runs are spread (ms), or very often."""
    upcoming = list(schedule.between(from_ms, LAST_INSTANT_MS, _CLOSELY_READ))
    closest_ms = min(_distances(schedule, upcoming), default=None)
    if closest_ms is not None and closest_ms < window_ms:
        yield ScheduleWarning(
            "several_per_window",
            f"Occurrences come {duration_words(closest_ms)} apart, less than the window of "
            f"{duration_words(window_ms)}: a run may start only when the next is due already.",
        )
    runs_a_day = schedule.count(upcoming[0] - 1, upcoming[0] - 1 + DAY_MS) if upcoming else 0
    if runs_a_day >= MANY_RUNS_A_DAY:
        yield ScheduleWarning("very_frequent", f"This is {runs_a_day:,} runs a day.")


def _nothing_shown(schedule: Schedule, from_ms: int) -> ScheduleWarning:
    if isinstance(schedule, CronSchedule) and schedule.end_ms is None:
        clock = f"the clock of {schedule.timezone}"
        return ScheduleWarning("never_fires", f"From here on {clock} never shows a time of this schedule.")
    if schedule.next_after(FIRST_INSTANT_MS - 1) is None:
        return ScheduleWarning("never_fires", "No time of this schedule lies between its start and its end.")
    last_ms = schedule.previous_before(from_ms + 1)
    last = "" if last_ms is None else f" The last run was that of {format_instant(last_ms)}."
    return ScheduleWarning("nothing_ahead", f"Nothing lies ahead.{last}")


def _distances(schedule: Schedule, upcoming: Sequence[int]) -> Iterator[int]:
    yield from (later - earlier for earlier, later in pairwise(upcoming))
    if isinstance(schedule, CronSchedule):
        times = bits(Cron.parse(schedule.expression).times)
        yield from ((later - earlier) * MINUTE_MS for earlier, later in pairwise(times))
