"""Requests that may be repeated, in memory."""

from carillon.adapters.memory.state import MemoryState
from carillon.domain.idempotency import IdempotencyRecord


class MemoryIdempotencyRecords:
    """Requests that may be repeated."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def get(self, tenant: str, key: str) -> IdempotencyRecord | None:
        """The record, or None."""
        return self._state.requests.get((tenant, key))

    def put(self, tenant: str, key: str, record: IdempotencyRecord, *, seen: IdempotencyRecord | None) -> bool:
        """Write a record if the stored one is still that which was seen."""
        with self._state.lock:
            if _turn(self.get(tenant, key)) != _turn(seen):
                return False
            self._state.requests[tenant, key] = record
            return True

    def forget(self, tenant: str, key: str, seen: IdempotencyRecord) -> None:
        """Remove a record that is still the one that was seen."""
        with self._state.lock:
            if _turn(self.get(tenant, key)) == _turn(seen):
                del self._state.requests[tenant, key]


def _turn(record: IdempotencyRecord | None) -> tuple[str, int] | None:
    return None if record is None else (record.seed, record.lease_until)
