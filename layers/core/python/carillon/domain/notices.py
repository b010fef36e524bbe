"""Notices: what is told when a run has become a dead letter, to a target that the job or its tenant names for it.

A notice is a run of its own, with its own record, attempts and retries. Its record is written with the end that it
tells of, in one transaction, and waits in the due index from then on: so no crash loses it. It tells of another run's
end and never of its own: a notice that fails is a dead letter and no more.
"""

import json
from dataclasses import replace

from carillon.domain.instants import format_instant
from carillon.domain.job import Definition, Job, JobSpec, JobState, Lane, Target
from carillon.domain.retry import RetryPolicy
from carillon.domain.run import Attempt, Run, RunState

RETRY = RetryPolicy(max_attempts=12, base_ms=5_000, factor=3.0, max_delay_ms=3_600_000)
"""Over seven hours, a few minutes more or less: a receiver that is down for an evening still learns of it."""

DEAD_LETTERED = "run.dead_lettered"


def notice_of(dead: Run, spec: JobSpec | None, now_ms: int) -> Run:
    """The notice of a run that has become a dead letter, as its record begins.

    Args:
        dead: the run, ended.
        spec: of its job; None when that is gone.
        now_ms: when it has ended, epoch ms: from then on the notice is due.
    """
    return Run(
        key=dead.key.notice(dead.rev),
        tenant=dead.tenant,
        state=RunState.QUEUED,
        scheduled_for=now_ms,
        generation=dead.generation,
        priority=dead.priority,
        lane=Lane.SHORT,
        shard=dead.shard,
        created_at=now_ms,
        wait=1,
        next_fire_time=now_ms,
        body=_body(dead, spec),
    )


def as_notice(definition: Definition | None, notice: Run, named: Target | None) -> Definition | None:
    """The job as a notice runs by it: its own target, body and retries, whatever has become of the job.

    Args:
        definition: the job; None when it is gone, and then the tenant may still have named somebody.
        notice: the notice.
        named: whom the tenant has told of all failures, if anybody. Who is named by the job itself goes first.
    """
    if definition is None:
        return None if named is None else as_notice(_gone(notice, named), notice, named)
    job: Job = replace(definition.job, state=JobState.SCHEDULED)
    told = definition.spec.on_failure or named
    spec = replace(
        definition.spec,
        target=told or definition.spec.target,
        on_failure=told,
        payload=notice.body,
        stored_payload=None,
        retry=RETRY,
        deadline_ms=None,
    )
    return Definition(job, spec)


def _gone(notice: Run, named: Target) -> Definition:
    """A job that is there no more, as far as its notice needs it."""
    job = Job(
        id=notice.key.job_id,
        tenant=notice.tenant,
        state=JobState.SCHEDULED,
        schedule="",
        rules="",
        shard=notice.shard,
        lane=notice.lane,
        priority=notice.priority,
        version=0,
        generation=notice.generation,
        created_at=notice.created_at,
        scheduled_for=None,
        next_fire_time=None,
    )
    created_at = notice.created_at
    return Definition(job, JobSpec(job.id, job.tenant, named, RETRY, (), 0, created_at, created_at))


def _body(dead: Run, spec: JobSpec | None) -> bytes:
    """What is told: the run, why it ended, how often it was tried. Nothing that was sent or answered is in it."""
    told = {
        "type": DEAD_LETTERED,
        "run_id": dead.key.run_id,
        "job_id": dead.key.job_id,
        "job_name": spec.name if spec else None,
        "reason": dead.reason,
        "scheduled_for": format_instant(dead.scheduled_for),
        "ended_at": None if dead.ended_at is None else format_instant(dead.ended_at),
        "attempts": dead.attempt,
        "last_attempt": _attempt(dead.attempts[-1]) if dead.attempts else None,
    }
    return json.dumps(told).encode()


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "number": attempt.number,
        "started_at": format_instant(attempt.started_at),
        "ended_at": None if attempt.ended_at is None else format_instant(attempt.ended_at),
        "status": attempt.status,
        "error": attempt.error,
    }
