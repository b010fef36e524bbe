"""Calendars of slots in memory."""

from collections.abc import Sequence

from carillon.adapters.memory.state import MemoryState
from carillon.domain.slots import Pace, allot


class MemorySlotLedger:
    """The calendars of slots."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def reserve(
        self, name: str, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int, horizon_ms: int
    ) -> list[tuple[int, ...]]:
        """Take slots in the calendar of that name."""
        with self._state.lock:
            calendar, slots = allot(self._state.calendars.get(name), pace, chains, now_ms, horizon_ms)
            self._state.calendars[name] = calendar
            return slots
