"""The job document, as in the public interface. Unknown members and `null` for a value are refused.

`null` stands for "none" where there may be none: name, deadline, bounds of a schedule.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from carillon.domain.job import LONGEST_WINDOW_MS, MOST_RUNS, MisfirePolicy, Priority
from carillon.domain.retry import MOST_ATTEMPTS, Jitter
from carillon.entrypoint.wire.fields import (
    DAY_MS,
    SECOND_MS,
    Document,
    Duration,
    JitterName,
    Labels,
    MisfireName,
    Name,
    PriorityName,
    Unbuilt,
    counting,
    lasting,
    only_built,
    within,
)

MOST_CATCH_UP = 1_000
MOST_DELAYS = MOST_ATTEMPTS - 1
MOST_RETRY_STATUSES = 100
LONGEST_TIMEOUT_MS = 14 * 60 * SECOND_MS
LONGEST_BACKOFF_MS = DAY_MS
LONGEST_LATENESS_MS = 14 * DAY_MS

SCHEDULE_KINDS = ("run_at", "delay", "cron", "every", "after")

Gap = Literal["shift", "skip"]
Overlap = Literal["first", "last", "both"]
Window = Annotated[Duration, AfterValidator(lasting(0, LONGEST_WINDOW_MS))]
MaxRuns = Annotated[int, AfterValidator(within(1, MOST_RUNS))]


class RunAtDocument(Document):
    """Once, at an instant or at a local time in a zone."""

    run_at: str
    timezone: str = "UTC"
    dst_gap: Gap = "shift"
    dst_overlap: Overlap = "first"


class DelayDocument(Document):
    """Once, so long after the creation."""

    delay: Duration


class CronDocument(Document):
    """When a cron expression matches a zone's clock."""

    cron: str
    timezone: str = "UTC"
    dst_gap: Gap = "shift"
    dst_overlap: Overlap = "first"
    start_at: str | None = None
    end_at: str | None = None
    max_runs: MaxRuns | None = None


class EveryDocument(Document):
    """At a constant interval."""

    every: Duration
    start_at: str | None = None
    end_at: str | None = None
    max_runs: MaxRuns | None = None


class AfterDocument(Document):
    """When other jobs have succeeded."""

    after: Unbuilt


def _kind_of_schedule(value: Any) -> str | None:
    """Which of the kinds a schedule is; None unless it is exactly one."""
    named = [kind for kind in SCHEDULE_KINDS if kind in value] if isinstance(value, dict) else []
    return named[0] if len(named) == 1 else None


ScheduleDocument = Annotated[
    Annotated[RunAtDocument, Tag("run_at")]
    | Annotated[DelayDocument, Tag("delay")]
    | Annotated[CronDocument, Tag("cron")]
    | Annotated[EveryDocument, Tag("every")]
    | Annotated[AfterDocument, Tag("after")],
    Discriminator(
        _kind_of_schedule,
        custom_error_type="refused",
        custom_error_message="{detail}",
        custom_error_context={
            "code": "not_one_schedule",
            "detail": "must be an object with exactly one of run_at, delay, cron, every, after",
        },
    ),
]


class TargetDocument(Document):
    """What is called."""

    type: Annotated[Literal["http", "queue"], AfterValidator(only_built("http", "http"))]
    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    timeout: Annotated[Duration, AfterValidator(lasting(SECOND_MS, LONGEST_TIMEOUT_MS))] = 15 * SECOND_MS
    completion: Unbuilt = None
    cancel_url: Unbuilt = None
    queue_url: Unbuilt = None


Backoff = Annotated[Duration, AfterValidator(lasting(0, LONGEST_BACKOFF_MS))]
Status = Annotated[int, AfterValidator(within(300, 599))]


class RetryDocument(Document):
    """How often and how far apart a run is tried: by a formula, or by a list of delays."""

    max_attempts: Annotated[int, AfterValidator(within(1, MOST_ATTEMPTS))] = 5
    base: Backoff = SECOND_MS
    factor: Annotated[float, AfterValidator(within(1.0, 10.0))] = 2.0
    max_delay: Backoff = 60 * SECOND_MS
    jitter: JitterName = Jitter.FULL
    delays: Annotated[list[Backoff], AfterValidator(counting(1, MOST_DELAYS))] = Field(default_factory=list)


class JobDocument(Document):
    """A job as a client describes it. `payload` is kept as text elsewhere; here it is only known to stand."""

    schedule: ScheduleDocument
    target: TargetDocument
    name: Name | None = None
    payload: Any = None
    payload_ref: Unbuilt = None
    priority: PriorityName = Priority.NORMAL
    retry: RetryDocument = RetryDocument()
    retry_on: Annotated[list[Status], AfterValidator(counting(0, MOST_RETRY_STATUSES))] | None = None
    misfire_policy: MisfireName = MisfirePolicy.FIRE_ONCE
    misfire_grace: Annotated[Duration, AfterValidator(lasting(0, LONGEST_LATENESS_MS))] = 60 * SECOND_MS
    max_catch_up: Annotated[int, AfterValidator(within(1, MOST_CATCH_UP))] = 100
    deadline: Annotated[Duration, AfterValidator(lasting(SECOND_MS, LONGEST_LATENESS_MS))] | None = None
    window: Window = 0
    overlap: Annotated[
        Literal["allow", "skip", "queue", "cancel_previous"], AfterValidator(only_built("allow", "allow"))
    ] = "allow"
    labels: Labels = Field(default_factory=dict)
