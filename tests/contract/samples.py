"""Values that the suites store. Every optional field is set somewhere, so that none is lost unnoticed."""

from dataclasses import replace
from itertools import count
from typing import Any

from carillon.adapters.store_rules import due_job, due_run
from carillon.domain.editing import cancel
from carillon.domain.identity import RunKey, ulid
from carillon.domain.job import (
    Completion,
    Definition,
    HttpTarget,
    Job,
    JobSpec,
    JobState,
    Lane,
    PlanningRules,
    Priority,
    QueueTarget,
    Revision,
    RevisionKind,
)
from carillon.domain.planning import DueJob, DueRun, Occurrence
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Attempt, FailedRow, Run, RunState, SkippedBlock, accepted, started
from carillon.domain.settling import Moment
from carillon.ports.jobs import Claim, Confirmation, JobStore

NOW_MS = 1_790_000_000_000
TENANT = "acme"
SECOND_MS = 1_000
DAY_MS = 86_400_000

_numbers = count(1)


def new_job_id() -> str:
    """An id that no other test has, later than all before."""
    number = next(_numbers)
    return "job_" + ulid(NOW_MS + number, number.to_bytes(10, "big"))


def a_job(**changes: Any) -> Job:
    """A job that is due a minute from now, in shard 1."""
    job = Job(
        id=new_job_id(),
        tenant=TENANT,
        state=JobState.SCHEDULED,
        schedule="cron|0 9 * * 1-5|Asia/Kolkata|shift|first",
        rules=PlanningRules().encode(),
        shard=1,
        lane=Lane.SHORT,
        priority=Priority.NORMAL,
        version=1,
        generation=1,
        created_at=NOW_MS,
        scheduled_for=NOW_MS + 60_000,
        next_fire_time=NOW_MS + 60_000,
    )
    return replace(job, **changes)


def a_spec(job: Job, **changes: Any) -> JobSpec:
    """The other half of a job."""
    spec = JobSpec(
        job_id=job.id,
        tenant=job.tenant,
        target=HttpTarget("https://hooks.example.net/cb"),
        retry=RetryPolicy(),
        revisions=(Revision(1, 0),),
        revision=1,
        created_at=job.created_at,
        updated_at=job.created_at,
    )
    return replace(spec, **changes)


def a_definition(*, name: str | None = None, spec: dict[str, Any] | None = None, **job: Any) -> Definition:
    """A whole job."""
    hot = a_job(**job)
    return Definition(hot, a_spec(hot, name=name, **(spec or {})))


def a_full_definition() -> Definition:
    """A job with everything set."""
    return a_definition(
        name="nightly ☾ report",
        tenant="umbrella",
        lane=Lane.LONG,
        priority=Priority.HIGH,
        planned=7,
        granted=True,
        error="was undecidable",
        expires_at=NOW_MS // 1000,
        spec={
            "target": HttpTarget(
                "https://hooks.example.net/ü?x=1",
                "PUT",
                (("X-A", "1"), ("X-A", "ä")),
                timeout_ms=90_000,
                completion=Completion(7_200_000, 60_000),
                cancel_url="https://hooks.example.net/stop",
            ),
            "retry": RetryPolicy(3, 500, 1.5, 9_000, Jitter.NONE, (1, 2), (429, 503)),
            "revisions": (Revision(1, 0), Revision(2, NOW_MS, RevisionKind.PAUSED)),
            "revision": 9,
            "updated_at": NOW_MS + 5,
            "labels": {"team": "billing", "näme": ""},
            "payload": b"\x00\xff{}",
            "deadline_ms": 3_600_000,
            "listed_state": "paused",
            "state_reason": "target_gone",
            "on_failure": QueueTarget("https://sqs.eu-west-1.amazonaws.com/111122223333/failed"),
        },
    )


def edited(definition: Definition, **job: Any) -> Definition:
    """The next revision of a job, with a new planning state."""
    hot = replace(definition.job, version=definition.job.version + 1, **job)
    spec = replace(definition.spec, revision=definition.spec.revision + 1, updated_at=NOW_MS + 1_000)
    return Definition(hot, spec)


def cancelled_now(definition: Definition) -> Definition:
    """The job as cancelled."""
    return cancel(definition, Moment(NOW_MS + 1_000, DAY_MS)).definition


def as_due(job: Job) -> DueJob:
    """The job as the due index shows it."""
    entry = due_job(job)
    assert entry is not None
    return entry


def as_waiting(run: Run) -> DueRun:
    """The run as the due index shows it."""
    entry = due_run(run)
    assert entry is not None
    return entry


def a_claim(job: Job, claim_id: str = "C" * 26, **changes: Any) -> Claim:
    """A claim of a due job by the owner of epoch 100."""
    claim = Claim(as_due(job), epoch=100, claim_id=claim_id, until=NOW_MS + 30_000, decided_at=NOW_MS)
    return replace(claim, **changes)


def a_confirmation(claim: Claim, **changes: Any) -> Confirmation:
    """The end of a claim, with the next occurrence an hour later."""
    later = claim.entry.scheduled_for + 3_600_000
    confirmation = Confirmation(
        claim, Occurrence(later, later), claim.entry.planned + 1, JobState.SCHEDULED, expires_at=None
    )
    return replace(confirmation, **changes)


def a_run(job: Job, scheduled_for: int = NOW_MS, **changes: Any) -> Run:
    """A run that waits for its second attempt."""
    run = Run(
        key=RunKey.of(job.id, scheduled_for),
        tenant=job.tenant,
        state=RunState.RETRYING,
        scheduled_for=scheduled_for,
        generation=job.generation,
        priority=job.priority,
        lane=job.lane,
        shard=job.shard,
        created_at=NOW_MS,
        rev=2,
        wait=1,
        attempt=1,
        next_fire_time=NOW_MS + 5_000,
        attempts=(Attempt(1, NOW_MS, NOW_MS + 250, 503, "http_status", "busy", revision=1),),
        lateness_ms=12,
    )
    return replace(run, **changes)


def a_skipped(job: Job, scheduled_for: int, count: int = 1) -> Run:
    """The record of a skipped occurrence, or of a block of them."""
    block = SkippedBlock(count, scheduled_for - 1_000, scheduled_for) if count > 1 else None
    return a_run(
        job,
        scheduled_for,
        state=RunState.SKIPPED,
        rev=1,
        wait=0,
        attempt=0,
        attempts=(),
        lateness_ms=None,
        next_fire_time=None,
        reason="misfire",
        block=block,
        ended_at=NOW_MS,
        expires_at=NOW_MS // 1000 + 86_400,
    )


def a_full_run(job: Job) -> Run:
    """A run with everything set."""
    return a_run(
        job,
        state=RunState.DEAD_LETTERED,
        lost=2,
        lease_until=NOW_MS + 60_000,
        start_id="S" * 26,
        next_fire_time=None,
        reason="attempts_exhausted",
        attempts=(
            Attempt(1, NOW_MS),
            Attempt(2, NOW_MS, NOW_MS + 1, 500, "http_status", 'say "hi" ☎\x00', truncated=True, revision=3),
            Attempt(3, NOW_MS, NOW_MS + 1, 202, token_digest="d" * 43, report="failed", result='{"a": "\\ud800 ☎"}'),
        ),
        block=SkippedBlock(12, NOW_MS - 5, NOW_MS),
        notice="20260921T141320000Z_f3",
        failed_row=FailedRow(7, NOW_MS - 5),
        ended_at=NOW_MS + 9,
        expires_at=NOW_MS // 1000 + 86_400,
    )


def an_awaited_run(job: Job, **changes: Any) -> Run:
    """A run that was started and accepted: its target gives signs of life each five minutes, and is done in an hour."""
    begun = started(
        a_run(job), now_ms=NOW_MS, due_ms=NOW_MS, lease_ms=60_000, start_id="S" * 26, revision=1, token_digest="d" * 43
    )
    taken = accepted(begun, now_ms=NOW_MS, attempts=begun.attempts, until_ms=NOW_MS + 3_600_000, heartbeat_ms=300_000)
    return replace(taken, **changes)


def confirm_one(jobs: JobStore, confirmation: Confirmation) -> bool:
    """End one claim; whether it held."""
    (held,) = jobs.confirm_many([confirmation])
    return held
