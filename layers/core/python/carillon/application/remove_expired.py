"""When the store removes a job past its retention, what belongs to it goes too: the other half and the name."""

from dataclasses import dataclass

from carillon.ports.edges import Meter
from carillon.ports.jobs import JobStore


@dataclass(frozen=True, slots=True)
class RemoveExpired:
    """The use case of the retention function."""

    jobs: JobStore
    meter: Meter

    def __call__(self, job_id: str) -> None:
        """Remove what is left of a job whose hot half has expired. Repeating it is harmless."""
        self.jobs.delete(job_id)
        self.meter.count("jobs_expired")
