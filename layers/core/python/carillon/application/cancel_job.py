"""Cancelling a job, so that every occurrence up to that instant still ends in a record.

What no worker has begun to start never runs. What was due but not yet confirmed by a dispatcher gets its `cancelled`
record in the transaction of the cancel; what is already in a queue gets it from the worker that reads the message.
"""

from collections.abc import Collection
from dataclasses import dataclass

from carillon.application.read_jobs import job_of_tenant
from carillon.domain.identity import RunKey
from carillon.domain.job import Job, JobState, PlanningRules, cancelled
from carillon.domain.planning import MOST_SINGLE_SKIPS
from carillon.domain.run import Run, RunState, SkippedBlock
from carillon.domain.schedule import Missed, decode
from carillon.ports import JobStore, RunStore, UnavailableError

MOST_RACES = 10
"""Lost races in a row before we give up: a dispatcher that changes the job each time has to lose some time."""

MOST_SENT_UNCONFIRMED = 100
"""Occurrences that one decision of a dispatcher may have sent: so many may have a record already."""


class RevisionMismatchError(Exception):
    """The job's revision is none of those that the client has seen."""


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Cancels jobs. `retention_ms`: how long ended jobs and runs are kept."""

    jobs: JobStore
    runs: RunStore
    retention_ms: int

    def __call__(self, tenant: str, job_id: str, now_ms: int, only_revisions: Collection[int] | None = None) -> None:
        """Cancel a job; cancelling it again changes nothing.

        Args:
            tenant: who asks.
            job_id: which job.
            now_ms: the present, epoch ms.
            only_revisions: cancel it only in one of these revisions, if given.

        Raises:
            JobNotFoundError: the tenant has no such job.
            RevisionMismatchError: the job has another revision.
            UnavailableError: the job was changed by others each time we tried.
        """
        for _ in range(MOST_RACES):
            if self._try(tenant, job_id, now_ms, only_revisions):
                return
        raise UnavailableError("the job keeps changing")

    def _try(self, tenant: str, job_id: str, now_ms: int, only_revisions: Collection[int] | None) -> bool:
        definition = job_of_tenant(self.jobs, tenant, job_id)
        job, spec = definition.job, definition.spec
        if only_revisions is not None and spec.revision not in only_revisions:
            raise RevisionMismatchError(job_id)
        if job.state is JobState.CANCELLED:
            return True
        return self.jobs.replace(
            cancelled(definition, now_ms, self.retention_ms),
            seen_version=job.version,
            seen_revision=spec.revision,
            records=self._records(job, now_ms),
        )

    def _records(self, job: Job, now_ms: int) -> tuple[Run, ...]:
        """A record for each occurrence that is due and has none, or one for all when they are many."""
        if job.state is not JobState.SCHEDULED or job.scheduled_for is None or job.scheduled_for > now_ms:
            return ()
        recorded = self._recorded(job, now_ms)
        due = _due(job, job.scheduled_for, now_ms, newest=MOST_SINGLE_SKIPS + len(recorded))
        if due is None:
            return ()
        newest = tuple(nominal for nominal in due.newest_ms if nominal not in recorded)
        count = due.count - len(recorded)
        if count > MOST_SINGLE_SKIPS and newest:
            return (self._record(job, newest[-1], now_ms, SkippedBlock(count, due.first_ms, newest[-1])),)
        return tuple(self._record(job, nominal, now_ms, None) for nominal in newest)

    def _recorded(self, job: Job, now_ms: int) -> frozenset[int]:
        """Occurrences that were sent by a dispatcher that did not confirm, and begun by a worker."""
        newest = self.runs.list_newest(job.id, MOST_SENT_UNCONFIRMED, None).runs
        return frozenset(
            run.scheduled_for
            for run in newest
            if not run.key.is_manual and (job.scheduled_for or 0) <= run.scheduled_for <= now_ms
        )

    def _record(self, job: Job, nominal: int, now_ms: int, block: SkippedBlock | None) -> Run:
        return Run(
            key=RunKey.of(job.id, nominal),
            tenant=job.tenant,
            state=RunState.CANCELLED,
            scheduled_for=nominal,
            generation=job.generation,
            priority=job.priority,
            lane=job.lane,
            shard=job.shard,
            created_at=now_ms,
            reason="job_cancelled",
            block=block,
            ended_at=now_ms,
            expires_at=(now_ms + self.retention_ms) // 1000,
        )


def _due(job: Job, first: int, now_ms: int, newest: int) -> Missed | None:
    """The occurrences from the planned one up to now, no more of them than the job has runs left."""
    schedule, rules = decode(job.schedule), PlanningRules.decode(job.rules)
    until = now_ms
    if rules.max_runs is not None:
        until = max(schedule.between(first - 1, now_ms, max(rules.max_runs - job.planned, 0)), default=first - 1)
    return schedule.missed(first - 1, until, newest)
