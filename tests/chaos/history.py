"""The history of a run of the real thing, told from what was written to the tables and from what the receiver saw.

The checker of the simulation judges it. What the simulation sees as it happens is told here from traces:

- **Edits** are the changes of a job's other half that go with another generation, schedule or window.
- **What a worker knew** of the job is the revision that its attempt notes. A record without one tells by its reason
  that its writer knew of the pause or of the cancel. For any other reason it is given the benefit of the doubt: it knew
  the job as it was when the longest invocation that wrote then had begun. What is written together with the job is
  written by somebody who knew it.
- **What was sent as of when** is what a confirmation advances over, as of the instant of its claim; of a claim that an
  edit has voided, all within the look-ahead.
- **A worker was well** as long as it heard and recorded what the target answered.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.job_items import job_of
from carillon.adapters.dynamodb.run_items import run_of
from carillon.adapters.dynamodb.spec_items import spec_of
from carillon.domain.breaker import TARGET_UNAVAILABLE
from carillon.domain.job import Job, JobSpec, PlanningRules, Revision, RevisionKind
from carillon.domain.run import Run
from carillon.domain.schedule import decode
from tests.simulation.history import Bounds, Call, Edit, EditKind, History, Story
from tests.simulation.watch import offset_of, wrong_run

from .changes import Change

API_LASTS_MS = 30_000
"""No request to the API is worked at for longer."""

WORKER_LASTS_MS = 90_000
"""No invocation that writes a record without an attempt lasts longer."""

LOOK_AHEAD_MS = 60_000
"""How far ahead of its time an occurrence is sent."""

SECOND_MS = 1_000
RESUMES = "resumes"
"""The label that says how a job is resumed; where it is not set, from now on."""

CATCHING_UP = "catching-up"


@dataclass(frozen=True, slots=True)
class Heard:
    """A call as the receiver saw it: of which attempt of which run, when, and what it answered."""

    job_id: str
    name: str
    attempt: int
    at_ms: int
    status: int


def history_of(changes: Iterable[Change], heard: Iterable[Heard]) -> History:
    """The history of all jobs in a table.

    Args:
        changes: all that was written to it, in order.
        heard: the calls, in order of their arrival.
    """
    pages: dict[str, _Page] = {}
    history, clock = History(Bounds()), _Clock()
    for change in changes:
        history.seq = change.seq
        clock.note(change)
        if change.item[k.PK]["S"].startswith(k.BREAKERS_PREFIX):
            continue
        job_id = k.job_id_in(change.item[k.PK]["S"])
        if job_id is None:
            history.broken.append(f"an item that belongs to no job: {change.item[k.PK]}")
            continue
        page = pages.setdefault(job_id, _Page(job_id, len(pages), clock))
        history.broken.extend(page.take(change))
    for job_id, page in pages.items():
        history.left.extend(page.left())
        if page.story:
            history.stories[job_id] = page.finished(page.story)
    history.calls = [pages[call.job_id].call(call) if call.job_id in pages else _stray(call) for call in heard]
    return history


class _Clock:
    """Which change came when."""

    def __init__(self) -> None:
        self._times: list[int] = []

    def note(self, change: Change) -> None:
        self._times.append(max(change.at_ms, *self._times[-1:], 0))

    def seq_before(self, change: Change, duration_ms: int) -> int:
        """The place of the first change that may have been made so long before this one, or later."""
        return bisect_left(self._times, change.at_ms - duration_ms - SECOND_MS) + 1


@dataclass(slots=True)
class _Sent:
    """What a dispatcher advanced over: nominal times from first to last, as of an instant."""

    first: int
    last: int
    decided_at: int
    window_ms: int


@dataclass(slots=True)
class _Page:
    """A job with all its items."""

    job_id: str
    number: int
    clock: _Clock
    story: Story | None = None
    job: Job | None = None
    spec: JobSpec | None = None
    edited: Job | None = None
    segments: set[str] = field(default_factory=set)
    runs: dict[str, Run] = field(default_factory=dict)
    sent: list[_Sent] = field(default_factory=list)
    revised: dict[int, int] = field(default_factory=dict)
    """Behind which event each revision of the job was there."""
    stopped: dict[str, int] = field(default_factory=dict)
    """Behind which event the job was last paused or cancelled, by the reason that this gives to records."""
    newest: int = 0
    """The newest event."""

    def take(self, change: Change) -> Iterator[str]:
        """Note a change; gives what is wrong with it by itself."""
        yield from self._take(change.item[k.SK]["S"], change)
        self.newest = change.seq

    def _take(self, sk: str, change: Change) -> Iterator[str]:
        if k.segment_in(sk) is not None:
            self._take_segment(sk, change)
        elif change.new is None:
            yield f"{self.job_id}: {sk} was removed"
        elif sk == k.JOB_SK:
            yield from self._take_job(change.old and job_of(change.old), job_of(change.new))
        elif sk == k.SPEC_SK:
            self._take_spec(spec_of(change.new), change)
        else:
            yield from self._take_run(run_of(change.new), change)

    # ------------------------------------------------------------------------------------------------------ the plan

    def _take_job(self, before: Job | None, after: Job) -> Iterator[str]:
        self.job = after
        if before is None:
            return
        if after.lease.epoch < before.lease.epoch:
            yield f"{self.job_id}: an older owner has written"
        if after.version < before.version:
            yield f"{self.job_id}: an older version was written"
        self._note_sent(before, after)

    def _take_segment(self, sk: str, change: Change) -> None:
        before, after = change.old and job_of(change.old), change.new and job_of(change.new)
        if after is None:
            self.segments.discard(sk)
        else:
            self.segments.add(sk)
        if before:
            self._note_sent(before, after)

    def _note_sent(self, before: Job, after: Job | None) -> None:
        """A confirmation, where the plan has moved on under a claim; or an edit, which leaves open what was sent."""
        if not before.lease.until or before.scheduled_for is None or (after and after.version == before.version):
            return
        decided_at = before.lease.decided_at
        is_confirmed = after and after.scheduled_for is not None and after.generation == before.generation
        last = (after.scheduled_for or 0) - 1 if after and is_confirmed else decided_at + LOOK_AHEAD_MS
        self.sent.append(_Sent(before.scheduled_for, last, decided_at, PlanningRules.decode(before.rules).window_ms))

    # ------------------------------------------------------------------------------------------------------ the edits

    def _take_spec(self, spec: JobSpec, change: Change) -> None:
        assert self.job, "a job's two halves are written together, the plan first"
        before, self.spec = self.spec, spec
        edited, self.edited = self.edited, self.job
        self.revised.setdefault(spec.revision, change.seq + 1)
        if (reason := _REASONS.get(_newest(spec).kind)) is not None:
            self.stopped[reason] = change.seq + 1
        if before is None or edited is None:
            self.story = self._begun(self.job, spec)
        elif self.story and (edited.generation, edited.rules) != (self.job.generation, self.job.rules):
            self.story.edits.append(self._edit(edited, self.job, spec, change))

    def _begun(self, job: Job, spec: JobSpec) -> Story:
        return Story(
            job_id=self.job_id,
            number=self.number,
            created_at=job.created_at,
            schedule=decode(job.schedule),
            rules=PlanningRules.decode(job.rules),
            max_attempts=spec.retry.max_attempts,
            deadline_ms=spec.deadline_ms,
        )

    def _edit(self, before: Job, after: Job, spec: JobSpec, change: Change) -> Edit:
        newest = _newest(spec)
        window_ms, former_ms = (PlanningRules.decode(job.rules).window_ms for job in (after, before))
        is_moved, is_spread = after.schedule != before.schedule, window_ms != former_ms
        return Edit(
            seq=change.seq,
            kind=EditKind.CHANGE if is_moved or is_spread else _kind(newest, spec.labels),
            at_ms=newest.since - 1,
            stored_at=change.at_ms + SECOND_MS,
            read_seq=self.clock.seq_before(change, API_LASTS_MS),
            schedule=decode(after.schedule) if is_moved else None,
            window_ms=window_ms if is_spread else None,
        )

    # ----------------------------------------------------------------------------------------------------- the records

    def _take_run(self, run: Run, change: Change) -> Iterator[str]:
        name, before = run.key.name, change.old and run_of(change.old)
        if before == run:  # it has left the due index
            return
        self.runs[name] = run
        wrong = wrong_run(before, run)
        if wrong:
            yield f"{run.key.run_id}: {wrong}"
        if self.story and run.reason == TARGET_UNAVAILABLE:
            self.story.parked.add(name)
        if before is None and self.story:
            self.story.written[name] = change.seq
            self.story.born[name] = self._knew(run, change)

    def _knew(self, run: Run, change: Change) -> int:
        """As of which event the writer of a new record knew the job."""
        if run.attempts:
            return self.revised.get(run.attempts[0].revision, 0)
        if run.reason == "misfire" or self.newest == change.seq - 1:
            return change.seq  # on the condition of the job's version
        if run.reason in self.stopped:
            return self.stopped[run.reason]
        return self.clock.seq_before(change, WORKER_LASTS_MS)

    # ---------------------------------------------------------------------------------------------------------- the end

    def finished(self, story: Story) -> Story:
        """The story, with how it ended."""
        story.records, story.state = self.runs, self.job and self.job.state
        for name, run in self.runs.items():
            if run.block or run.reason == "misfire" or run.key.is_manual:
                continue
            decisions = (one for one in self.sent if one.first <= run.scheduled_for <= one.last)
            for one in decisions:
                due_ms = run.scheduled_for + offset_of(self.job_id, one.window_ms)
                story.decided.setdefault(run.scheduled_for, (one.decided_at, due_ms))
            story.born.setdefault(name, 0)
        return story

    def left(self) -> Iterator[str]:
        """What should not be there when all has ended."""
        if self.job is None or self.spec is None:
            yield f"half a job: {self.job_id}"
        if self.job and self.job.next_fire_time is not None:
            yield f"due: {self.job_id}"
        yield from (f"segment: {self.job_id} {sk}" for sk in sorted(self.segments))
        yield from (f"due: {run.key.run_id}" for run in self.runs.values() if run.next_fire_time is not None)

    def call(self, heard: Heard) -> Call:
        """A call, with what the record of its attempt says of its worker."""
        run = self.runs.get(heard.name)
        attempt = next((one for one in run.attempts if one.number == heard.attempt), None) if run else None
        call = _stray(heard)
        call.read_seq = self.revised.get(attempt.revision, 0) if attempt else 0
        call.healthy = attempt is not None and attempt.status is not None
        return call


_REASONS = {RevisionKind.PAUSED: "paused", RevisionKind.CANCELLED: "job_cancelled"}


def _newest(spec: JobSpec) -> Revision:
    return max(spec.revisions, key=lambda revision: revision.generation)


def _kind(newest: Revision, labels: Mapping[str, str]) -> EditKind:
    match newest.kind:
        case RevisionKind.PAUSED:
            return EditKind.PAUSE
        case RevisionKind.CANCELLED:
            return EditKind.CANCEL
    return EditKind.CATCH_UP if labels.get(RESUMES) == CATCHING_UP else EditKind.RESUME


def _stray(heard: Heard) -> Call:
    """A call of which nothing else is known."""
    return Call(
        job_id=heard.job_id,
        name=heard.name,
        attempt=heard.attempt,
        at_ms=heard.at_ms,
        own_ms=heard.at_ms,
        read_seq=0,
        status=heard.status,
        answered=True,
        healthy=False,
    )
