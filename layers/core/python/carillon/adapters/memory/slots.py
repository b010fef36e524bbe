"""Dispatch limits and calendars of slots in memory."""

from collections.abc import Mapping, Sequence

from carillon.adapters.memory.state import MemoryState
from carillon.domain.slots import Pace, allot
from carillon.domain.tenancy import DispatchLimit


class MemoryDispatchLimits:
    """The limits of those tenants that have one."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def all(self) -> Mapping[str, DispatchLimit]:
        """Every limit by its tenant."""
        with self._state.lock:
            return dict(self._state.limits)

    def set(self, tenant: str, limit: DispatchLimit | None) -> None:
        """Give a tenant a limit in place of the one it has, or none."""
        with self._state.lock:
            self._state.limits.pop(tenant, None)
            if limit is not None:
                self._state.limits[tenant] = limit


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
