"""Giving a job another definition: the wish for the whole job, against the job as it is."""

from dataclasses import replace

from carillon.application.create_job import NewJob, nothing_ahead
from carillon.domain.cron import Cron
from carillon.domain.editing import Edited, NothingAheadError, change
from carillon.domain.job import Definition, HttpTarget, Job, Target
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, Every, Schedule, ScheduleError, decode, encode
from carillon.domain.settling import Moment


def redefine(seen: Definition, wish: NewJob, at: Moment) -> Edited:
    """The job as the wish has it; what is equal to the job as it is changes nothing.

    Args:
        seen: the job as read.
        wish: all of its definition, the unchanged parts included.
        at: when.

    Raises:
        NoOccurrenceError: the new schedule has no occurrence ahead; the error names the field at fault.
        JobFinishedError: the job has ended.
        TooManyEditsError: the schedule was edited too often lately.
    """
    try:
        return change(seen, _wanted(seen, wish), at)
    except NothingAheadError as error:
        raise nothing_ahead(wish.schedule) from error


def _wanted(seen: Definition, wish: NewJob) -> Definition:
    job = replace(
        seen.job,
        schedule=encode(_as_before(seen.job, wish.schedule)),
        rules=wish.rules.encode(),
        lane=wish.target.lane,
        priority=wish.priority,
        has_objects=seen.job.has_objects or wish.stored_payload is not None,
    )
    spec = replace(
        seen.spec,
        target=wish.target if not _is_same_target(seen.spec.target, wish.target) else seen.spec.target,
        retry=wish.retry if not _is_same_retry(seen.spec.retry, wish.retry) else seen.spec.retry,
        name=wish.name,
        labels=wish.labels,
        payload=wish.payload,
        stored_payload=wish.stored_payload,
        deadline_ms=wish.deadline_ms,
        on_failure=wish.on_failure,
    )
    return Definition(job, spec)


def _is_same_target(before: Target, wanted: Target) -> bool:
    """Whether a call is the same: names of headers have no case, and headers of different names no order."""
    if not isinstance(before, HttpTarget) or not isinstance(wanted, HttpTarget):
        return before == wanted
    return replace(before, headers=_in_order(before)) == replace(wanted, headers=_in_order(wanted))


def _in_order(target: HttpTarget) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name.lower(), value) for name, value in target.headers))


def _is_same_retry(before: RetryPolicy, wanted: RetryPolicy) -> bool:
    """Whether retries are the same: the statuses have no order."""
    return replace(before, retry_on=_statuses(before)) == replace(wanted, retry_on=_statuses(wanted))


def _statuses(retry: RetryPolicy) -> tuple[int, ...] | None:
    return None if retry.retry_on is None else tuple(sorted({*retry.retry_on}))


def _as_before(job: Job, wanted: Schedule) -> Schedule:
    """The wanted schedule; what is the same as before, but for its spelling or its anchor, stays as it is stored."""
    match _readable(job), wanted:
        case Every() as before, Every():
            return _on_its_anchor(before, wanted)
        case CronSchedule() as before, CronSchedule():
            is_same = replace(wanted, expression=before.expression) == before
            return before if is_same and Cron.parse(wanted.expression).means(Cron.parse(before.expression)) else wanted
    return wanted


def _on_its_anchor(before: Every, wanted: Every) -> Every:
    """An interval that is the same as before goes on from its anchor.

    Nobody who gives an interval without a start can give its anchor: read anew, it would begin at the edit.
    """
    is_same = before.interval_ms == wanted.interval_ms and before.start_ms is None and wanted.start_ms is None
    return replace(wanted, anchor_ms=before.anchor_ms) if is_same else wanted


def _readable(job: Job) -> Schedule | None:
    try:
        return decode(job.schedule)
    except ScheduleError:  # damaged: this edit mends it
        return None
