"""Accepting a job: from checked values to a stored definition with its first occurrence planned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.identity import shard_of
from carillon.domain.job import (
    Definition,
    Job,
    JobSpec,
    JobState,
    PlanningRules,
    Priority,
    Revision,
    StoredPayload,
    Target,
)
from carillon.domain.job_changes import changes_at_creation
from carillon.domain.limits import NO_LIMITS, Limits
from carillon.domain.planning import fire_time
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, OneOff, Schedule, ScheduleError, encode
from carillon.ports.dispatch import ShardLedger
from carillon.ports.edges import Ids
from carillon.ports.errors import LimitReachedError, NameTakenError
from carillon.ports.jobs import JobStore


class NoOccurrenceError(ScheduleError):
    """The schedule has nothing ahead: such a job would be stored and never run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """The wish for a job, every value checked. Times in ms; `payload` as the receiver is to get it.

    `payload_ref` names an upload in its place, and `stored_payload` is what has been made of that.
    """

    schedule: Schedule
    target: Target
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    rules: PlanningRules = field(default_factory=PlanningRules)
    priority: Priority = Priority.NORMAL
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    payload: bytes | None = None
    payload_ref: str | None = None
    stored_payload: StoredPayload | None = None
    deadline_ms: int | None = None
    on_failure: Target | None = None


@dataclass(slots=True)
class ShardCount:
    """Onto how many shards new jobs are hashed.

    Dispatchers scan the shards that the ledger knows of, so the ledger learns of ours before a job can live there.
    """

    ledger: ShardLedger
    wanted: int
    _in_force: int | None = None

    def in_force(self) -> int:
        """The count of the settings, or a higher one that was ever used: it is never lowered."""
        if self._in_force is None:
            self._in_force = self.ledger.raise_to(self.wanted)
        return self._in_force


Keep = Callable[[str, str, NewJob, StoredPayload | None, Limits], NewJob]
"""Makes the upload of a wish the job's own: tenant, job id, the wish, what the job has so far, the tenant's limits."""

LimitsOf = Callable[[str], Limits]
"""The limits of a tenant."""


def without_uploads(_tenant: str, _job_id: str, wish: NewJob, _seen: StoredPayload | None, _limits: Limits) -> NewJob:
    """For those whose wishes refer to no upload."""
    return wish


def unlimited(_tenant: str) -> Limits:
    """For those who know of no limits."""
    return NO_LIMITS


def check_payload(limits: Limits, size_bytes: int, field: str) -> None:
    """Refuse a payload that is larger than the tenant's may be, at a field of the request.

    Raises:
        LimitReachedError: it is.
    """
    if limits.payload_bytes is not None and size_bytes > limits.payload_bytes:
        raise LimitReachedError("payload_bytes", limits.payload_bytes, field)


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Accepts jobs."""

    jobs: JobStore
    ids: Ids
    shards: ShardCount
    keep: Keep = without_uploads
    limits_of: LimitsOf = unlimited

    def __call__(self, tenant: str, new: NewJob, now_ms: int, by: Actor = CARILLON) -> Definition:
        """Store a new job, with the event that tells who did; what is returned will run.

        Raises:
            NoOccurrenceError: the schedule has no occurrence ahead; the error names the field at fault.
            NameTakenError: another job of the tenant has the name.
            NoSuchUploadError: the tenant has no upload of the reference.
            LimitReachedError: the tenant has as many jobs as it may, or its payloads must be smaller.
            TooFastError: the tenant creates jobs faster than it may.
        """
        first = _first_occurrence(new.schedule, now_ms)
        job_id = self.ids.job_id(now_ms)
        if new.payload_ref is not None and new.name is not None:
            self._check_name(tenant, new.name)
        new = self.kept(tenant, job_id, new)
        definition = Definition(
            Job(
                id=job_id,
                tenant=tenant,
                state=JobState.SCHEDULED,
                schedule=encode(new.schedule),
                rules=new.rules.encode(),
                shard=shard_of(job_id, self.shards.in_force()),
                lane=new.target.lane,
                priority=new.priority,
                version=1,
                generation=1,
                created_at=now_ms,
                scheduled_for=first,
                next_fire_time=fire_time(job_id, new.rules, first),
                has_objects=new.stored_payload is not None,
            ),
            _spec(job_id, tenant, new, now_ms),
        )
        changes = changes_at_creation(definition)
        event = told(Action.JOB_CREATED, job_id, now_ms, tenant, by, changes, of=1)
        self.jobs.create(definition, limits=self.limits_of(tenant), event=event)
        return definition

    def kept(self, tenant: str, job_id: str, wish: NewJob, seen: JobSpec | None = None) -> NewJob:
        """The wish with what is stored of its payload; what the job has already is not judged again.

        Raises:
            NoSuchUploadError: the tenant has no upload of the reference.
            LimitReachedError: it is larger than a payload of the tenant may be.
        """
        limits = self.limits_of(tenant)
        if wish.payload is not None and (seen is None or seen.payload != wish.payload):
            check_payload(limits, len(wish.payload), "payload")
        return self.keep(tenant, job_id, wish, None if seen is None else seen.stored_payload, limits)

    def _check_name(self, tenant: str, name: str) -> None:
        """Refuse a taken name before anything is copied for the job. Whoever takes it meanwhile is met by the write."""
        holder = self.jobs.holder_of(tenant, name)
        stored = None if holder is None else self.jobs.get(holder)
        if stored is not None and stored.job.state is not JobState.CANCELLED and stored.spec.name == name:
            raise NameTakenError(stored.job.id)


def _spec(job_id: str, tenant: str, new: NewJob, now_ms: int) -> JobSpec:
    return JobSpec(
        job_id=job_id,
        tenant=tenant,
        target=new.target,
        retry=new.retry,
        revisions=(Revision(1, now_ms),),
        revision=1,
        created_at=now_ms,
        updated_at=now_ms,
        name=new.name,
        labels=new.labels,
        payload=new.payload,
        stored_payload=new.stored_payload,
        deadline_ms=new.deadline_ms,
        on_failure=new.on_failure,
    )


def _first_occurrence(schedule: Schedule, now_ms: int) -> int:
    """A single run may be due at this very instant; what recurs begins later than its creation."""
    first = schedule.next_after(now_ms - 1 if isinstance(schedule, OneOff) else now_ms)
    if first is None:
        raise nothing_ahead(schedule)
    return first


def nothing_ahead(schedule: Schedule) -> NoOccurrenceError:
    """The refusal of a schedule without an occurrence, at the field that leaves it none."""
    if isinstance(schedule, OneOff):
        return NoOccurrenceError("run_at", "in the past", "an instant that is not in the past")
    if getattr(schedule, "end_ms", None) is not None:
        return NoOccurrenceError("end_at", "no occurrence lies before it", "an instant after the next occurrence")
    kind = "cron" if isinstance(schedule, CronSchedule) else "every"
    return NoOccurrenceError(kind, "no occurrence lies ahead", "a schedule with an occurrence before the year 10000")
