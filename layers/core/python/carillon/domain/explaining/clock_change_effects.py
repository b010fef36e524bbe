"""The clock changes of a stretch of time, and what each does to a schedule."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from carillon.domain.clock_changes import LONGEST_GAP_S, end_of_gap, readings_of
from carillon.domain.cron import Cron
from carillon.domain.cron_days import bits
from carillon.domain.explaining.phrases import wall_clock, wall_date
from carillon.domain.explaining.time_words import is_all_hours
from carillon.domain.instants import MINUTE_MS, SECOND_MS, format_with_offset
from carillon.domain.nominal_times import end_or_last, start_or_first
from carillon.domain.schedule import CronSchedule
from carillon.domain.zones import Span, Zone, find_zone

Effect = Literal["unaffected", "moved", "skipped", "once", "twice"]
"""What happens to the times in the skipped or repeated stretch: there are none; they run at the first instant after the
gap; they do not run; they run at one of their two occurrences; they run at both."""

_LONGEST_STRETCH_S: Final = 24 * 3_600


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of a zone's clock.

    Attributes:
        at_ms: When it happens, epoch ms.
        before: What the clock would have shown then without the change, with the offset before it.
        after: What it shows then, with the offset after it.
        effect: What it does to the schedule.
        is_felt: Whether runs move, are left out or come twice; not so where a schedule runs on through all hours.
        detail: All this in a sentence.
    """

    at_ms: int
    before: str
    after: str
    effect: Effect
    is_felt: bool
    detail: str


def clock_changes_among(schedule: CronSchedule, from_ms: int, until_ms: int) -> Iterator[ClockChange]:
    """The clock changes that have to do with the times in (from, until], within the schedule's bounds, ascending.

    A change that makes the clock show a stretch twice has to do with both its occurrences.
    """
    from_s = max(from_ms, start_or_first(schedule.start_ms) - 1) // SECOND_MS
    until_s = min(until_ms, end_or_last(schedule.end_ms)) // SECOND_MS
    return (_change_for(schedule, span) for span in _changes_among(find_zone(schedule.timezone), from_s, until_s))


def clock_change_met_by(zone: Zone, local_ms: int, at_ms: int) -> ClockChange | None:
    """The clock change that a single wall clock time falls into, if any; `at_ms` is the instant that it became."""
    readings, moved_ms = readings_of(zone, local_ms), end_of_gap(zone, local_ms)
    met = _Times(1, local_ms, local_ms)
    if moved_ms is not None:
        return _change(zone.span_at(moved_ms // SECOND_MS - 1), "moved", _moved(met, at_ms, zone), is_felt=True)
    if len(readings) > 1:
        outcome = _once("first" if at_ms == readings[0] else "second", met)
        return _change(zone.span_at(readings[0] // SECOND_MS), "once", outcome, is_felt=True)
    return None


@dataclass(frozen=True, slots=True)
class _Times:
    """Times within the skipped or repeated stretch of a wall clock, which they name."""

    count: int
    first_ms: int
    last_ms: int

    @property
    def run(self) -> str:
        return "runs" if self.count == 1 else "run"

    def __str__(self) -> str:
        if self.count == 1:
            return wall_clock(self.first_ms)
        return f"the {self.count} times from {wall_clock(self.first_ms)} to {wall_clock(self.last_ms)}"


def _changes_among(zone: Zone, from_s: int, until_s: int) -> Iterator[Span]:
    """The spans at whose end the clock changes, so that times in (from, until] are skipped, made up or repeated."""
    span = zone.span_at(from_s - _LONGEST_STRETCH_S)
    while span.end_s <= until_s + _LONGEST_STRETCH_S:
        repeated_s = max(span.offset_s - span.offset_after_s, 0)
        if span.end_s - repeated_s <= until_s and span.end_s + repeated_s > from_s:
            yield span
        span = zone.span_at(span.end_s)


def _change_for(schedule: CronSchedule, span: Span) -> ClockChange:
    cron = Cron.parse(schedule.expression)
    times = _times_in(cron, *sorted((span.end_s + span.offset_s, span.end_s + span.offset_after_s)))
    if times is None:
        return _change(span, "unaffected", "no time of this schedule lies there", is_felt=False)
    effect, outcome = _outcome(schedule, span, times, follows_clock=cron.follows_clock)
    return _change(span, effect, outcome, is_felt=not (cron.follows_clock and is_all_hours(tuple(bits(cron.times)))))


def _times_in(cron: Cron, first_s: int, end_s: int) -> _Times | None:
    first_minute, end_minute = -(-first_s // 60), -(-end_s // 60)
    count = cron.count(first_minute, end_minute)
    first, last = cron.first_from(first_minute), cron.last_until(end_minute - 1)
    if not count or first is None or last is None:
        return None
    return _Times(count, first * MINUTE_MS, last * MINUTE_MS)


def _outcome(schedule: CronSchedule, span: Span, times: _Times, *, follows_clock: bool) -> tuple[Effect, str]:
    gained_s = span.offset_after_s - span.offset_s
    if gained_s > 0:
        if follows_clock:
            return "skipped", f"{times} {_not(times)} run: the schedule follows the clock"
        if schedule.dst_gap == "skip":
            return "skipped", f"{times} {_not(times)} run, as chosen"
        if gained_s > LONGEST_GAP_S:
            return "skipped", f"{times} {_not(times)} run: a jump of more than three hours is not made up"
        return "moved", _moved(times, span.end_s * SECOND_MS, find_zone(schedule.timezone))
    if follows_clock:
        return "twice", f"{times} {times.run} both times: the schedule follows the clock"
    if schedule.dst_overlap == "both":
        return "twice", f"{times} {times.run} both times, as chosen"
    return "once", _once("first" if schedule.dst_overlap == "first" else "second", times)


def _change(span: Span, effect: Effect, outcome: str, *, is_felt: bool) -> ClockChange:
    at_ms = span.end_s * SECOND_MS
    return ClockChange(
        at_ms,
        before=format_with_offset(at_ms, span.offset_s),
        after=format_with_offset(at_ms, span.offset_after_s),
        effect=effect,
        is_felt=is_felt,
        detail=f"{_stretch_words(span)}; {outcome}",
    )


def _stretch_words(span: Span) -> str:
    before_ms, after_ms = ((span.end_s + offset_s) * SECOND_MS for offset_s in (span.offset_s, span.offset_after_s))
    first_ms, end_ms = min(before_ms, after_ms), max(before_ms, after_ms)
    date, end_date = wall_date(first_ms), wall_date(end_ms)
    stretch = f"{wall_clock(first_ms)} to {'' if date == end_date else end_date + ' '}{wall_clock(end_ms)}"
    return f"On {date} the clock skips {stretch}" if after_ms > before_ms else f"On {date} {stretch} comes twice"


def _moved(times: _Times, at_ms: int, zone: Zone) -> str:
    shown = wall_clock(at_ms + zone.span_at(at_ms // SECOND_MS).offset_s * SECOND_MS)
    return f"{times} {times.run} {'' if times.count == 1 else 'once, '}at {shown} instead"


def _once(occurrence: str, times: _Times) -> str:
    return f"{times} {times.run} the {occurrence} time only"


def _not(times: _Times) -> str:
    return "does not" if times.count == 1 else "do not"
