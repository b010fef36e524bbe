"""The schedule of a constant interval."""

from dataclasses import dataclass
from typing import Final, Self

from carillon.domain.instants import SECOND_MS
from carillon.domain.nominal_times import Schedule, check_bounds, check_instant, end_or_last
from carillon.domain.schedule_error import ScheduleError

SHORTEST_INTERVAL_MS: Final = SECOND_MS


@dataclass(frozen=True, slots=True)
class Every(Schedule):
    """At the anchor and each whole number of intervals after it, within start and end, both inclusive (epoch ms).

    The anchor never moves: neither restarts nor late finishes cause drift. All answers are arithmetic.

    Raises:
        ScheduleError: At `every`, `start_at` or `end_at`.
    """

    interval_ms: int
    anchor_ms: int
    start_ms: int | None = None
    end_ms: int | None = None

    def __post_init__(self) -> None:
        if self.interval_ms < SHORTEST_INTERVAL_MS:
            raise ScheduleError("every", "too short", "a duration of one second (PT1S) or more")
        check_instant(self.anchor_ms, "start_at")
        check_bounds(self.start_ms, self.end_ms)

    @classmethod
    def anchored(cls, interval_ms: int, now_ms: int, start_ms: int | None = None, end_ms: int | None = None) -> Self:
        """Anchored at the start, which then is the first nominal time, or else at now.

        Raises:
            ScheduleError: At `every`, `start_at` or `end_at`.
        """
        return cls(interval_ms, now_ms if start_ms is None else start_ms, start_ms, end_ms)

    def next_after(self, after_ms: int) -> int | None:
        """The first nominal time strictly later."""
        nominal = self._nominal(max(self._last_number(after_ms) + 1, self._first_number()))
        return nominal if nominal <= end_or_last(self.end_ms) else None

    def previous_before(self, before_ms: int) -> int | None:
        """The last nominal time strictly earlier."""
        number = self._last_number(min(before_ms - 1, end_or_last(self.end_ms)))
        return self._nominal(number) if number >= self._first_number() else None

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many nominal times lie in (after, until]."""
        last = self._last_number(min(until_ms, end_or_last(self.end_ms)))
        return max(0, last - max(self._last_number(after_ms), self._first_number() - 1))

    def _nominal(self, number: int) -> int:
        return self.anchor_ms + number * self.interval_ms

    def _last_number(self, instant_ms: int) -> int:
        """Number of the last interval's end that is not later; negative before the anchor."""
        return (instant_ms - self.anchor_ms) // self.interval_ms

    def _first_number(self) -> int:
        return 0 if self.start_ms is None else max(0, self._last_number(self.start_ms - 1) + 1)
