"""A run that a person asks for: it waits in the due index like a retry, due at once. The job's plan is left alone."""

from dataclasses import dataclass

from carillon.application.edit_job import MOST_RACES
from carillon.application.keeping import kept_job
from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.identity import RunKey
from carillon.domain.job import Job
from carillon.domain.run import Run, RunState
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore
from carillon.ports.runs import RunStore, Saved

SUFFIX_CHARACTERS = 4


@dataclass(frozen=True, slots=True)
class TriggerRun:
    """Starts runs by hand. `retention_ms`: how long ended jobs are kept."""

    jobs: JobStore
    runs: RunStore
    ids: Ids
    retention_ms: int

    def __call__(
        self,
        tenant: str,
        job_id: str,
        now_ms: int,
        *,
        is_again: bool = False,
        due_ms: int | None = None,
        by: Actor = CARILLON,
    ) -> Run:
        """Queue a manual run of a job, be it paused or finished; returns its record as it begins.

        Args:
            tenant: who asks.
            job_id: which job.
            now_ms: the present, epoch ms.
            is_again: the same was asked before, as of the same instant and with the same names, and may have been done.
            due_ms: when it is due, if it comes to its turn later than it was asked for; epoch ms.
            by: who asks for it.

        Raises:
            JobNotFoundError: the tenant has no such job.
            JobFinishedError: the job is cancelled.
            UnavailableError: the job was changed by others each time we tried.
        """
        job = kept_job(self.jobs, tenant, job_id, now_ms, self.retention_ms).job
        for _ in range(MOST_RACES):
            run = _queued(job, self.ids.token()[-SUFFIX_CHARACTERS:], now_ms, due_ms or now_ms)
            run_id = run.key.run_id
            event = told(Action.JOB_TRIGGERED, job_id, now_ms, tenant, by, [("/run", None, run_id)], of=run_id)
            if isinstance(self.runs.save(run, seen=None, event=event), Saved) or is_again:
                return run
        raise UnavailableError("the names of manual runs of this instant are taken")


def _queued(job: Job, suffix: str, now_ms: int, due_ms: int) -> Run:
    return Run(
        key=RunKey.manual(job.id, now_ms, suffix),
        tenant=job.tenant,
        state=RunState.QUEUED,
        scheduled_for=now_ms,
        generation=job.generation,
        priority=job.priority,
        lane=job.lane,
        shard=job.shard,
        created_at=now_ms,
        wait=1,
        next_fire_time=due_ms,
    )
