"""A job: what the tenant creates. The hot half is read by the scan, the other half by the worker.

States, and who causes each edge::

    scheduled ─a─► dispatched          a  the dispatcher handed over the only run of a one-off
    scheduled ─b─► completed           b  the dispatcher planned the last run of a recurring job
    scheduled ─c─► error               c  the dispatcher could not decide: the definition is damaged
    any but cancelled ─d─► cancelled   d  the tenant
    scheduled ─e─► paused ─f─► scheduled    the tenant
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from carillon.domain.retry import MAX_AGE_MS, RetryPolicy


class JobState(StrEnum):
    """What a job is doing, as people say it."""

    SCHEDULED = "scheduled"
    DISPATCHED = "dispatched"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"


class Priority(StrEnum):
    """Which queue a job's runs take."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class Lane(StrEnum):
    """Short calls share an invocation; long ones get one each."""

    SHORT = "short"
    LONG = "long"


class MisfirePolicy(StrEnum):
    """What becomes of occurrences noticed later than their grace."""

    FIRE_ALL = "fire_all"
    FIRE_ONCE = "fire_once"
    SKIP = "skip"


LONGEST_SHORT_CALL_MS = 60_000
"""Calls that may take longer than this go by the long lane."""

LONGEST_SEND_MS = 15_000
"""What sending a message to a queue takes at the most."""

MOST_RUNS = 1_000_000
"""To how many runs a job may be limited."""

LONGEST_WINDOW_MS = 23 * 3_600_000
"""Over how long the runs of jobs with one schedule may be spread."""


@dataclass(frozen=True, slots=True)
class PlanningRules:
    """How occurrences are turned into runs. Times in ms; `window_ms`: each run is spread over this time."""

    misfire: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    misfire_grace_ms: int = 60_000
    max_catch_up: int = 100
    max_runs: int | None = None
    window_ms: int = 0

    def encode(self) -> str:
        """The stored text: the fields in the order of the class, joined by colons."""
        return f"{self.misfire}:{self.misfire_grace_ms}:{self.max_catch_up}:{self.max_runs or ''}:{self.window_ms}"

    @classmethod
    def decode(cls, text: str) -> "PlanningRules":
        """The rules in a stored text.

        Raises:
            ValueError: it is damaged.
        """
        misfire, grace, catch_up, max_runs, window = text.split(":")
        return cls(MisfirePolicy(misfire), int(grace), int(catch_up), int(max_runs) if max_runs else None, int(window))


@dataclass(frozen=True, slots=True)
class ClaimLease:
    """Who may decide a job's due occurrences, and as of when. Numbers start at 0, so that conditions need no OR."""

    epoch: int = 0
    until: int = 0
    claim_id: str = ""
    decided_at: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """The hot half, kept under 1 KB: all that planning needs. Instants in epoch ms.

    Attributes:
        scheduled_for: the next occurrence to plan, by its nominal time; None when there is none.
        next_fire_time: when that occurrence is due: its place in the due index.
        planned: how many runs have been planned so far.
        planned_until: the latest nominal time that was planned.
        segment: the generation whose remains this is; None for the job itself.
        has_objects: whether there are, or were, uploaded payloads of its own, which go when the job goes.
        counted: the mark of where its tenant's count counts it; None: nowhere. The store's own affair.
    """

    id: str
    tenant: str
    state: JobState
    schedule: str
    rules: str
    shard: int
    lane: Lane
    priority: Priority
    version: int
    generation: int
    created_at: int
    scheduled_for: int | None
    next_fire_time: int | None
    planned: int = 0
    planned_until: int = 0
    granted: bool = False
    segment: int | None = None
    lease: ClaimLease = field(default_factory=ClaimLease)
    error: str | None = None
    expires_at: int | None = None  # epoch seconds, as DynamoDB's TTL wants it
    has_objects: bool = False
    counted: int | None = field(default=None, compare=False)


LONGEST_COMPLETION_MS = MAX_AGE_MS
"""How long a target may take to complete an attempt: no wait of a run is longer."""


@dataclass(frozen=True, slots=True)
class Completion:
    """How long a target that answers 202 may take to complete an attempt, ms.

    `timeout_ms`: from its 202 on. `heartbeat_ms`: between its signs of life; None if it need not give any.
    """

    timeout_ms: int = 6 * 3_600_000
    heartbeat_ms: int | None = None

    def until(self, now_ms: int, scheduled_for: int) -> int:
        """The deadline of what was accepted now (epoch ms). No wait ends later than 14 days after the nominal time.

        Only a run that a person has begun later than that has its whole time.
        """
        last_ms = scheduled_for + MAX_AGE_MS
        return min(now_ms + self.timeout_ms, last_ms) if now_ms < last_ms else now_ms + self.timeout_ms


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """A call over HTTP. `timeout_ms` bounds everything from the look-up of the name to the end of the answer.

    `completion`: a 202 does not end an attempt, but begins the wait for its completion. `cancel_url`: is told, once,
    when a run is cancelled whose attempt is under way.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    timeout_ms: int = 15_000
    completion: Completion | None = None
    cancel_url: str | None = None

    @property
    def lane(self) -> Lane:
        """Which lane the call takes."""
        return Lane.LONG if self.timeout_ms > LONGEST_SHORT_CALL_MS else Lane.SHORT


@dataclass(frozen=True, slots=True)
class QueueTarget:
    """A message to an SQS queue. `completion`: a send begins the wait for the completion of an attempt."""

    queue_url: str
    completion: Completion | None = None

    @property
    def cancel_url(self) -> None:
        """Queues name nobody who is told of a cancel."""
        return

    @property
    def timeout_ms(self) -> int:
        """What a send may take: the queues' client gives up sooner."""
        return LONGEST_SEND_MS

    @property
    def lane(self) -> Lane:
        """Which lane the send takes."""
        return Lane.SHORT


Target = HttpTarget | QueueTarget


class RevisionKind(StrEnum):
    """What a change of the schedule was; `replanned`: none, but its zone has other rules since."""

    DEFINED = "defined"
    REPLANNED = "replanned"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Revision:
    """From `since` (epoch ms, compared with nominal times) this generation answers for the job's occurrences."""

    generation: int
    since: int
    kind: RevisionKind = RevisionKind.DEFINED


@dataclass(frozen=True, slots=True)
class StoredPayload:
    """An uploaded payload that is a job's own: the reference of the upload, and what is known of the bytes."""

    reference: str
    content_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The other half: what a worker needs, and what lists show.

    `revision` is the ETag, `state_reason` why the job is paused if that was not the tenant's wish, `on_failure` what is
    told of runs that have become dead letters. There is at most one of `payload` and `stored_payload`.
    """

    job_id: str
    tenant: str
    target: Target
    retry: RetryPolicy
    revisions: tuple[Revision, ...]
    revision: int
    created_at: int
    updated_at: int
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    payload: bytes | None = None
    stored_payload: StoredPayload | None = None
    deadline_ms: int | None = None
    listed_state: str = "active"
    state_reason: str | None = None
    on_failure: Target | None = None

    def superseded_at(self, generation: int) -> Revision | None:
        """The first revision after a generation, if any: from its `since` on, that generation no longer answers."""
        return min((r for r in self.revisions if r.generation > generation), key=lambda r: r.generation, default=None)


@dataclass(frozen=True, slots=True)
class Definition:
    """Both halves of a job, read together."""

    job: Job
    spec: JobSpec


def expiry_seconds(last_ms: int, retention_ms: int) -> int:
    """When what ended at `last_ms` may be removed, in epoch seconds: after the retention and every possible wait."""
    return (last_ms + retention_ms + MAX_AGE_MS) // 1000
