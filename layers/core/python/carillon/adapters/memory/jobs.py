"""The job store in memory."""

from collections.abc import Sequence
from dataclasses import replace

from carillon.adapters.memory.state import MemoryState
from carillon.adapters.store_rules import (
    holds_claim,
    is_same_creation,
    is_same_edit,
    lease_until_after,
    may_defer,
    voided,
    was_confirmed,
    was_deferred,
    was_set_to_error,
)
from carillon.domain.audit import AuditEvent
from carillon.domain.counting import window_at
from carillon.domain.job import ClaimLease, Definition, Job, JobSpec, JobState
from carillon.domain.limits import NO_LIMITS, CreateLimit, Limits
from carillon.domain.planning import DueJob
from carillon.domain.run import Run
from carillon.ports.errors import LimitReachedError, NameTakenError, TooFastError, UnreadableItemError
from carillon.ports.jobs import Claim, Claimed, ClaimRefused, ClaimResult, Confirmation, JobDeferral, JobPage, Renaming


class MemoryJobStore:
    """Jobs, both halves."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def create(self, definition: Definition, *, limits: Limits = NO_LIMITS, event: AuditEvent | None = None) -> None:
        """Store a new job, its other half, its name and its event, and count it, all or nothing."""
        job, spec, state = definition.job, definition.spec, self._state
        with state.lock:
            if job.id in state.specs or job.id in state.jobs:
                self._check_repeat(definition)
                return
            self._check_name(spec)
            self._count(job, limits.create)
            self._take_name(spec)
            state.put_job(replace(job, counted=0))
            state.specs[job.id] = _frozen(spec)
            state.tell(event)

    def get(self, job_id: str) -> Definition | None:
        """Both halves, or None."""
        with self._state.lock:
            job, spec = self._state.jobs.get(job_id), self._state.specs.get(job_id)
        if job is None:
            return None
        if spec is None:
            raise UnreadableItemError(f"{job_id}: the other half is missing")
        return Definition(job, spec)

    def holder_of(self, tenant: str, name: str) -> str | None:
        """The id of the job that took a name last, or None when the name is free."""
        with self._state.lock:
            return self._state.names.get((tenant, name))

    def list_newest(self, tenant: str, limit: int, after: str | None) -> JobPage:
        """A tenant's jobs, newest first, from behind the job `after`."""
        with self._state.lock:
            own = (spec.job_id for spec in self._state.specs.values() if spec.tenant == tenant)
            found = sorted((job_id for job_id in own if after is None or job_id < after), reverse=True)
            page = found[:limit]
            definitions = tuple(
                Definition(self._state.jobs[job_id], self._state.specs[job_id])
                for job_id in page
                if job_id in self._state.jobs
            )
        return JobPage(definitions, page[-1] if len(found) > limit else None)

    def replace(  # noqa: PLR0913 - what an edit may come with, all or nothing
        self,
        definition: Definition,
        *,
        seen_version: int,
        seen_revision: int,
        records: Sequence[Run],
        segment: Job | None = None,
        seen_claim: str | None = None,
        renaming: Renaming | None = None,
        event: AuditEvent | None = None,
        limits: Limits | None = None,
    ) -> bool:
        """Store both halves if neither has changed since it was read, with what settles the past, all or nothing.

        The claim of a dispatcher stands unless the version rises, which voids it; the stored epoch always stands.

        Raises:
            NameTakenError: another job of the tenant holds the new name.
        """
        job, spec, state = definition.job, definition.spec, self._state
        with state.lock:
            stored, stored_spec = state.jobs.get(job.id), state.specs.get(job.id)
            if stored is None or stored_spec is None:
                return False
            if stored.version != seen_version or stored_spec.revision != seen_revision:
                return is_same_edit(stored_spec, spec, seen_revision)
            if seen_claim is not None and stored.lease.claim_id != seen_claim:
                return False
            if renaming is not None:
                self._check_name(spec)
            if limits is not None:
                self._count(job, None)
                job = replace(job, counted=0)
            if renaming is not None:
                self._take_name(spec)
                self._free_name(spec.tenant, renaming.former, spec.job_id)
            lease = stored.lease if job.version == seen_version else voided(stored.lease)
            state.put_job(replace(job, lease=lease))
            state.specs[job.id] = _frozen(spec)
            if job.state is JobState.CANCELLED:
                self._free_name(spec.tenant, spec.name, spec.job_id)
            self._record(records)
            if segment is not None:
                state.put_job(replace(segment, counted=None))
            state.tell(event)
            return True

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Try each claim by itself, in order."""
        return [self._claim(claim) for claim in claims]

    def confirm_many(self, confirmations: Sequence[Confirmation]) -> list[bool]:
        """End each claim by itself, in order."""
        return [self._confirm(confirmation) for confirmation in confirmations]

    def defer_many(self, deferrals: Sequence[JobDeferral]) -> list[bool]:
        """Move each job by itself to its slot, in order."""
        return [self._defer(deferral) for deferral in deferrals]

    def set_error(self, entry: DueJob, reason: str) -> bool:
        """Take a job that cannot be decided out of the due index: state `error`."""
        with self._state.lock:
            stored = self._state.plan(entry.job_id, entry.segment)
            if stored is None or stored.version != entry.version:
                return stored is not None and was_set_to_error(stored, entry)
            self._state.put_job(_broken(stored, reason))
            return True

    def delete(self, job_id: str) -> None:
        """Remove what is left of a job whose hot half is gone."""
        with self._state.lock:
            if job_id not in self._state.jobs and (spec := self._state.specs.pop(job_id, None)):
                self._free_name(spec.tenant, spec.name, spec.job_id)

    def _check_repeat(self, definition: Definition) -> None:
        stored = self._state.specs.get(definition.job.id)
        if stored is None or not is_same_creation(stored, definition.spec):
            raise ValueError(f"{definition.job.id}: another job has this id")

    def _count(self, job: Job, create: CreateLimit | None) -> None:
        """See that there is room for another job of its tenant, and take a turn of creating if that is limited."""
        most = self._state.limits.get(job.tenant, NO_LIMITS).jobs
        if most is not None and self._state.counted(job.tenant) >= most:
            raise LimitReachedError("jobs", most)
        if create is not None:
            self._take_turn(job, create)

    def _take_turn(self, job: Job, create: CreateLimit) -> None:
        window, made = self._state.turns.get(job.tenant, (0, 0))
        now = window_at(create, job.created_at)
        window, made = (now, 0) if now > window else (window, made)
        if made >= create.burst:
            raise TooFastError(max((window + 1) * create.window_ms - job.created_at, 1))
        self._state.turns[job.tenant] = (window, made + 1)

    def _check_name(self, spec: JobSpec) -> None:
        if spec.name is None:
            return
        holder = self._state.names.get((spec.tenant, spec.name), spec.job_id)
        held_by = self._state.jobs.get(holder)
        if held_by is not None and holder != spec.job_id and held_by.state is not JobState.CANCELLED:
            raise NameTakenError(holder)

    def _take_name(self, spec: JobSpec) -> None:
        if spec.name is not None:
            self._state.names[spec.tenant, spec.name] = spec.job_id

    def _free_name(self, tenant: str, name: str | None, job_id: str) -> None:
        if name is not None and self._state.names.get((tenant, name)) == job_id:
            del self._state.names[tenant, name]

    def _confirm(self, confirmation: Confirmation) -> bool:
        claim, state = confirmation.claim, self._state
        with state.lock:
            stored = state.plan(claim.entry.job_id, claim.entry.segment)
            is_drained = claim.entry.segment is not None and confirmation.upcoming is None
            if stored is None:
                return is_drained
            if not holds_claim(stored, claim):
                return was_confirmed(stored, claim)
            if is_drained:
                state.remove_segment(stored)
            else:
                state.put_job(_confirmed(stored, confirmation))
            self._record(confirmation.records)
            return True

    def _claim(self, claim: Claim) -> ClaimResult:
        with self._state.lock:
            stored = self._state.plan(claim.entry.job_id, claim.entry.segment)
            if stored is None:
                return ClaimRefused(claim, None)
            if holds_claim(stored, claim):
                return Claimed(claim)
            if not _may_claim(stored, claim):
                return ClaimRefused(claim, stored)
            lease = ClaimLease(claim.epoch, claim.until, claim.claim_id, claim.decided_at)
            self._state.put_job(replace(stored, lease=lease))
            return Claimed(claim)

    def _defer(self, deferral: JobDeferral) -> bool:
        with self._state.lock:
            stored = self._state.plan(deferral.entry.job_id, deferral.entry.segment)
            if stored is None or not may_defer(stored, deferral):
                return stored is not None and was_deferred(stored, deferral)
            moved = replace(
                stored, version=stored.version + 1, next_fire_time=deferral.until_ms, granted=deferral.granted
            )
            self._state.put_job(moved)
            return True

    def _record(self, records: Sequence[Run]) -> None:
        for run in records:
            if run.key.name not in self._state.runs[run.key.job_id]:
                self._state.put_run(run)


def _may_claim(stored: Job, claim: Claim) -> bool:
    if stored.version != claim.entry.version or stored.lease.epoch > claim.epoch:
        return False
    return stored.lease.until == 0 if claim.takes_over is None else stored.lease.claim_id == claim.takes_over


def _confirmed(stored: Job, confirmation: Confirmation) -> Job:
    upcoming = confirmation.upcoming
    return replace(
        stored,
        state=confirmation.state,
        version=stored.version + 1,
        planned=confirmation.planned,
        planned_until=confirmation.planned_until or stored.planned_until,
        scheduled_for=upcoming.scheduled_for if upcoming else None,
        next_fire_time=upcoming.due_ms if upcoming else None,
        granted=confirmation.granted,
        lease=replace(stored.lease, until=lease_until_after(confirmation)),
        expires_at=confirmation.expires_at,
        counted=stored.counted if upcoming else None,
    )


def _broken(stored: Job, reason: str) -> Job:
    return replace(
        stored,
        state=JobState.ERROR,
        version=stored.version + 1,
        scheduled_for=None,
        next_fire_time=None,
        lease=voided(stored.lease),
        error=reason,
        counted=None,
    )


def _frozen(spec: JobSpec) -> JobSpec:
    """The value with a mapping of its own, so that the writer's later changes do not reach the store."""
    return replace(spec, labels=dict(spec.labels))
