"""What every store decides in the same way, whatever it stores in.

Most of it recognises a write of our own whose answer was lost: asked again, it has succeeded.
"""

from carillon.domain.due import DueJob, DueRun
from carillon.domain.job import ClaimLease, Job, JobSpec, JobState
from carillon.domain.run import Run, RunState
from carillon.ports.jobs import Claim, Confirmation, JobDeferral


def is_same_creation(stored: JobSpec, spec: JobSpec) -> bool:
    """Whether a stored job came of creating this one: it is equal, or has been edited since."""
    came_of_it = (stored.tenant, stored.created_at) == (spec.tenant, spec.created_at)
    return stored == spec or (came_of_it and stored.revision > spec.revision)


def is_same_edit(stored: JobSpec, spec: JobSpec, seen_revision: int) -> bool:
    """Whether a stored job came of this edit. An edit that raises no revision leaves nothing to know it by."""
    return stored == spec and spec.revision != seen_revision


def holds_claim(stored: Job, claim: Claim) -> bool:
    """Whether the stored lease is this very claim."""
    return stored.version == claim.entry.version and stored.lease.claim_id == claim.claim_id


def was_confirmed(stored: Job, claim: Claim) -> bool:
    """Whether the stored job has just come out of this claim: a confirm keeps its name, an edit wipes it out."""
    return stored.version == claim.entry.version + 1 and stored.lease.claim_id == claim.claim_id


def was_set_to_error(stored: Job, entry: DueJob) -> bool:
    """Whether the stored job is this entry's, found broken."""
    return stored.version == entry.version + 1 and stored.state is JobState.ERROR


def voided(lease: ClaimLease) -> ClaimLease:
    """What an edit leaves of a claim: the epoch, so that no older owner comes back."""
    return ClaimLease(epoch=lease.epoch)


def lease_until_after(confirmation: Confirmation) -> int:
    """Until when the lease of a confirmed claim holds: 0, for none, or an instant long past for a partial confirm."""
    return 1 if confirmation.is_partial else 0


def may_defer(stored: Job, deferral: JobDeferral) -> bool:
    """Whether a job is as it was seen, and nobody has claimed it."""
    is_as_seen = stored.version == deferral.entry.version and stored.lease.epoch <= deferral.epoch
    return is_as_seen and stored.lease.until == 0


def was_deferred(stored: Job, deferral: JobDeferral) -> bool:
    """Whether the stored job has come out of this deferral: no other has its slot."""
    return (stored.version, stored.next_fire_time) == (deferral.entry.version + 1, deferral.until_ms)


def is_due_listed(run: Run) -> bool:
    """Whether a run, as written, belongs in the due index."""
    awaits = run.state.is_waiting or run.state is RunState.AWAITING_COMPLETION
    return run.next_fire_time is not None and (awaits or run.owes_notice)


def due_job(job: Job) -> DueJob | None:
    """What the due index shows of a job, or None when it is not in it."""
    if job.next_fire_time is None or job.scheduled_for is None:
        return None
    return DueJob(
        job_id=job.id,
        tenant=job.tenant,
        shard=job.shard,
        next_fire_time=job.next_fire_time,
        scheduled_for=job.scheduled_for,
        version=job.version,
        generation=job.generation,
        lane=job.lane,
        priority=job.priority,
        schedule=job.schedule,
        rules=job.rules,
        planned=job.planned,
        granted=job.granted,
        segment=job.segment,
    )


def due_run(run: Run) -> DueRun | None:
    """What the due index shows of a run, or None when it is not in it."""
    if run.next_fire_time is None or not is_due_listed(run):
        return None
    return DueRun(
        job_id=run.key.job_id,
        name=run.key.name,
        tenant=run.tenant,
        shard=run.shard,
        next_fire_time=run.next_fire_time,
        wait=run.wait,
        generation=run.generation,
        lane=run.lane,
        priority=run.priority,
        granted=run.granted,
        state=run.state,
    )
