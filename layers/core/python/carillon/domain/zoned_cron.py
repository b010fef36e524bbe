"""A cron expression on the clock of a zone: its fire times in UTC. All times here are epoch seconds.

What happens when clocks change:

- An expression that *follows the clock* (its minute or hour field starts with `*`) fires at each minute that the clock
  shows: never in an hour that is skipped, in both passes of an hour that is repeated. The choices below do not touch
  it.
- Every other expression names *fixed times*, each of which stands for one event of its day:

  - A time in a gap. `gap="shift"`: it fires at the first instant after the gap, once for all times in that gap.
    `gap="skip"`: it does not fire. A jump of more than three hours is never made up: the day did not exist.
  - A time that occurs twice. `overlap="first"` or `"last"`: it fires at that occurrence. `overlap="both"`: at both.

Equal instants are one fire.
"""

from dataclasses import dataclass
from typing import Final

from carillon.domain.clock_changes import LONGEST_GAP_S, Gap, Overlap
from carillon.domain.cron import Cron
from carillon.domain.zones import CYCLE_S, SETTLED_S, Span, Zone

_FIRST_S: Final = 0
_LAST_S: Final = 253_402_300_799


@dataclass(frozen=True, slots=True)
class ZonedCron:
    """A cron expression, the zone whose clock it reads, and what it does when that clock changes."""

    cron: Cron
    zone: Zone
    gap: Gap = "shift"
    overlap: Overlap = "first"

    def first_after(self, second: int) -> int | None:
        """The first fire time strictly later than this; None when there is none up to the year 9999.

        A calendar under unchanging rules repeats after 400 years: when so many bring nothing, there is nothing.
        """
        give_up_s = max(second, SETTLED_S) + CYCLE_S
        span = self.zone.span_at(second)
        searched_from, found = 1, 0
        while span.start_s < give_up_s:
            local = max(second + 1 + span.offset_s, self._new_from(span))
            if not searched_from <= local <= found:
                minute = self.cron.first_from(-(-local // 60))
                if minute is None:
                    return None
                searched_from, found = local, minute * 60
            if found < self._valid_until(span):
                return _within_calendar(found - span.offset_s)
            if found < self._made_up_until(span):
                return span.end_s
            span = self.zone.span_at(span.end_s)
        return None

    def last_before(self, second: int) -> int | None:
        """The last fire time strictly earlier than this; None when there is none since 1970."""
        span = self.zone.span_at(second - 1)
        while span.end_s > _FIRST_S:
            minute = self.cron.last_until((min(second + span.offset_s, self._valid_until(span)) - 1) // 60)
            if minute is None:
                return None
            if minute * 60 >= self._new_from(span):
                return _within_calendar(minute * 60 - span.offset_s)
            span_before = self.zone.span_at(span.start_s - 1)
            if self._made_up_until(span_before) > minute * 60 >= span.start_s + span.offset_before_s:
                return _within_calendar(span.start_s)
            span = span_before
        return None

    def count(self, after: int, until: int) -> int:
        """How many fire times are later than `after` and not later than `until`."""
        total, span = 0, self.zone.span_at(after)
        while True:
            first = max(after + 1 + span.offset_s, self._new_from(span))
            end = min(until + 1 + span.offset_s, self._valid_until(span))
            total += self._count_shown(first, end)
            if span.end_s > until:
                return total
            total += self._makes_up_after(span)
            span = self.zone.span_at(span.end_s)

    def _count_shown(self, first: int, end: int) -> int:
        return self.cron.count(-(-first // 60), -(-end // 60))

    def _makes_up_after(self, span: Span) -> bool:
        """Whether a time in the gap after this span fires at its end, where no time of its own fires."""
        gap_end = self._made_up_until(span)
        in_gap = self._count_shown(span.end_s + span.offset_s, gap_end)
        return in_gap > 0 and self._count_shown(gap_end, gap_end + 1) == 0

    def _new_from(self, span: Span) -> int:
        """From which local second of this span on a time has not had its fire before."""
        if self.overlap == "first" and not self.cron.follows_clock:
            return span.start_s + max(span.offset_s, span.offset_before_s)
        return span.start_s + span.offset_s

    def _valid_until(self, span: Span) -> int:
        """Before which local second of this span a time need not wait for its second occurrence."""
        if self.overlap == "last" and not self.cron.follows_clock:
            return span.end_s + min(span.offset_s, span.offset_after_s)
        return span.end_s + span.offset_s

    def _made_up_until(self, span: Span) -> int:
        """The local second at which the gap behind this span ends, if its times are made up; else as `_valid_until`."""
        makes_up = self.gap == "shift" and not self.cron.follows_clock
        if makes_up and 0 < span.offset_after_s - span.offset_s <= LONGEST_GAP_S:
            return span.end_s + span.offset_after_s
        return self._valid_until(span)


def _within_calendar(second: int) -> int | None:
    return second if _FIRST_S <= second <= _LAST_S else None
