"""The schedule that fires once."""

from dataclasses import dataclass
from typing import Self

from carillon.domain.clock_changes import Gap, Overlap, as_gap, as_overlap, end_of_gap, readings_of
from carillon.domain.instants import parse_instant, parse_local_time
from carillon.domain.nominal_times import Schedule, check_instant
from carillon.domain.schedule_error import ScheduleError
from carillon.domain.zones import Zone, find_zone


@dataclass(frozen=True, slots=True)
class OneOff(Schedule):
    """Once, at an instant (epoch ms).

    Raises:
        ScheduleError: At `run_at`, outside the years 1970 to 9999.
    """

    at_ms: int

    def __post_init__(self) -> None:
        check_instant(self.at_ms, "run_at")

    @classmethod
    def at_instant(cls, text: str) -> Self:
        """From an RFC 3339 instant.

        Raises:
            ScheduleError: At `run_at`.
        """
        return cls(parse_instant(text, "run_at"))

    @classmethod
    def at_local_time(cls, text: str, timezone: str, dst_gap: Gap = "shift", dst_overlap: Overlap = "first") -> Self:
        """From a wall clock time without an offset, such as `2026-03-08T02:30:00`, on the clock of a zone.

        A time in a gap of up to three hours moves to the first instant after it (`shift`) or is refused (`skip`: a
        one-off that does not fire is no job); in a longer gap it is refused. A time that occurs twice is taken at its
        first or last occurrence; `both` is refused, because a one-off fires once.

        Raises:
            ScheduleError: At `run_at`, `timezone`, `dst_gap` or `dst_overlap`.
        """
        gap, overlap = as_gap(dst_gap), as_overlap(dst_overlap)
        if overlap == "both":
            raise ScheduleError("dst_overlap", "a single run cannot happen at both occurrences", "first or last")
        zone, local_ms = find_zone(timezone), parse_local_time(text, "run_at")
        readings = readings_of(zone, local_ms)
        if not readings:
            return cls(_after_gap(zone, local_ms, gap))
        return cls(readings[-1] if overlap == "last" else readings[0])

    @classmethod
    def after_delay(cls, delay_ms: int, now_ms: int) -> Self:
        """So long after now.

        Raises:
            ScheduleError: At `delay`, when that lies beyond the year 9999.
        """
        check_instant(now_ms + delay_ms, "delay")
        return cls(now_ms + delay_ms)

    def next_after(self, after_ms: int) -> int | None:
        """The instant, if it is strictly later."""
        return self.at_ms if self.at_ms > after_ms else None

    def previous_before(self, before_ms: int) -> int | None:
        """The instant, if it is strictly earlier."""
        return self.at_ms if self.at_ms < before_ms else None

    def count(self, after_ms: int, until_ms: int) -> int:
        """One if the instant lies in (after, until]."""
        return int(after_ms < self.at_ms <= until_ms)


def _after_gap(zone: Zone, local_ms: int, gap: Gap) -> int:
    moved_ms = end_of_gap(zone, local_ms) if gap == "shift" else None
    if moved_ms is None:
        raise ScheduleError(
            "run_at",
            "a local time that the clocks of this zone skip",
            "a time that exists there, or dst_gap shift where clocks skip up to three hours",
        )
    return moved_ms
