"""What a wall clock time means in a zone whose clock changes, and the choices that a schedule has there."""

from collections.abc import Iterator
from typing import Final, Literal

from carillon.domain.instants import SECOND_MS
from carillon.domain.schedule_error import ScheduleError
from carillon.domain.zones import Span, Zone

Gap = Literal["shift", "skip"]
"""A time that the clock skips: moved to the first instant after the gap, or left out."""

Overlap = Literal["first", "last", "both"]
"""A time that the clock shows twice: taken at the first occurrence, the last, or both."""

LONGEST_GAP_S: Final = 3 * 3_600
"""A longer jump is never made up: the day did not exist."""

_GAPS: Final[tuple[Gap, ...]] = ("shift", "skip")
_OVERLAPS: Final[tuple[Overlap, ...]] = ("first", "last", "both")
_LARGEST_OFFSET_S: Final = 24 * 3_600


def as_gap(text: str) -> Gap:
    """Read a choice for gaps.

    Raises:
        ScheduleError: At `dst_gap`.
    """
    for choice in _GAPS:
        if choice == text:
            return choice
    raise ScheduleError("dst_gap", "not a known choice", "shift or skip")


def as_overlap(text: str) -> Overlap:
    """Read a choice for overlaps.

    Raises:
        ScheduleError: At `dst_overlap`.
    """
    for choice in _OVERLAPS:
        if choice == text:
            return choice
    raise ScheduleError("dst_overlap", "not a known choice", "first, last or both")


def readings_of(zone: Zone, local_ms: int) -> tuple[int, ...]:
    """The instants (epoch ms, ascending) at which a zone's clock shows a time: two in an overlap, none in a gap.

    Args:
        zone: Whose clock.
        local_ms: What it shows, in ms since 1970-01-01T00:00:00 on that clock.
    """
    return tuple(
        local_ms - span.offset_s * SECOND_MS
        for span in _spans_around(zone, local_ms)
        if span.start_s <= local_ms // SECOND_MS - span.offset_s < span.end_s
    )


def end_of_gap(zone: Zone, local_ms: int) -> int | None:
    """The first instant after the gap that swallows this time; None if no gap of up to three hours does."""
    for span in _spans_around(zone, local_ms):
        skipped_s = local_ms // SECOND_MS - span.offset_s - span.end_s
        if 0 <= skipped_s < span.offset_after_s - span.offset_s <= LONGEST_GAP_S:
            return span.end_s * SECOND_MS
    return None


def _spans_around(zone: Zone, local_ms: int) -> Iterator[Span]:
    span = zone.span_at(local_ms // SECOND_MS - _LARGEST_OFFSET_S)
    yield span
    while span.end_s <= local_ms // SECOND_MS + _LARGEST_OFFSET_S:
        span = zone.span_at(span.end_s)
        yield span
