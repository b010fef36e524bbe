"""Limits of tenants in memory, and how many of their jobs count: no count is kept, so none is ever wrong."""

from collections.abc import Mapping, Sequence

from carillon.adapters.memory.state import MemoryState
from carillon.domain.audit import AuditEvent
from carillon.domain.counting import Slice
from carillon.domain.limits import NO_LIMITS, Limits


class MemoryTenantLimits:
    """The limits of those tenants that have some."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def all(self) -> Mapping[str, Limits]:
        """The limits of every tenant that has some."""
        with self._state.lock:
            return dict(self._state.limits)

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant."""
        with self._state.lock:
            return self._state.limits.get(tenant, NO_LIMITS)

    def set(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits in place of those it has, with the event of it."""
        with self._state.lock:
            self._state.limits.pop(tenant, None)
            if limits != NO_LIMITS:
                self._state.limits[tenant] = limits
            self._state.tell(event)


class MemoryJobCounts:
    """How many jobs of tenants count."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def slices(self, tenant: str) -> Sequence[Slice]:
        """The one slice that there is."""
        with self._state.lock:
            return [Slice(0, self._state.counted(tenant))]

    def correct(self, tenant: str, seen: Slice, counted: int) -> bool:
        """Nothing is to be corrected."""
        return counted == seen.used == self.slices(tenant)[0].used
