"""Changes of a job in time: pause, resume, a new definition, cancel.

Each gives the job as it is afterwards, and what settles its past. An edit is never a misfire: what was due before it is
answered for by the old definition, what comes after it by the new one, and nominal times are compared. What was due
and not confirmed is settled with the edit: a pause or a cancel records each such occurrence (or one summary of many);
a new schedule leaves a segment of the old one in the due index, which is drained like a job.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from carillon.domain.identity import RunKey
from carillon.domain.instants import DAY_MS, LAST_INSTANT_MS
from carillon.domain.job import (
    Definition,
    Job,
    JobSpec,
    JobState,
    PlanningRules,
    Revision,
    RevisionKind,
    expiry_seconds,
)
from carillon.domain.planning import MOST_SINGLE_SKIPS, fire_time
from carillon.domain.run import Run, RunState, SkippedBlock
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, decode, encode

MOST_REVISIONS = 50
REVISIONS_KEPT_MS = 15 * DAY_MS
"""No message is older than the 14 days that a queue keeps it: a revision younger than this may still be asked for."""


class JobFinishedError(Exception):
    """The job has ended in a way that the change does not apply to."""


class NothingAheadError(Exception):
    """The schedule has no occurrence after the edit."""


class TooManyEditsError(Exception):
    """One more edit would push out a revision that a message may still refer to.

    `retry_at` is the instant from which it would do, epoch ms; `wait_ms` how long that is from the edit.
    """

    def __init__(self, retry_at: int, now_ms: int) -> None:
        super().__init__("too many edits")
        self.retry_at = retry_at
        self.wait_ms = retry_at - now_ms


@dataclass(frozen=True, slots=True)
class Edited:
    """A job after an edit, with the records and the segment that settle what was due before it."""

    definition: Definition
    records: tuple[Run, ...] = ()
    segment: Job | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When an edit is made, and what the edit has to know of the world.

    Attributes:
        now_ms: the instant of the edit, epoch ms.
        retention_ms: how long records and ended jobs are kept.
        recorded: nominal times that have a record already, of those that the edit would settle.
    """

    now_ms: int
    retention_ms: int
    recorded: Collection[int] = ()


def pause(seen: Definition, at: Moment, *, reason: str | None = None) -> Edited:
    """Pause a job; pausing a paused one changes nothing. What is due and not begun is skipped, with its record.

    Args:
        seen: the job as read.
        at: when.
        reason: why, if it is not the tenant's wish.

    Raises:
        JobFinishedError: the job has ended.
        TooManyEditsError: it was edited too often lately.
    """
    if seen.job.state is JobState.PAUSED:
        return Edited(seen)
    if seen.job.state is JobState.ERROR:
        raise JobFinishedError
    _check_editable(seen.job, at)
    job = replace(_stopped(seen.job, at), state=JobState.PAUSED, planned=_planned_at(seen.job, at))
    records, segment = _settling(seen.job, at, RunState.SKIPPED, "paused")
    return Edited(_revised(replace(seen.spec, state_reason=reason), job, RevisionKind.PAUSED, at), records, segment)


def resume(seen: Definition, at: Moment, *, catch_up: bool) -> Edited:
    """Resume a paused job; resuming one that is scheduled changes nothing.

    From now on, the paused time is one record of skipped occurrences; with catch-up it is planned by the job's misfire
    policy. A single run whose time came during the pause is always planned by the policy: it has nothing after it.

    Raises:
        JobFinishedError: the job is neither paused nor scheduled.
        TooManyEditsError: it was edited too often lately.
    """
    job = seen.job
    if job.state is JobState.SCHEDULED:
        return Edited(seen)
    if job.state is not JobState.PAUSED:
        raise JobFinishedError
    schedule, since = decode(job.schedule), _paused_since(seen)
    from_ms = since if catch_up or isinstance(schedule, OneOff) else at.now_ms
    planned = _planned_from(job, schedule.next_after(from_ms), at)
    records = () if from_ms == since else _paused_time(job, schedule, since, at)
    return Edited(_revised(seen.spec, planned, RevisionKind.DEFINED, at), records)


def change(seen: Definition, wanted: Definition, at: Moment) -> Edited:
    """Give a job another definition. The next occurrence is computed anew, from now, only if the schedule changes.

    Whatever else changes leaves the plan and a dispatcher's claim alone, so the version of the plan stays.
    A job whose limit of runs is reached by then is completed by it.

    Args:
        seen: the job as read.
        wanted: the same job with what is to be different: the schedule, rules, lane and priority of its hot half, and
            anything but the revisions of the other.
        at: when.

    Raises:
        JobFinishedError: the job has ended.
        NothingAheadError: the new schedule has no occurrence ahead.
        TooManyEditsError: the schedule was edited too often lately.
    """
    if wanted == seen:
        return Edited(seen)
    _check_editable(seen.job, at)
    if _replans(seen.job, wanted.job):
        return _rescheduled(seen, wanted, at)
    return Edited(Definition(wanted.job, _next_revision(wanted.spec, at)))


def cancel(seen: Definition, at: Moment) -> Edited:
    """Cancel a job; cancelling a cancelled one changes nothing.

    What is due at or before the cancel still ends in a record; nothing later exists.
    """
    if seen.job.state is JobState.CANCELLED:
        return Edited(seen)
    job = replace(
        _stopped(seen.job, at),
        state=JobState.CANCELLED,
        expires_at=expiry_seconds(at.now_ms, at.retention_ms),
    )
    records, segment = _settling(seen.job, at, RunState.CANCELLED, "job_cancelled")
    return Edited(_revised(seen.spec, job, RevisionKind.CANCELLED, at, forced=True), records, segment)


def replan(seen: Definition, upcoming: int, at: Moment) -> Edited:
    """Plan another next occurrence (nominal, epoch ms) by the same schedule, because its zone has other rules now.

    Only while the planned one is ahead and nothing was sent ahead of its time. What may have been sent of it meanwhile
    is void. The definition stays what it was, and so does its revision.

    Raises:
        TooManyEditsError: the schedule was edited too often lately.
    """
    moved = _revised(seen.spec, _planned_from(seen.job, upcoming, at), RevisionKind.REPLANNED, at)
    return Edited(Definition(moved.job, replace(seen.spec, revisions=moved.spec.revisions)))


# ----------------------------------------------------------------------------------------------------------- new plans


def _rescheduled(seen: Definition, wanted: Definition, at: Moment) -> Edited:
    upcoming = _first_from(decode(wanted.job.schedule), at)
    if seen.job.state is JobState.PAUSED:
        return _rescheduled_while_paused(seen, wanted, at)
    segment = _segment(seen.job, at)
    base = replace(wanted.job, planned=_planned_at(seen.job, at), version=seen.job.version)
    job = _planned_from(base, upcoming, at)
    return Edited(_revised(wanted.spec, job, RevisionKind.DEFINED, at), segment=segment)


def _rescheduled_while_paused(seen: Definition, wanted: Definition, at: Moment) -> Edited:
    """The job stays paused. The paused time until now was the old schedule's, and is recorded as skipped."""
    records = _paused_time(seen.job, decode(seen.job.schedule), _paused_since(seen), at)
    job = replace(wanted.job, version=seen.job.version + 1, generation=seen.job.generation + 1)
    return Edited(_revised(wanted.spec, job, RevisionKind.PAUSED, at), records)


def _first_from(schedule: Schedule, at: Moment) -> int:
    """A single run may be due at the very instant of the edit; what recurs begins later."""
    upcoming = schedule.next_after(at.now_ms - 1 if isinstance(schedule, OneOff) else at.now_ms)
    if upcoming is None:
        raise NothingAheadError
    return upcoming


def _planned_from(job: Job, upcoming: int | None, at: Moment) -> Job:
    """The job with its next occurrence planned, or completed when there is none, or no run left."""
    rules = PlanningRules.decode(job.rules)
    moved = replace(
        job,
        version=job.version + 1,
        generation=job.generation + 1,
        planned_until=min(job.planned_until, at.now_ms),
        granted=False,
        error=None,
    )
    if upcoming is None or (rules.max_runs is not None and job.planned >= rules.max_runs):
        return replace(
            moved,
            state=JobState.COMPLETED,
            scheduled_for=None,
            next_fire_time=None,
            expires_at=expiry_seconds(at.now_ms, at.retention_ms),
        )
    return replace(
        moved,
        state=JobState.SCHEDULED,
        scheduled_for=upcoming,
        next_fire_time=fire_time(job.id, rules, upcoming),
        expires_at=None,
    )


def _segment(job: Job, at: Moment) -> Job | None:
    """What is due of the old schedule and not confirmed, as a job of its own that ends with the edit."""
    if not _has_unconfirmed(job, at):
        return None
    schedule = decode(job.schedule)
    if isinstance(schedule, (CronSchedule, Every)):
        end_ms = at.now_ms if schedule.end_ms is None else min(schedule.end_ms, at.now_ms)
        schedule = replace(schedule, end_ms=end_ms)
    return replace(job, schedule=encode(schedule), segment=job.generation, version=1)


def _stopped(job: Job, at: Moment) -> Job:
    return replace(
        job,
        scheduled_for=None,
        next_fire_time=None,
        planned_until=min(job.planned_until, at.now_ms),
        granted=False,
        version=job.version + 1,
        generation=job.generation + 1,
    )


def _planned_at(job: Job, at: Moment) -> int:
    """The count of planned runs without those that the edit revokes, and with those that are due and not confirmed."""
    if job.state is JobState.ERROR:
        return job.planned
    schedule = decode(job.schedule)
    planned = job.planned - schedule.count(at.now_ms, max(job.planned_until, at.now_ms))
    if _has_unconfirmed(job, at):
        planned += schedule.count((job.scheduled_for or 0) - 1, at.now_ms)
    max_runs = PlanningRules.decode(job.rules).max_runs
    return planned if max_runs is None else min(planned, max_runs)


# -------------------------------------------------------------------------------------------------------- what is past


def unsettled_from(seen: Definition) -> int:
    """From which nominal time on an edit may have to settle occurrences, epoch ms.

    Of a job that is scheduled, a dispatcher may have sent them without a confirm; of one that is paused, a worker that
    had read it before the pause may have begun them.
    """
    if seen.job.state is JobState.PAUSED:
        return _paused_since(seen) + 1
    return LAST_INSTANT_MS if seen.job.scheduled_for is None else seen.job.scheduled_for


def _has_unconfirmed(job: Job, at: Moment) -> bool:
    return job.state is JobState.SCHEDULED and job.scheduled_for is not None and job.scheduled_for <= at.now_ms


def _settling(job: Job, at: Moment, state: RunState, reason: str) -> tuple[tuple[Run, ...], Job | None]:
    """What settles the occurrences that are due and not confirmed: their records, or a segment.

    A dispatcher that has claimed them may have sent them already. A record each does no harm then: a run that begins
    before it is written stands. But one record of many would count what runs, so these are left to whoever takes the
    claim over, to be sent as they were; no worker starts them.
    """
    records = _settled(job, at, state, reason)
    if job.lease.until and any(run.block for run in records):
        return (), _segment(job, at)
    return records, None


def _settled(job: Job, at: Moment, state: RunState, reason: str) -> tuple[Run, ...]:
    """A record for each occurrence that is due, not confirmed and without one; one for all when they are many."""
    if not _has_unconfirmed(job, at):
        return ()
    schedule, first = decode(job.schedule), job.scheduled_for or 0
    max_runs = PlanningRules.decode(job.rules).max_runs
    left = None if max_runs is None else max(max_runs - job.planned, 0)
    count = schedule.count(first - 1, at.now_ms)
    recorded = _recorded_of(schedule, at)
    if left is None or count <= left:
        newest = schedule.newest(first - 1, at.now_ms, MOST_SINGLE_SKIPS + len(recorded))
    else:
        count = left
        newest = tuple(schedule.between(first - 1, at.now_ms, left))[-MOST_SINGLE_SKIPS - len(recorded) :]
    open_ones = tuple(nominal for nominal in newest if nominal not in recorded)
    if count - len(recorded) > MOST_SINGLE_SKIPS and open_ones:
        oldest = schedule.between(first - 1, at.now_ms, len(recorded) + 1)
        first_open = next(nominal for nominal in oldest if nominal not in recorded)
        return (_record(job, SkippedBlock(count - len(recorded), first_open, open_ones[-1]), at, state, reason),)
    return tuple(_record(job, SkippedBlock(1, nominal, nominal), at, state, reason) for nominal in open_ones)


def _recorded_of(schedule: Schedule, at: Moment) -> frozenset[int]:
    """The recorded times that are of this schedule: an older one may have fired at others."""
    return frozenset(nominal for nominal in at.recorded if schedule.count(nominal - 1, nominal))


def _paused_time(job: Job, schedule: Schedule, since_ms: int, at: Moment) -> tuple[Run, ...]:
    """One record of all that the schedule had in a pause."""
    recorded = _recorded_of(schedule, at)
    beyond = len(recorded) + 1
    first_ms = next((n for n in schedule.between(since_ms, at.now_ms, beyond) if n not in recorded), None)
    if first_ms is None:
        return ()
    last_ms = next(n for n in reversed(schedule.newest(since_ms, at.now_ms, beyond)) if n not in recorded)
    count = schedule.count(since_ms, at.now_ms) - len(recorded)
    return (_record(job, SkippedBlock(count, first_ms, last_ms), at, RunState.SKIPPED, "paused"),)


def _record(job: Job, block: SkippedBlock, at: Moment, state: RunState, reason: str) -> Run:
    """A record of a block of occurrences that do not run, filed under the last of them."""
    return Run(
        key=RunKey.of(job.id, block.last),
        tenant=job.tenant,
        state=state,
        scheduled_for=block.last,
        generation=job.generation,
        priority=job.priority,
        lane=job.lane,
        shard=job.shard,
        created_at=at.now_ms,
        reason=reason,
        block=block if block.count > 1 else None,
        ended_at=at.now_ms,
        expires_at=(at.now_ms + at.retention_ms) // 1000,
    )


# ----------------------------------------------------------------------------------------------------------- revisions


def _check_editable(job: Job, at: Moment) -> None:
    """A job can be edited while it plans, or while something that it has planned lies ahead."""
    if job.state in (JobState.SCHEDULED, JobState.PAUSED, JobState.ERROR):
        return
    if job.state is JobState.CANCELLED or job.planned_until <= at.now_ms:
        raise JobFinishedError


def _replans(seen: Job, wanted: Job) -> bool:
    """Whether the next occurrence has to be computed anew.

    That is by another schedule, its limit of runs and the window included, or on the way out of an error. A paused job
    has no next occurrence: another window or limit counts from its resume on.
    """
    if seen.state is JobState.ERROR or seen.schedule != wanted.schedule:
        return True
    before, after = PlanningRules.decode(seen.rules), PlanningRules.decode(wanted.rules)
    is_other = (before.window_ms, before.max_runs) != (after.window_ms, after.max_runs)
    return is_other and seen.state is not JobState.PAUSED


def newest_revision(spec: JobSpec) -> Revision:
    """The revision that governs in the end."""
    return max(spec.revisions, key=lambda revision: revision.generation)


def _paused_since(seen: Definition) -> int:
    """The instant of the pause, or of the last edit during it."""
    return newest_revision(seen.spec).since - 1


def _revised(spec: JobSpec, job: Job, kind: RevisionKind, at: Moment, *, forced: bool = False) -> Definition:
    """The job with a new revision of its schedule, from the next millisecond on.

    A cancel is never refused: it is the last revision, and leaves nothing that an older one could be asked for.
    """
    kept = _still_asked_for(spec.revisions, at.now_ms)
    if len(kept) >= MOST_REVISIONS and not forced:
        raise TooManyEditsError(kept[1].since + REVISIONS_KEPT_MS, at.now_ms)
    revised = replace(
        _next_revision(spec, at),
        revisions=(*kept, Revision(job.generation, at.now_ms + 1, kind)),
        listed_state=_LISTED_STATES.get(kind, "active"),
        state_reason=spec.state_reason if kind is RevisionKind.PAUSED else None,
    )
    return Definition(job, revised)


_LISTED_STATES = {RevisionKind.PAUSED: "paused", RevisionKind.CANCELLED: "cancelled"}


def _still_asked_for(revisions: tuple[Revision, ...], now_ms: int) -> tuple[Revision, ...]:
    """The revisions that a message in a queue may need: those that governed in the last 15 days."""
    ended_by = [*revisions[1:], None]
    return tuple(
        revision
        for revision, successor in zip(revisions, ended_by, strict=True)
        if successor is None or successor.since > now_ms - REVISIONS_KEPT_MS
    )


def _next_revision(spec: JobSpec, at: Moment) -> JobSpec:
    return replace(spec, revision=spec.revision + 1, updated_at=at.now_ms)
