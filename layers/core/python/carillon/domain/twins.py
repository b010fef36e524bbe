"""Twins: which occurrence by the present rules of a zone one by its former rules was.

Nobody has the former rules any more, so occurrences are matched by nearness: at most three hours apart, as far as zones
are known to shift.
"""

from typing import Final

from carillon.domain.clock_changes import LONGEST_GAP_S
from carillon.domain.instants import SECOND_MS
from carillon.domain.nominal_times import Schedule

LONGEST_SHIFT_MS: Final = LONGEST_GAP_S * SECOND_MS


def is_occurrence(schedule: Schedule, instant_ms: int) -> bool:
    """Whether the rules give this instant now."""
    return schedule.next_after(instant_ms - 1) == instant_ms


def nearest_twin(schedule: Schedule, instant_ms: int) -> int | None:
    """The nearest occurrence within the longest shift, the later one of two; None when there is none."""
    return _nearest(schedule.next_after(instant_ms - 1), schedule.previous_before(instant_ms), instant_ms)


def last_covered(schedule: Schedule, instant_ms: int) -> int:
    """The instant behind which a schedule goes on after an occurrence that may have been planned by former rules.

    It is the occurrence, or its twin if that is later: what runs stands for its twin. Of two that are as near it is the
    earlier one, so that none is left out.
    """
    if is_occurrence(schedule, instant_ms):
        return instant_ms
    twin_ms = _nearest(schedule.previous_before(instant_ms), schedule.next_after(instant_ms), instant_ms)
    return instant_ms if twin_ms is None else max(instant_ms, twin_ms)


def _nearest(first: int | None, second: int | None, instant_ms: int) -> int | None:
    near = [ms for ms in (first, second) if ms is not None and abs(ms - instant_ms) <= LONGEST_SHIFT_MS]
    return min(near, key=lambda ms: abs(ms - instant_ms), default=None)
