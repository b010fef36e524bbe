"""Planning anew what was planned by zone rules that have changed since.

It walks the due index to its end, reads the jobs whose next occurrence may be wrong, and moves it on the condition that
the job has not changed meanwhile. What it leaves is counted, and a later walk finds it again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import JobNotFoundError, job_of_tenant
from carillon.domain.audit import Actor, ActorType
from carillon.domain.editing import Edited, replan
from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.job import Definition, JobState
from carillon.domain.planning import DueEntry, DueJob, UnreadableEntry
from carillon.domain.replanning import is_right_for_sure, last_planned, next_by_the_rules
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.schedule import CronSchedule, ScheduleError, decode, encode
from carillon.domain.settling import Moment
from carillon.ports.dispatch import DueIndex, ShardLedger
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError, UnreadableItemError
from carillon.ports.jobs import JobStore

_BY = Actor(ActorType.SYSTEM, "replan")

_LATEST_FIRE_MS = LAST_INSTANT_MS + 24 * 3600 * 1000
"""No window puts a run later than this."""


@dataclass(frozen=True, slots=True)
class Move:
    """A job whose next occurrence (nominal, epoch ms) is another one by the present rules."""

    job_id: str
    tenant: str
    schedule: CronSchedule
    from_ms: int
    to_ms: int


@dataclass(slots=True)
class ReplanCounts:
    """What a walk found.

    Attributes:
        cron_jobs: jobs with a cron schedule and something ahead.
        moved: those whose next occurrence was moved, or would be.
        sent_ahead: those to be moved that have occurrences on their way: a minute later they can be.
        failed: those to be moved that were edited too often, or kept changing.
        unreadable: entries whose schedule cannot be read, by the present rules or at all.
    """

    cron_jobs: int = 0
    moved: int = 0
    sent_ahead: int = 0
    failed: int = 0
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Replan:
    """Re-plans the jobs of all shards."""

    index: DueIndex
    jobs: JobStore
    edit: EditJob
    ledger: ShardLedger
    clock: Clock

    def __call__(self, counts: ReplanCounts, *, dry_run: bool) -> Iterator[Move]:
        """Move what is to be moved, or only tell it; each job is given as soon as it is done.

        Args:
            counts: what the walk finds is counted here.
            dry_run: whether nothing is to be written.
        """
        for shard in range(self.ledger.highest()):
            for page in self.index.pages(shard, _LATEST_FIRE_MS):
                for entry in page:
                    move = self._look_at(entry, counts, dry_run=dry_run)
                    if move is not None:
                        counts.moved += 1
                        yield move

    def _look_at(self, entry: DueEntry, counts: ReplanCounts, *, dry_run: bool) -> Move | None:
        match entry:
            case DueJob(segment=None):
                return self._look_at_job(entry, counts, dry_run=dry_run)
            case UnreadableEntry():
                counts.unreadable += 1
        return None  # a run that waits, or what an edit left to be drained: neither is planned

    def _look_at_job(self, entry: DueJob, counts: ReplanCounts, *, dry_run: bool) -> Move | None:
        try:
            schedule = decode(entry.schedule)
        except ScheduleError:
            counts.unreadable += 1
            return None
        if not isinstance(schedule, CronSchedule):
            return None
        counts.cron_jobs += 1
        if is_right_for_sure(schedule, entry.scheduled_for, self.clock.now_ms()):
            return None
        return self._move(entry, schedule, counts, dry_run=dry_run)

    def _move(self, entry: DueJob, schedule: CronSchedule, counts: ReplanCounts, *, dry_run: bool) -> Move | None:
        attempt = _Attempt(schedule)
        try:
            self._apply(attempt, entry, dry_run=dry_run)
        except JobNotFoundError:
            return None
        except UnreadableItemError:
            counts.unreadable += 1
            return None
        except (TooManyEditsError, UnavailableError):
            counts.failed += 1
            return None
        counts.sent_ahead += attempt.is_sent_ahead
        if attempt.upcoming is None:
            return None
        return Move(entry.job_id, entry.tenant, schedule, attempt.stored_ms, attempt.upcoming)

    def _apply(self, edit: Callable[[Definition, Moment], Edited], entry: DueJob, *, dry_run: bool) -> None:
        now_ms = self.clock.now_ms()
        if dry_run:
            edit(job_of_tenant(self.jobs, entry.tenant, entry.job_id), Moment(now_ms, self.edit.retention_ms))
        else:
            self.edit(entry.tenant, entry.job_id, now_ms, edit, by=_BY)


@dataclass(slots=True)
class _Attempt:
    """The edit, which remembers what its last reading of the job came to."""

    schedule: CronSchedule
    stored_ms: int = field(default=0, init=False)
    upcoming: int | None = field(default=None, init=False)
    is_sent_ahead: bool = field(default=False, init=False)

    def __call__(self, seen: Definition, at: Moment) -> Edited:
        """Move the next occurrence, if it is to be moved and nothing is on its way ahead of its time."""
        self.upcoming, self.is_sent_ahead = None, False
        job = seen.job
        if job.state is not JobState.SCHEDULED or job.scheduled_for is None or job.schedule != encode(self.schedule):
            return Edited(seen)
        self.stored_ms = job.scheduled_for
        upcoming = next_by_the_rules(
            self.schedule, stored_ms=job.scheduled_for, planned_ms=last_planned(seen), now_ms=at.now_ms
        )
        if upcoming == job.scheduled_for:
            return Edited(seen)
        self.is_sent_ahead = job.planned_until > at.now_ms
        if self.is_sent_ahead:
            return Edited(seen)
        self.upcoming = upcoming
        return replan(seen, upcoming, at)
