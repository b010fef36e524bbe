"""The shipped memory stores, with an eye on every write: what must never happen is noted the moment it does."""

from collections.abc import Callable, Sequence
from typing import Any

from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.state import ItemKey, MemoryState
from carillon.domain.breaker import TARGET_UNAVAILABLE
from carillon.domain.job import Definition, Job
from carillon.domain.planning import DueJob, DueRun, window_offset
from carillon.domain.run import Run, RunState
from carillon.ports.edges import Clock
from carillon.ports.jobs import Claim, Claimed, ClaimResult

from .history import Edit, History
from .plan import AskKind


class WatchedState(MemoryState):
    """The tables; `due_at` is what an index without lag would show: the fire time and the shard of each entry."""

    def __init__(
        self, clock: Clock, history: History, acting: Callable[[], Any], trace: Callable[..., None] | None
    ) -> None:
        super().__init__(clock)
        self.acting = acting
        self.history = history
        self.trace = trace
        self.due_at: dict[ItemKey, tuple[int, int]] = {}
        self._may_start_at: dict[tuple[str, str, int], int] = {}

    def put_run(self, run: Run) -> None:
        """Store a run, if that is legal for what is stored."""
        before = self.runs[run.key.job_id].get(run.key.name)
        super().put_run(run)
        if self.trace:
            self.trace(
                "run", run.key.run_id, f"{run.state} rev={run.rev} attempt={run.attempt} wait={run.wait}", run.reason
            )
        if before is None:
            story = self.history.stories[run.key.job_id]
            story.written[run.key.name] = self.history.next_seq()
            story.born[run.key.name] = self.acting().knows_as_of(self.history)
        if run.reason == TARGET_UNAVAILABLE:
            self.history.stories[run.key.job_id].parked.add(run.key.name)
        if run.next_fire_time is not None:
            self._may_start_at.setdefault(_wait_of(run), run.next_fire_time)
        asks = getattr(self.acting(), "asks", None)
        if before is not None and asks is not None:
            self._note_asked(before, run, asks)
        wrong = wrong_run(before, run, is_redrive=asks is AskKind.REDRIVE) or self._early(before, run)
        if wrong:
            self.history.broken.append(f"{run.key.run_id}: {wrong}")

    def _note_asked(self, before: Run, run: Run, asks: AskKind) -> None:
        story = self.history.stories[run.key.job_id]
        if asks is AskKind.CANCEL:
            story.cancels.add(run.key.name)
        elif before.state is RunState.DEAD_LETTERED:
            story.redrives[run.key.name] = before.attempt

    def put_job(self, job: Job) -> None:
        """Store a job, if that is legal for what is stored."""
        before = self.plan(job.id, job.segment)
        super().put_job(job)
        if self.trace:
            segment = "" if job.segment is None else f" segment {job.segment}"
            said = f"{job.state} v{job.version} g{job.generation} next={job.next_fire_time} nominal={job.scheduled_for}"
            self.trace("job", job.id + segment, said, f"planned={job.planned} lease={job.lease}")
        if before and job.lease.epoch < before.lease.epoch:
            self.history.broken.append(f"{job.id}: an older owner has written")
        if before and job.version < before.version:
            self.history.broken.append(f"{job.id}: an older version was written")

    def _early(self, before: Run | None, run: Run) -> str | None:
        """A start before its time, by the worker's own clock."""
        if run.state is not RunState.RUNNING or (before and before.state is RunState.RUNNING):
            return None
        due_ms = run.scheduled_for if before is None else self._may_start_at.get(_wait_of(before), 0)
        earliest_ms = due_ms - self.history.bounds.set_back_ms
        return f"attempt {run.attempt} starts early" if run.attempts[-1].started_at < earliest_ms else None

    def _show(self, key: ItemKey, before: DueJob | DueRun | None, after: DueJob | DueRun | None) -> None:
        super()._show(key, before, after)
        if after is None:
            self.due_at.pop(key, None)
        else:
            self.due_at[key] = (after.next_fire_time, after.shard)


def _wait_of(run: Run) -> tuple[str, str, int]:
    """One waiting of a run. It may be deferred to a slot, while a message of it is on its way already."""
    return run.key.job_id, run.key.name, run.wait


def wrong_run(before: Run | None, run: Run, *, is_redrive: bool = False) -> str | None:
    """Why a record may not be written over another (None: over nothing), or None."""
    if before is None:
        return None if run.rev == 1 else "a record begins in the middle"
    if before.state.has_ended and not (is_redrive and _is_redriven(before, run)):
        return f"a record that has ended ({before.state}) is written again ({run.state})"
    if run.rev != before.rev + 1:
        return f"a newer record (rev {before.rev}) is overwritten (rev {run.rev})"
    if not before.attempt <= run.attempt <= before.attempt + 1:
        return f"attempt {before.attempt} is followed by {run.attempt}"
    if any(attempt.ended_at is None for attempt in run.attempts[:-1]):
        return "an attempt begins before the last one has ended"
    if before.is_cancelled and run.attempt > before.attempt:
        return "a cancelled run is tried again"
    return None


def _is_redriven(before: Run, run: Run) -> bool:
    """Whether a dead letter waits again, with nothing of its history forgotten."""
    return (
        before.state is RunState.DEAD_LETTERED
        and run.state in (RunState.RETRYING, RunState.QUEUED)
        and (run.attempt, run.attempts, run.wait) == (before.attempt, before.attempts, before.wait + 1)
    )


class WatchedJobs(MemoryJobStore):
    """The job store. It notes when jobs are read, which edits are stored, and as of when claims decide."""

    def __init__(self, state: WatchedState) -> None:
        super().__init__(state)
        self._history = state.history
        self._acting = state.acting
        self.decided_at: dict[str, int] = {}
        self._holders: dict[tuple[str, int | None, int], Claim] = {}

    def get(self, job_id: str) -> Definition | None:
        """Both halves, or None."""
        self._acting().read_seq = self._history.next_seq()
        return super().get(job_id)

    def create(self, definition: Definition, **options: Any) -> None:
        """Store a new job."""
        is_new = definition.job.id not in self._state.jobs
        super().create(definition, **options)
        if is_new:
            self._acting().has_created(definition)

    def replace(self, definition: Definition, **options: Any) -> bool:
        """Store an edit, and note it when it is stored for the first time."""
        before = self._state.jobs.get(definition.job.id)
        is_stored = super().replace(definition, **options)
        stored = self._state.jobs.get(definition.job.id)
        if before and stored and (before.generation, before.rules) != (stored.generation, stored.rules):
            self._note(definition)
        return is_stored

    def _note(self, definition: Definition) -> None:
        wish = self._acting().wish
        governs_from = max(definition.spec.revisions, key=lambda revision: revision.generation).since
        edit = Edit(
            seq=self._history.next_seq(),
            kind=wish.kind,
            at_ms=governs_from - 1,
            stored_at=self._state.clock.now_ms(),
            read_seq=self._acting().read_seq,
            schedule=wish.schedule,
            window_ms=wish.window_ms,
        )
        self._history.stories[definition.job.id].edits.append(edit)

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Try each claim."""
        results = super().claim_many(claims)
        for result in results:
            if isinstance(result, Claimed):
                self._note_claim(result.claim)
        return results

    def _note_claim(self, claim: Claim) -> None:
        """One claim of each plan; after it only whoever takes it over, to decide as of the same instant."""
        self.decided_at[claim.claim_id] = claim.decided_at
        plan = (claim.entry.job_id, claim.entry.segment, claim.entry.version)
        before = self._holders.get(plan, claim)
        self._holders[plan] = claim
        if (claim.claim_id, claim.decided_at) == (before.claim_id, before.decided_at):
            return
        if (claim.takes_over, claim.decided_at) != (before.claim_id, before.decided_at):
            self._history.broken.append(f"{claim.entry.job_id}: version {claim.entry.version} is claimed twice")


def offset_of(job_id: str, window_ms: int) -> int:
    """How much later than its nominal time a run of a job is due, ms."""
    return window_offset(job_id, window_ms)
