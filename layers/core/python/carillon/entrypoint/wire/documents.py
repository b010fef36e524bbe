"""The job document, as in the public interface. Unknown members and `null` for a value are refused.

`null` stands for "none" where there may be none: name, deadline, bounds of a schedule.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from carillon.answers import Form, Instant
from carillon.domain.cron import LONGEST_EXPRESSION
from carillon.domain.headers import MOST_HEADERS
from carillon.domain.job import LONGEST_COMPLETION_MS, LONGEST_WINDOW_MS, MOST_RUNS, Completion, MisfirePolicy, Priority
from carillon.domain.retry import MOST_ATTEMPTS, Jitter
from carillon.domain.targets import MOST_URL_CHARACTERS
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
    refused,
    told,
    within,
)
from carillon.entrypoint.wire.references import UploadReference

MOST_CATCH_UP = 1_000
MOST_DELAYS = MOST_ATTEMPTS - 1
MOST_RETRY_STATUSES = 100
LONGEST_TIMEOUT_MS = 14 * 60 * SECOND_MS
LONGEST_BACKOFF_MS = DAY_MS
LONGEST_LATENESS_MS = 14 * DAY_MS

FORMULA = ("base", "factor", "jitter", "max_delay")
"""Members of a retry that have no meaning beside a list of delays."""

SCHEDULE_KINDS = ("run_at", "delay", "cron", "every", "after")
TARGET_KINDS = ("http", "queue")

Zone = Annotated[str, told("of `cron`, default `UTC`; of `run_at`, only for a local time")]
Gap = Annotated[Literal["shift", "skip"], told("`shift` or `skip`, for times that the clock skips")]
Overlap = Annotated[Literal["first", "last", "both"], told("`first`, `last` or `both`, for times that come twice")]
Bound = Annotated[Instant | None, told("an instant, inclusive")]
Window = Annotated[
    Duration,
    lasting(0, LONGEST_WINDOW_MS),
    told(
        "up to `PT23H`: spreads jobs of the same schedule. Each job has a constant delay within it, made from its id; "
        "nominal times stay what they are. See [windows](time.md#windows)"
    ),
]
MaxRuns = Annotated[Annotated[int, within(1, MOST_RUNS)] | None, told("1 to 1,000,000")]


class RunAtDocument(Document):
    """Once, at an instant or at a local time in a zone."""

    run_at: Annotated[
        str,
        Form(examples=["2030-10-12T02:30:00Z", "2030-10-12T08:00:00"]),
        told("an instant with an offset, or a local time without one together with `timezone`; not in the past"),
    ]
    timezone: Zone = "UTC"
    dst_gap: Gap = "shift"
    dst_overlap: Overlap = "first"


class DelayDocument(Document):
    """Once, so long after the creation."""

    delay: Annotated[Duration, told("a duration; the job remembers the instant that it came to")]


class CronDocument(Document):
    """When a cron expression matches a zone's clock."""

    cron: Annotated[
        str,
        Form(maxLength=LONGEST_EXPRESSION, examples=["0 2 * * *"]),
        told("five fields or an alias such as `@daily`, at most 200 characters"),
    ]
    timezone: Zone = "UTC"
    dst_gap: Gap = "shift"
    dst_overlap: Overlap = "first"
    start_at: Bound = None
    end_at: Bound = None
    max_runs: MaxRuns = None


class EveryDocument(Document):
    """At a constant interval."""

    every: Annotated[Duration, told("at least `PT1S`; anchored at `start_at`, or else at the creation")]
    start_at: Bound = None
    end_at: Bound = None
    max_runs: MaxRuns = None


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


CompletionTime = Annotated[Duration, lasting(SECOND_MS, LONGEST_COMPLETION_MS)]


class CompletionDocument(Document):
    """That an attempt is completed later, and how long that may take."""

    mode: Annotated[Literal["async"], told("`async`")]
    timeout: Annotated[
        CompletionTime, told("`PT1S` to `P14D`: the time from the 202, or the send, to the completion")
    ] = Completion().timeout_ms
    heartbeat_timeout: Annotated[
        CompletionTime | None,
        told("`PT1S` to `P14D`, no more than `timeout`: the time between two signs of life, if any are asked for"),
    ] = None


LaterCompletion = Annotated[
    CompletionDocument | None, told("that, and how, an attempt is [completed later](#completing-later)")
]


def _check_type(kind: object) -> object:
    if kind not in TARGET_KINDS:
        raise refused("not_a_choice", f"allowed: {' or '.join(TARGET_KINDS)}")
    return kind


class HttpTargetDocument(Document):
    """What is called."""

    type: Annotated[Literal["http"], BeforeValidator(_check_type), told("`http`")]
    url: Annotated[
        str,
        Form(format="uri", minLength=1, maxLength=MOST_URL_CHARACTERS, examples=["https://svc.carillon.dev/hook"]),
        told(
            "https, port 443 or 8443, up to 2,048 ASCII characters, a host name and not an address; no user, no "
            "fragment"
        ),
    ]
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"],
        told("`GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD`"),
    ] = "POST"
    headers: Annotated[
        dict[str, str],
        Form(maxProperties=MOST_HEADERS),
        told("up to 32, 8 KiB in all; names of up to 64 characters, values of visible ASCII"),
    ] = Field(default_factory=dict)
    timeout: Annotated[
        Duration,
        lasting(SECOND_MS, LONGEST_TIMEOUT_MS),
        told("`PT1S` to `PT14M`, for the whole call. More than a minute takes the long lane"),
    ] = 15 * SECOND_MS
    completion: LaterCompletion = None
    cancel_url: Annotated[
        Annotated[str, Form(format="uri", minLength=1, maxLength=MOST_URL_CHARACTERS)] | None,
        told("as `url`; is told when [a run under way is cancelled](#cancelling-a-run)"),
    ] = None


class QueueTargetDocument(Document):
    """Where a message is sent: a queue on the stage's list."""

    type: Annotated[Literal["queue"], told("`queue`")]
    queue_url: Annotated[
        str,
        Form(format="uri", minLength=1, examples=["https://sqs.eu-west-1.amazonaws.com/111122223333/orders"]),
        told(
            "the URL of an SQS queue, standard or FIFO, that [the operator has opened to you]"
            "(operations.md#queues-of-tenants): `https://sqs.<region>.amazonaws.com/<account>/<name>`"
        ),
    ]
    completion: LaterCompletion = None


def _kind_of_target(value: Any) -> str | None:
    """Which of the kinds a target is; None for what is no object. One of no known kind is judged as the usual one."""
    if not isinstance(value, dict):
        return None
    return "queue" if value.get("type") == "queue" else "http"


TargetDocument = Annotated[
    Annotated[HttpTargetDocument, Tag("http")] | Annotated[QueueTargetDocument, Tag("queue")],
    Discriminator(
        _kind_of_target,
        custom_error_type="dict_type",
    ),
]


Backoff = Annotated[Duration, lasting(0, LONGEST_BACKOFF_MS)]
Status = Annotated[int, within(300, 599)]


class RetryDocument(Document):
    """How often and how far apart a run is tried: by a formula, or by a list of delays."""

    model_config = ConfigDict(
        json_schema_extra={"dependentSchemas": {"delays": {"properties": dict.fromkeys(FORMULA, False)}}}
    )

    max_attempts: Annotated[int, within(1, MOST_ATTEMPTS), told("1 to 100, the first included")] = 5
    base: Annotated[Backoff, told("up to `P1D`")] = SECOND_MS
    factor: Annotated[float, within(1.0, 10.0), told("1 to 10")] = 2.0
    max_delay: Annotated[Backoff, told("up to `P1D`")] = 60 * SECOND_MS
    jitter: Annotated[JitterName, told("`full` or `none`")] = Jitter.FULL
    delays: Annotated[
        list[Backoff],
        counting(1, MOST_DELAYS),
        told(
            "1 to 99 durations of up to `P1D`, in place of the formula. Without `max_attempts`: one attempt more than "
            "delays"
        ),
    ] = Field(default_factory=list)


class JobDocument(Document):
    """A job as a client describes it. `payload` is kept as text elsewhere; here it is only known to stand."""

    schedule: Annotated[ScheduleDocument, told("[when](#schedules)")]
    target: Annotated[TargetDocument, told("[what is called](#targets)")]
    name: Annotated[
        Name | None,
        told(
            "1 to 128 printable characters; unique among the tenant's jobs. Free again when the job is cancelled or "
            "removed"
        ),
    ] = None
    payload: Annotated[
        Any,
        told(
            "any JSON up to 256 KiB, sent byte for byte as it stood in your request. Absent: the call has no body. "
            "Required for a queue"
        ),
    ] = None
    payload_ref: Annotated[
        UploadReference | None,
        told("the reference of an [upload](#payloads), in place of `payload`: its bytes and its content type are sent"),
    ] = None
    priority: Annotated[
        PriorityName,
        told(
            "`high`, `normal` or `low`: which queue it takes. `high` is held to the millisecond, the others start up "
            "to a second later"
        ),
    ] = Priority.NORMAL
    retry: Annotated[RetryDocument, told("[how often and how far apart](#retries)", "five attempts")] = RetryDocument()
    retry_on: Annotated[
        Annotated[list[Status], counting(0, MOST_RETRY_STATUSES)] | None,
        told("up to 100 statuses from 300 to 599 that are retried, in place of the usual list", "the usual ones"),
    ] = None
    misfire_policy: Annotated[
        MisfireName,
        told(
            "what becomes of occurrences noticed too late: `fire_once` runs the latest, `fire_all` the newest "
            "`max_catch_up`, oldest first, `skip` none. The others are recorded as `skipped`"
        ),
    ] = MisfirePolicy.FIRE_ONCE
    misfire_grace: Annotated[
        Duration,
        lasting(0, LONGEST_LATENESS_MS),
        told(
            "up to `P14D`: how late an occurrence may be noticed, counted from when it is due, before it counts as "
            "missed"
        ),
    ] = 60 * SECOND_MS
    max_catch_up: Annotated[int, within(1, MOST_CATCH_UP), told("1 to 1,000")] = 100
    deadline: Annotated[
        Annotated[Duration, lasting(SECOND_MS, LONGEST_LATENESS_MS)] | None,
        told("`PT1S` to `P14D`: a run whose first start would be later than this after it was due is `skipped`"),
    ] = None
    window: Window = 0
    overlap: Annotated[
        Literal["allow", "skip", "queue", "cancel_previous"],
        only_built("allow", "allow"),
        told("only `allow` for now: occurrences do not wait for each other"),
    ] = "allow"
    on_failure: Annotated[
        TargetDocument | None, told("a target that [is told of runs that failed](#told-of-failures)")
    ] = None
    labels: Annotated[
        Labels,
        told("up to 32; a key has 1 to 63 letters, digits and `._/-`, a value up to 256 printable characters"),
    ] = Field(default_factory=dict)
