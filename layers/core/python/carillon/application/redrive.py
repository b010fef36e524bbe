"""Dead letters: listing them, and giving them their attempts anew.

A redrive is one conditional write of the run: of two at once one holds, and one whose answer was lost is recognised.
A redriven run waits in the due index like a retry, under its own name.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from carillon.application.keeping import kept_job
from carillon.application.read_runs import GetRun
from carillon.application.walking import Walked, walk
from carillon.domain.admission import redrive_refusal
from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.dead_letters import position_of
from carillon.domain.job import Definition
from carillon.domain.run import Run, redriven
from carillon.ports.jobs import JobStore
from carillon.ports.runs import RunStore, Saved

MOST_REDRIVEN = 500
"""Dead letters that one request looks at: it has to end within the time of an API call."""


class NotRedrivableError(Exception):
    """The run cannot be redriven; the reason is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which dead letters are wanted: of one job, and none that died before an instant (epoch ms)."""

    job_id: str | None = None
    since_ms: int = 0

    def admits(self, run: Run) -> bool:
        """Whether a dead letter is wanted."""
        return self.job_id in (None, run.key.job_id)


@dataclass(frozen=True, slots=True)
class ListDeadLetters:
    """A tenant's dead letters, the latest first."""

    runs: RunStore

    def __call__(self, tenant: str, wanted: DeadLetterFilter, limit: int, after: str | None) -> Walked[Run]:
        """A page of the list, from behind the position `after`."""

        def fetch(count: int, position: str | None) -> tuple[Sequence[Run], str | None]:
            page = self.runs.list_dead(tenant, wanted.since_ms, count, position)
            return page.runs, page.next_after

        return walk(
            fetch,
            admits=None if wanted.job_id is None else wanted.admits,
            position_of=position_of,
            limit=limit,
            start=after,
        )


@dataclass(frozen=True, slots=True)
class RedriveRun:
    """Redrives one run. `retention_ms`: how long ended jobs are kept."""

    jobs: JobStore
    runs: RunStore
    retention_ms: int

    def __call__(self, tenant: str, run_id: str, now_ms: int, *, is_again: bool = False, by: Actor = CARILLON) -> Run:
        """Redrive a dead-lettered run, with the event that tells who did; returns it as it is then.

        Asked again, a run that was redriven is good enough.

        Raises:
            RunNotFoundError: the tenant has none of this id.
            NotRedrivableError: it is no dead letter any more, too old, past its deadline, or its job has ended.
            UnavailableError: the job was changed by others each time we tried.
        """
        if is_again and (run := GetRun(self.runs)(tenant, run_id)).was_redriven:
            return run
        seen, definition = self.judge(tenant, run_id, now_ms)
        kept_job(self.jobs, tenant, seen.key.job_id, now_ms, self.retention_ms)
        again = redriven(seen, now_ms=now_ms, lane=definition.job.lane)
        changes = [("/state", str(seen.state), str(again.state))]
        event = told(Action.RUN_REDRIVEN, run_id, now_ms, tenant, by, changes, of=seen.rev)
        written = self.runs.save(again, seen=seen.rev, event=event)
        if isinstance(written, Saved):
            return written.run
        raise NotRedrivableError("somebody else has redriven it")

    def judge(self, tenant: str, run_id: str, now_ms: int) -> tuple[Run, Definition]:
        """The run and its job, if it can be redriven.

        Raises:
            RunNotFoundError: the tenant has none of this id.
            NotRedrivableError: it cannot.
        """
        run = GetRun(self.runs)(tenant, run_id)
        definition = self.jobs.get(run.key.job_id)
        refusal = "its job is gone" if definition is None else redrive_refusal(run, definition, now_ms)
        if definition is None or refusal is not None:
            raise NotRedrivableError(refusal or "")
        return run, definition


@dataclass(frozen=True, slots=True)
class Redriven:
    """What a redrive of many came to: how many, why others were not, and from where to go on (None: all is done)."""

    redriven: int
    refused: Mapping[str, int]
    position: str | None


@dataclass(frozen=True, slots=True)
class RedriveMany:
    """Redrives dead letters by a filter, in portions. What is redriven leaves the list, so a repeat does no harm."""

    dead: ListDeadLetters
    redrive: RedriveRun

    def __call__(
        self,
        tenant: str,
        wanted: DeadLetterFilter,
        now_ms: int,
        *,
        dry_run: bool,
        after: str | None = None,
        by: Actor = CARILLON,
    ) -> Redriven:
        """Redrive a portion, the latest first, from behind the position `after`; a dry run writes nothing.

        Each run that is redriven has an event of its own.
        """
        walked = self.dead(tenant, wanted, MOST_REDRIVEN, after)
        attempt = self.redrive.judge if dry_run else partial(self.redrive, by=by)
        refused: Counter[str] = Counter()
        for run in walked.items:
            try:
                attempt(tenant, run.key.run_id, now_ms)
            except NotRedrivableError as error:
                refused[error.reason] += 1
        return Redriven(len(walked.items) - refused.total(), refused, walked.position)
