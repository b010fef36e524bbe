"""What is counted of a tenant's jobs, for who asks."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.adapters.dynamodb.counters import JobCounters
from carillon.adapters.dynamodb.database import Database
from carillon.domain.counting import Slice


@dataclass(frozen=True, slots=True)
class DynamoJobCounts:
    """See `ports.JobCounts`."""

    database: Database

    def slices(self, tenant: str) -> Sequence[Slice]:
        """All slices of a tenant's count."""
        return JobCounters(self.database).slices(tenant)

    def correct(self, tenant: str, seen: Slice, counted: int) -> bool:
        """Let a slice count so many, if it counts as many as were seen."""
        return JobCounters(self.database).correct(tenant, seen, counted)
