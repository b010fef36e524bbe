"""What settles a job's past when it is edited: what was due by then, and not confirmed, under the old definition.

A pause or a cancel records each such occurrence, or one summary of many; a new schedule leaves a segment of the old
one in the due index, which is drained like a job.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from carillon.domain.identity import RunKey
from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.job import Definition, Job, JobState, PlanningRules
from carillon.domain.planning import MOST_SINGLE_SKIPS
from carillon.domain.revisions import paused_since
from carillon.domain.run import Run, RunState, SkippedBlock
from carillon.domain.schedule import CronSchedule, Every, Schedule, decode, encode


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


def unsettled_from(seen: Definition) -> int:
    """From which nominal time on an edit may have to settle occurrences, epoch ms.

    Of a job that is scheduled, a dispatcher may have sent them without a confirm; of one that is paused, a worker that
    had read it before the pause may have begun them.
    """
    if seen.job.state is JobState.PAUSED:
        return paused_since(seen) + 1
    return LAST_INSTANT_MS if seen.job.scheduled_for is None else seen.job.scheduled_for


def has_unconfirmed(job: Job, at: Moment) -> bool:
    """Whether an occurrence is due that no dispatcher has confirmed."""
    return job.state is JobState.SCHEDULED and job.scheduled_for is not None and job.scheduled_for <= at.now_ms


def settling(job: Job, at: Moment, state: RunState, reason: str) -> tuple[tuple[Run, ...], Job | None]:
    """What settles the occurrences that are due and not confirmed: their records, or a segment.

    A dispatcher that has claimed them may have sent them already. A record each does no harm then: a run that begins
    before it is written stands. But one record of many would count what runs, and of a job with a limit of runs it may
    have sent later ones and skipped these. So both are left to whoever takes the claim over, to be sent as they were;
    no worker starts them.
    """
    records = _settled(job, at, state, reason)
    is_limited = PlanningRules.decode(job.rules).max_runs is not None
    if job.lease.until and (is_limited or any(run.block for run in records)):
        return (), segment_of(job, at)
    return records, None


def _settled(job: Job, at: Moment, state: RunState, reason: str) -> tuple[Run, ...]:
    """A record for each occurrence that is due, not confirmed and without one; one for all when they are many."""
    if not has_unconfirmed(job, at):
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


def paused_time(job: Job, schedule: Schedule, since_ms: int, until_ms: int, at: Moment) -> tuple[Run, ...]:
    """One record of all that the schedule had in a pause, or up to an instant in it (both epoch ms)."""
    recorded = _recorded_of(schedule, at)
    beyond = len(recorded) + 1
    first_ms = next((n for n in schedule.between(since_ms, until_ms, beyond) if n not in recorded), None)
    if first_ms is None:
        return ()
    last_ms = next(n for n in reversed(schedule.newest(since_ms, until_ms, beyond)) if n not in recorded)
    count = schedule.count(since_ms, until_ms) - len(recorded)
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


def segment_of(job: Job, at: Moment) -> Job | None:
    """What is due of the old schedule and not confirmed, as a job of its own that ends with the edit."""
    if not has_unconfirmed(job, at):
        return None
    schedule = decode(job.schedule)
    if isinstance(schedule, (CronSchedule, Every)):
        end_ms = at.now_ms if schedule.end_ms is None else min(schedule.end_ms, at.now_ms)
        schedule = replace(schedule, end_ms=end_ms)
    return replace(job, schedule=encode(schedule), segment=job.generation, version=1)
