"""What is counted of a tenant's jobs, for who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from carillon.adapters.dynamodb.counters import JobCounters
    from carillon.adapters.dynamodb.database import Database
    from carillon.domain.counting import Slice


@dataclass(frozen=True, slots=True)
class DynamoJobCounts:
    """See `ports.JobCounts`."""

    database: Database

    def slices(self, tenant: str) -> Sequence[Slice]:
        """All slices of a tenant's count."""
        return self._counters().slices(tenant)

    def correct(self, tenant: str, seen: Slice, counted: int) -> bool:
        """Let a slice count so many, if it counts as many as were seen."""
        return self._counters().correct(tenant, seen, counted)

    def _counters(self) -> JobCounters:
        from carillon.adapters.dynamodb.counters import JobCounters  # noqa: PLC0415 - loaded by the first who asks

        return JobCounters(self.database)
