"""What happened in a run of the simulation: all that the checker looks at. Instants in epoch ms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, ClassVar

from carillon.domain.completions import Report
from carillon.domain.job import Completion, JobState, PlanningRules
from carillon.domain.limits import DispatchLimit
from carillon.domain.run import Run
from carillon.domain.schedule import Schedule


class EditKind(StrEnum):
    """What a client asked for. A trigger asks for a run and edits nothing."""

    PAUSE = "pause"
    RESUME = "resume"
    CATCH_UP = "resume with catch-up"
    CHANGE = "change"
    CANCEL = "cancel"
    TRIGGER = "trigger"
    REPLAN = "plan anew by other rules of the zone"


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that was stored.

    Attributes:
        seq: its place among all events of the history.
        kind: what it was.
        at_ms: the instant from behind which it governs, as nominal times go.
        stored_at: when it was stored, by the true clock.
        read_seq: when whoever made it had read the job, among all events.
        schedule: the new schedule of a change.
        window_ms: the new window of a change.
    """

    seq: int
    kind: EditKind
    at_ms: int
    stored_at: int = 0
    read_seq: int = 0
    schedule: Schedule | None = None
    window_ms: int | None = None


@dataclass(slots=True)
class Call:
    """A call of a target.

    Attributes:
        job_id: the job.
        name: the name of the run.
        attempt: the number that the target was told.
        at_ms: when, by the true clock.
        own_ms: when, by the worker's clock.
        read_seq: when the worker read the job, among all events of the history.
        status: what the target answered and the worker heard, or None.
        answered: whether the call came to an end before its worker did.
        healthy: whether nothing befell the worker from its first step to its last.
        is_accepted: whether the target has taken the attempt over, to complete it later.
        actor: the worker.
    """

    job_id: str
    name: str
    attempt: int
    at_ms: int
    own_ms: int
    read_seq: int
    status: int | None = None
    answered: bool = False
    healthy: bool = True
    is_accepted: bool = False
    actor: Any = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Reported:
    """What a target said of an attempt that it had accepted.

    Attributes:
        job_id: the job.
        name: the name of the run.
        attempt: the number of the attempt.
        report: the outcome that it reported, or None for a sign of life.
        said_ms: when, by the true clock.
        answer: `TAKEN`, the name of the refusal, or None when there was no answer.
    """

    TAKEN: ClassVar = "taken"

    job_id: str
    name: str
    attempt: int
    report: Report | None
    said_ms: int
    answer: str | None = None


@dataclass(slots=True)
class Story:
    """A job: as it was created, what was done to it, and what is left of it."""

    job_id: str
    number: int
    created_at: int
    schedule: Schedule
    rules: PlanningRules
    max_attempts: int
    deadline_ms: int | None = None
    retry_on: tuple[int, ...] | None = None
    completion: Completion | None = None
    """How long its target may take to complete what it has accepted."""
    limit: DispatchLimit | None = None
    """The dispatch rate of its tenant."""
    rezoned: Schedule | None = None
    """The schedule by the rules that its zone has from some instant on, if they change."""
    rezoned_at: int = 0
    edits: list[Edit] = field(default_factory=list)
    records: Mapping[str, Run] = field(default_factory=dict)
    state: JobState | None = None
    decided: dict[int, tuple[int, int]] = field(default_factory=dict)
    """As of which instant each occurrence was first sent, and when it was due, by nominal time."""
    born: dict[str, int] = field(default_factory=dict)
    """As of which event the writer of each record knew the job, by the record's name."""
    written: dict[str, int] = field(default_factory=dict)
    """At which event each record was first written, by its name."""
    cancels: set[str] = field(default_factory=set)
    """The names of the runs that a client has cancelled one by one."""
    parked: set[str] = field(default_factory=set)
    """The names of the runs that have waited for a target that did not answer."""
    redrives: dict[str, int] = field(default_factory=dict)
    """Behind which attempt each run was last redriven, by its name."""

    def known_at(self, seq: int) -> int:
        """How many of the edits were stored by an event."""
        return sum(edit.seq < seq for edit in self.edits)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How exact the world of a run was.

    Attributes:
        skew_ms: how far any two clocks were apart at most.
        set_back_ms: how far a worker's clock may have been set back at a stroke.
        promises_health: whether the workers' clocks are close enough for no living worker's attempt to be lost.
        prompt_ms: how late a first start may be, if nothing stood in its way (else None).
        paces_late: whether what is caught up with is paced, and so holds up its job.
        found_after_ms: how long after its slot a deferred start may be found: the look-ahead is shorter than a tick.
        gives_up: whether queues give messages up to their dead letters after a few receipts.
    """

    skew_ms: int = 0
    set_back_ms: int = 0
    promises_health: bool = False
    prompt_ms: int | None = None
    paces_late: bool = False
    found_after_ms: int = 0
    gives_up: bool = False


@dataclass(slots=True)
class History:
    """A whole run."""

    bounds: Bounds = field(default_factory=Bounds)
    stories: dict[str, Story] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    reports: list[Reported] = field(default_factory=list)
    slots: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """When each start of a tenant with a dispatch rate was first sent for: by job, run and wait number."""
    broken: list[str] = field(default_factory=list)
    """What was seen to be wrong while it happened."""
    left: list[str] = field(default_factory=list)
    """What was still there when all should have ended."""
    seq: int = 0

    def next_seq(self) -> int:
        """The place of a new event."""
        self.seq += 1
        return self.seq

    def occurrences(self) -> int:
        """How many occurrences have a record, those in blocks included."""
        return sum(
            run.block.count if run.block else 1 for story in self.stories.values() for run in story.records.values()
        )

    def digest(self) -> str:
        """A hash of everything that clients, targets and records saw."""
        hasher = sha256()
        for story in self.stories.values():
            hasher.update(repr((story.job_id, story.state, story.edits)).encode())
            for name, run in sorted(story.records.items()):
                hasher.update(repr((name, run)).encode())
        hasher.update(repr((self.calls, self.reports)).encode())
        hasher.update(repr((self.broken, self.left, self.seq)).encode())
        return hasher.hexdigest()
