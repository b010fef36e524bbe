"""The schedule of a cron expression in a zone."""

from dataclasses import dataclass, field
from functools import lru_cache

from carillon.domain.clock_changes import Gap, Overlap, as_gap, as_overlap
from carillon.domain.cron import Cron
from carillon.domain.instants import SECOND_MS
from carillon.domain.nominal_times import Schedule, check_bounds, end_or_last, start_or_first
from carillon.domain.zoned_cron import ZonedCron
from carillon.domain.zones import find_zone


@dataclass(frozen=True, slots=True)
class CronSchedule(Schedule):
    """When a cron expression matches the clock of a zone, within start and end, both inclusive (epoch ms).

    What happens when that clock changes is told in `zoned_cron`. The expression is kept with single blanks.

    Raises:
        ScheduleError: At `cron`, `timezone`, `dst_gap`, `dst_overlap`, `start_at` or `end_at`.
    """

    expression: str
    timezone: str = "UTC"
    dst_gap: Gap = "shift"
    dst_overlap: Overlap = "first"
    start_ms: int | None = None
    end_ms: int | None = None
    _fires: ZonedCron = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_bounds(self.start_ms, self.end_ms)
        fires = _zoned_cron(self.expression, self.timezone, as_gap(self.dst_gap), as_overlap(self.dst_overlap))
        object.__setattr__(self, "_fires", fires)
        object.__setattr__(self, "expression", fires.cron.text)

    def next_after(self, after_ms: int) -> int | None:
        """The first fire time strictly later."""
        second = self._fires.first_after(max(after_ms, start_or_first(self.start_ms) - 1) // SECOND_MS)
        if second is None or second * SECOND_MS > end_or_last(self.end_ms):
            return None
        return second * SECOND_MS

    def previous_before(self, before_ms: int) -> int | None:
        """The last fire time strictly earlier."""
        second = self._fires.last_before(-(-min(before_ms, end_or_last(self.end_ms) + 1) // SECOND_MS))
        return (
            second * SECOND_MS if second is not None and second * SECOND_MS >= start_or_first(self.start_ms) else None
        )

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many fire times lie in (after, until]; reckoned month by month."""
        after_ms, until_ms = max(after_ms, start_or_first(self.start_ms) - 1), min(until_ms, end_or_last(self.end_ms))
        return self._fires.count(after_ms // SECOND_MS, until_ms // SECOND_MS) if after_ms < until_ms else 0


@lru_cache(maxsize=4096)
def _zoned_cron(expression: str, timezone: str, gap: Gap, overlap: Overlap) -> ZonedCron:
    return ZonedCron(Cron.parse(expression), find_zone(timezone), gap, overlap)
