"""Editing a job in time, so that every occurrence up to that instant still ends in a record.

What no worker has begun to start is under the edit's rule. What was due but not yet confirmed by a dispatcher is
settled in the transaction of the edit; what is already in a queue is judged by the worker that reads its message.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from carillon.application.read_jobs import job_of_tenant
from carillon.domain.editing import Edited, Moment
from carillon.domain.job import Definition, Job, JobState
from carillon.ports import JobStore, Renaming, RunStore, UnavailableError

MOST_RACES = 10
"""Lost races in a row before we give up: a dispatcher that changes the job each time has to lose some time."""

MOST_SENT_UNCONFIRMED = 100
"""Occurrences that one decision of a dispatcher may have sent: so many may have a record already."""

Edit = Callable[[Definition, Moment], Edited]
"""One of the edits of `domain.editing`, with its own arguments bound."""


class RevisionMismatchError(Exception):
    """The job's revision is none of those that the client has seen."""


@dataclass(frozen=True, slots=True)
class EditJob:
    """Edits jobs. `retention_ms`: how long ended jobs and runs are kept."""

    jobs: JobStore
    runs: RunStore
    retention_ms: int

    def __call__(
        self, tenant: str, job_id: str, now_ms: int, edit: Edit, only_revisions: Collection[int] | None = None
    ) -> Definition:
        """Edit a job; an edit that changes nothing writes nothing. Returns the job as it is then.

        Args:
            tenant: who asks.
            job_id: which job.
            now_ms: the present, epoch ms.
            edit: what to change.
            only_revisions: edit it only in one of these revisions, if given.

        Raises:
            JobNotFoundError: the tenant has no such job.
            RevisionMismatchError: the job has another revision.
            NameTakenError: the edit gives it a name that another job holds.
            UnavailableError: the job was changed by others each time we tried.
            Exception: what the edit itself raises.
        """
        for _ in range(MOST_RACES):
            seen = job_of_tenant(self.jobs, tenant, job_id)
            if only_revisions is not None and seen.spec.revision not in only_revisions:
                raise RevisionMismatchError(job_id)
            edited = edit(seen, Moment(now_ms, self.retention_ms, self._recorded(seen.job, now_ms)))
            if edited.definition == seen or self._stored(seen, edited):
                return edited.definition
        raise UnavailableError("the job keeps changing")

    def _stored(self, seen: Definition, edited: Edited) -> bool:
        return self.jobs.replace(
            edited.definition,
            seen_version=seen.job.version,
            seen_revision=seen.spec.revision,
            records=edited.records,
            segment=edited.segment,
            renaming=None if edited.definition.spec.name == seen.spec.name else Renaming(seen.spec.name),
        )

    def _recorded(self, job: Job, now_ms: int) -> frozenset[int]:
        """Nominal times, due and not confirmed, that a dispatcher has sent and a worker has begun all the same."""
        if job.state is not JobState.SCHEDULED or job.scheduled_for is None or job.scheduled_for > now_ms:
            return frozenset()
        newest = self.runs.list_newest(job.id, MOST_SENT_UNCONFIRMED, None).runs
        return frozenset(
            run.scheduled_for
            for run in newest
            if not run.key.is_manual and job.scheduled_for <= run.scheduled_for <= now_ms
        )
