"""Changes of a job in time: pause, resume, a new definition, cancel.

Each gives the job as it is afterwards, and what settles its past. An edit is never a misfire: what was due before it is
answered for by the old definition, what comes after it by the new one, and nominal times are compared. What was due
and not confirmed is settled with the edit: a pause or a cancel records each such occurrence (or one summary of many);
a new schedule leaves a segment of the old one in the due index, which is drained like a job.
"""

from dataclasses import dataclass, replace

from carillon.domain.job import Definition, Job, JobState, PlanningRules, RevisionKind, expiry_seconds
from carillon.domain.planning import fire_time
from carillon.domain.revisions import next_revision, paused_since, revised
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import OneOff, Schedule, decode
from carillon.domain.settling import Moment, has_unconfirmed, paused_time, segment_of, settling


class JobFinishedError(Exception):
    """The job has ended in a way that the change does not apply to."""


class NothingAheadError(Exception):
    """The schedule has no occurrence after the edit."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A job after an edit, with the records and the segment that settle what was due before it."""

    definition: Definition
    records: tuple[Run, ...] = ()
    segment: Job | None = None


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
    records, segment = settling(seen.job, at, RunState.SKIPPED, "paused")
    return Edited(
        revised(replace(seen.spec, state_reason=reason), job, RevisionKind.PAUSED, at.now_ms), records, segment
    )


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
    schedule, since = decode(job.schedule), paused_since(seen)
    # What a worker began all the same, with the job as it was before the pause, is not planned a second time.
    until_ms = max(at.recorded, default=since) if catch_up or isinstance(schedule, OneOff) else at.now_ms
    planned = _planned_from(job, schedule.next_after(until_ms), at)
    records = paused_time(job, schedule, since, until_ms, at)
    return Edited(revised(seen.spec, planned, RevisionKind.DEFINED, at.now_ms), records)


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
    return Edited(Definition(wanted.job, next_revision(wanted.spec, at.now_ms)))


def cancel(seen: Definition, at: Moment) -> Edited:
    """Cancel a job; cancelling a cancelled one changes nothing.

    What is due at or before it still ends in a record, the time of a pause in one for all; nothing later exists.
    """
    if seen.job.state is JobState.CANCELLED:
        return Edited(seen)
    job = replace(
        _stopped(seen.job, at),
        state=JobState.CANCELLED,
        expires_at=expiry_seconds(at.now_ms, at.retention_ms),
    )
    records, segment = settling(seen.job, at, RunState.CANCELLED, "job_cancelled")
    if seen.job.state is JobState.PAUSED:
        records = paused_time(seen.job, decode(seen.job.schedule), paused_since(seen), at.now_ms, at)
    return Edited(revised(seen.spec, job, RevisionKind.CANCELLED, at.now_ms, forced=True), records, segment)


def replan(seen: Definition, upcoming: int, at: Moment) -> Edited:
    """Plan another next occurrence (nominal, epoch ms) by the same schedule, because its zone has other rules now.

    Only while the planned one is ahead and nothing was sent ahead of its time. What may have been sent of it meanwhile
    is void. The definition stays what it was, and so does its revision.

    Raises:
        TooManyEditsError: the schedule was edited too often lately.
    """
    moved = revised(seen.spec, _planned_from(seen.job, upcoming, at), RevisionKind.REPLANNED, at.now_ms)
    return Edited(Definition(moved.job, replace(seen.spec, revisions=moved.spec.revisions)))


# ----------------------------------------------------------------------------------------------------------- new plans


def _rescheduled(seen: Definition, wanted: Definition, at: Moment) -> Edited:
    upcoming = _first_from(decode(wanted.job.schedule), at)
    if seen.job.state is JobState.PAUSED:
        return _rescheduled_while_paused(seen, wanted, at)
    segment = segment_of(seen.job, at)
    base = replace(wanted.job, planned=_planned_at(seen.job, at), version=seen.job.version)
    job = _planned_from(base, upcoming, at)
    return Edited(revised(wanted.spec, job, RevisionKind.DEFINED, at.now_ms), segment=segment)


def _rescheduled_while_paused(seen: Definition, wanted: Definition, at: Moment) -> Edited:
    """The job stays paused. The paused time until now was the old schedule's, and is recorded as skipped."""
    records = paused_time(seen.job, decode(seen.job.schedule), paused_since(seen), at.now_ms, at)
    job = replace(wanted.job, version=seen.job.version + 1, generation=seen.job.generation + 1)
    return Edited(revised(wanted.spec, job, RevisionKind.PAUSED, at.now_ms), records)


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
    if has_unconfirmed(job, at):
        planned += schedule.count((job.scheduled_for or 0) - 1, at.now_ms)
    max_runs = PlanningRules.decode(job.rules).max_runs
    return planned if max_runs is None else min(planned, max_runs)


# ------------------------------------------------------------------------------------------------------- what is asked


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
