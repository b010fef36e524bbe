"""When the store removes a job past its retention, what belongs to it goes too: payloads, the other half, the name."""

from collections.abc import Callable
from dataclasses import dataclass

from carillon.ports.edges import Meter
from carillon.ports.jobs import JobStore
from carillon.ports.payloads import Payloads


@dataclass(frozen=True, slots=True)
class RemoveExpired:
    """The use case of the retention function. `payloads` is asked for where they are when the first ones have to go."""

    jobs: JobStore
    payloads: Callable[[], Payloads]
    meter: Meter

    def __call__(self, job_id: str, owner_of_objects: str | None) -> None:
        """Remove what is left of a job whose hot half has expired. Repeating it is harmless.

        Args:
            job_id: which job.
            owner_of_objects: its tenant, if it had uploaded payloads. They go first: the record that tells of them is
                kept by the stream until all has gone well.
        """
        if owner_of_objects is not None:
            self.payloads().remove_all(owner_of_objects, job_id)
        self.jobs.delete(job_id)
        self.meter.count("jobs_expired")
