"""Reading jobs: one, or a tenant's list. Another tenant's job is as unknown as one that never was."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.application.walking import Walked, walk
from carillon.domain.identity import is_job_id
from carillon.domain.job import Definition
from carillon.domain.job_filter import JobFilter
from carillon.ports.jobs import JobStore


class JobNotFoundError(LookupError):
    """The tenant has no such job."""


def job_of_tenant(jobs: JobStore, tenant: str, job_id: str) -> Definition:
    """The tenant's job of an id, read with strong consistency.

    Raises:
        JobNotFoundError: the tenant has none, whatever others have.
    """
    definition = jobs.get(job_id) if is_job_id(job_id) else None
    if definition is None or definition.job.tenant != tenant:
        raise JobNotFoundError(job_id)
    return definition


@dataclass(frozen=True, slots=True)
class GetJob:
    """One job."""

    jobs: JobStore

    def __call__(self, tenant: str, job_id: str) -> Definition:
        """The tenant's job.

        Raises:
            JobNotFoundError: the tenant has none of this id.
        """
        return job_of_tenant(self.jobs, tenant, job_id)


@dataclass(frozen=True, slots=True)
class ListJobs:
    """A tenant's jobs, newest first."""

    jobs: JobStore

    def __call__(self, tenant: str, wanted: JobFilter, limit: int, after: str | None) -> Walked[Definition]:
        """A page of the list, from behind the job `after`."""

        def fetch(count: int, position: str | None) -> tuple[Sequence[Definition], str | None]:
            page = self.jobs.list_newest(tenant, count, position)
            return page.definitions, page.next_after

        return walk(
            fetch,
            admits=None if wanted.admits_all else wanted.admits,
            position_of=lambda definition: definition.job.id,
            limit=limit,
            start=after,
        )
