"""What the due index shows, and when a run is due. It knows no calendar: that only who plans has to load."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from carillon.domain.identity import RunKey
from carillon.domain.job import Job, Lane, PlanningRules, Priority
from carillon.domain.run import RunState


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job, or a segment of one, as the due index shows it. Instants in epoch ms; `schedule` and `rules` as stored."""

    job_id: str
    tenant: str
    shard: int
    next_fire_time: int
    scheduled_for: int
    version: int
    generation: int
    lane: Lane
    priority: Priority
    schedule: str
    rules: str
    planned: int = 0
    granted: bool = False
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that waits, as the due index shows it.

    By its `state` it waits for a start, for the deadline of a completion, or for its target to be told that it was
    cancelled.
    """

    job_id: str
    name: str
    tenant: str
    shard: int
    next_fire_time: int
    wait: int
    generation: int
    lane: Lane
    priority: Priority
    granted: bool = False
    state: RunState = RunState.RETRYING

    @property
    def is_start(self) -> bool:
        """Whether what it waits for is a start: that takes a slot, and may be sent ahead of its time."""
        return self.state.is_waiting


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """An entry of the due index that is no job and no run of ours: to be set aside alone."""

    pk: str
    sk: str
    shard: int
    reason: str


DueEntry = DueJob | DueRun | UnreadableEntry


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One nominal time, and when its run is due (both epoch ms)."""

    scheduled_for: int
    due_ms: int


@lru_cache(maxsize=1024)
def planning_rules(text: str) -> PlanningRules:
    """The rules in their stored text.

    Raises:
        ValueError: the text is damaged.
    """
    return PlanningRules.decode(text)


def window_offset(job_id: str, window_ms: int) -> int:
    """How far into its window each run of a job is put, ms: the same for all its runs, spread evenly over the jobs."""
    return int.from_bytes(sha256(f"window:{job_id}".encode()).digest()[:8], "big") % window_ms if window_ms else 0


def fire_time(job_id: str, rules: PlanningRules, nominal: int) -> int:
    """When the run of a nominal time is due (both epoch ms)."""
    return nominal + window_offset(job_id, rules.window_ms)


def due_time(job: Job, key: RunKey) -> int:
    """When a run of a job is due by the job's present window, epoch ms; a manual run is due at its own time."""
    if key.is_manual:
        return key.scheduled_for
    try:
        return fire_time(job.id, planning_rules(job.rules), key.scheduled_for)
    except ValueError:  # damaged since it was planned: the run goes on without a window
        return key.scheduled_for
