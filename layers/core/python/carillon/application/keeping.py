"""Keeping a job as long as a run of it may take: a finished one would be removed sooner."""

from dataclasses import replace

from carillon.application.edit_job import MOST_RACES
from carillon.application.read_jobs import job_of_tenant
from carillon.domain.editing import JobFinishedError
from carillon.domain.job import Definition, JobState, expiry_seconds
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore


def kept_job(jobs: JobStore, tenant: str, job_id: str, now_ms: int, retention_ms: int) -> Definition:
    """A tenant's job, which stays from now on as long as a run that begins now may take.

    Raises:
        JobNotFoundError: the tenant has no such job.
        JobFinishedError: the job is cancelled.
        UnavailableError: the job was changed by others each time we tried.
    """
    needed = expiry_seconds(now_ms, retention_ms)
    for _ in range(MOST_RACES):
        seen = job_of_tenant(jobs, tenant, job_id)
        if seen.job.state is JobState.CANCELLED:
            raise JobFinishedError
        if seen.job.expires_at is None or seen.job.expires_at >= needed:
            return seen
        kept = Definition(replace(seen.job, expires_at=needed), seen.spec)
        jobs.replace(kept, seen_version=seen.job.version, seen_revision=seen.spec.revision, records=())
    raise UnavailableError("the job keeps changing")
