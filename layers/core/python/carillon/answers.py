"""What the service answers, as types: for its own views, for the description of the interface, and for clients.

The views are checked against these types, and the published description is made from them, so that neither can say
what the other does not. A text with a form (an instant, a duration, one of a few words) is a text to programs.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from carillon.domain.audit import Action, ActorType
from carillon.domain.completions import Report
from carillon.domain.job import JobState, MisfirePolicy, Priority
from carillon.domain.retry import Jitter
from carillon.domain.run import RunState
from carillon.domain.tenancy import SCOPES

if TYPE_CHECKING:
    from collections.abc import Mapping


class Form:
    """How a value is formed, beside its type: members of its JSON schema, which say so to readers and validators."""

    def __init__(self, **schema: Any) -> None:
        self.schema: Mapping[str, Any] = schema

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Add the members; called by whoever makes the schema."""
        return {**handler(core), **self.schema}


def one_of(words: type[StrEnum] | tuple[str, ...]) -> Form:
    """The form of a text that is one of a few words."""
    return Form(enum=[str(word) for word in words])


DURATION_PATTERN = (
    "^P(?=[0-9T])([0-9]{1,12}W)?([0-9]{1,12}D)?"
    r"(T(?=[0-9])([0-9]{1,12}H)?([0-9]{1,12}M)?([0-9]{1,12}(\.[0-9]{1,3})?S)?)?$"
)
"""What we read and show. The format `duration` of JSON Schema knows neither fractions nor weeks beside days."""

BulkActionName = Annotated[str, one_of(("pause", "resume", "cancel", "trigger"))]
Instant = Annotated[str, Form(format="date-time", examples=["2030-01-01T00:00:00.000Z"])]
Duration = Annotated[str, Form(pattern=DURATION_PATTERN, examples=["PT15S"])]
JobId = Annotated[str, Form(pattern="^job_[0-9A-HJKMNP-TV-Z]{26}$", examples=["job_01M8MX0REB67WD2ANKW6N989AG"])]
RunId = Annotated[
    str,
    Form(
        pattern="^job_[0-9A-HJKMNP-TV-Z]{26}@[0-9]{8}T[0-9]{9}Z(~[0-9A-HJKMNP-TV-Z]{4})?(_[fv][1-9][0-9]{0,8})?$",
        examples=["job_01M8MX0REB67WD2ANKW6N989AG@20261130T001742107Z"],
    ),
]


# ------------------------------------------------------------------------------------------------------ jobs


class OnceSchedule(TypedDict):
    """Once; a delay or a local time is shown as the instant that it came to."""

    run_at: Instant


class IntervalSchedule(TypedDict):
    """At a constant interval."""

    every: Duration
    start_at: NotRequired[Instant]
    end_at: NotRequired[Instant]
    max_runs: NotRequired[int]


class CronSchedule(TypedDict):
    """When a cron expression matches a zone's clock."""

    cron: str
    timezone: str
    dst_gap: Literal["shift", "skip"]
    dst_overlap: Literal["first", "last", "both"]
    start_at: NotRequired[Instant]
    end_at: NotRequired[Instant]
    max_runs: NotRequired[int]


class Completion(TypedDict):
    """That a target may answer 202 and complete the attempt later, and how long that may take."""

    mode: Literal["async"]
    timeout: Duration
    heartbeat_timeout: NotRequired[Duration]


class HttpTarget(TypedDict):
    """What is called."""

    type: Literal["http"]
    url: str
    method: str
    headers: dict[str, str]
    timeout: Duration
    completion: NotRequired[Completion]
    cancel_url: NotRequired[Annotated[str, Form(description="is told when a run under way is cancelled")]]


class QueueTarget(TypedDict):
    """Where a message is sent."""

    type: Literal["queue"]
    queue_url: str
    completion: NotRequired[Completion]


class RetryFormula(TypedDict):
    """How often and how far apart a run is tried, by a formula."""

    max_attempts: int
    base: Duration
    factor: float
    max_delay: Duration
    jitter: Annotated[str, one_of(Jitter)]


class RetryDelays(TypedDict):
    """How often and how far apart a run is tried, by a list."""

    max_attempts: int
    delays: list[Duration]


Schedule = OnceSchedule | IntervalSchedule | CronSchedule


class ListedJob(TypedDict):
    """A job as lists show it: without its payload."""

    id: JobId
    name: str | None
    state: Annotated[str, one_of(JobState)]
    state_reason: Annotated[str | None, Form(description="why it is paused, if the tenant has not paused it")]
    revision: Annotated[int, Form(description="the ETag of a job is this number in quotes")]
    schedule: Annotated[Schedule | None, Form(description="null only of a job whose record is damaged")]
    misfire_policy: Annotated[str, one_of(MisfirePolicy)] | None
    misfire_grace: Duration | None
    max_catch_up: int | None
    window: Duration | None
    next_fire_time: Annotated[Instant | None, Form(description="when the next occurrence is due")]
    next_scheduled_for: Annotated[Instant | None, Form(description="the nominal time of that occurrence")]
    target: HttpTarget | QueueTarget
    priority: Annotated[str, one_of(Priority)]
    retry: RetryFormula | RetryDelays
    retry_on: list[int] | None
    deadline: Duration | None
    overlap: Literal["allow"]
    on_failure: HttpTarget | QueueTarget | None
    labels: dict[str, str]
    created_at: Instant
    updated_at: Instant
    payload_ref: NotRequired[Annotated[str, Form(description="the upload that is its payload, if it has one")]]
    error: NotRequired[Annotated[str | None, Form(description="only in the state error")]]


class Job(ListedJob):
    """A whole job. There is a payload only if it was created with one."""

    payload: NotRequired[Annotated[Any, Form(description="as it was sent, byte for byte")]]


class Upload(TypedDict):
    """Leave to upload one payload."""

    payload_ref: Annotated[str, Form(description="what a job refers to the upload by")]
    method: Literal["PUT"]
    url: Annotated[str, Form(format="uri", description="where the bytes are to be put; it is a secret until it ends")]
    headers: Annotated[dict[str, str], Form(description="to be sent with them, as they stand")]
    expires_at: Annotated[Instant, Form(description="until when the upload has to have begun")]


class JobList(TypedDict):
    """A page of jobs, newest first."""

    data: list[ListedJob]
    next_cursor: str | None


class BatchCreated(TypedDict):
    """A job of a batch that was created."""

    status: Literal[201]
    job: ListedJob


class BatchRefused(TypedDict):
    """A job of a batch that was not: what its creation alone would have been answered with."""

    status: int
    problem: "Problem"


class Batch(TypedDict):
    """What became of each job of a batch, in the order in which they were sent."""

    data: list[BatchCreated | BatchRefused]
    created: int
    refused: int


# ------------------------------------------------------------------------------------------------------ runs


class Attempt(TypedDict):
    """One try of a run."""

    number: int
    started_at: Instant
    ended_at: Instant | None
    status: Annotated[int | None, Form(description="the HTTP status that the target answered")]
    error: str | None
    response_excerpt: str | None
    response_truncated: bool
    job_revision: int
    completion: NotRequired[Annotated[str, one_of(Report), Form(description="what was reported of it, if it was")]]
    result: NotRequired[Annotated[Any, Form(description="what came along with that")]]


class Block(TypedDict):
    """Occurrences that share one record."""

    count: int
    first: Instant
    last: Instant


class Awaiting(TypedDict):
    """By when the target of a run has to be heard of."""

    heartbeat_due_at: Instant | None
    completion_due_at: Instant


class Run(TypedDict):
    """A run with its attempts."""

    id: RunId
    job_id: JobId
    state: Annotated[str, one_of(RunState)]
    reason: str | None
    scheduled_for: Instant
    attempt: int
    attempts: list[Attempt]
    lateness_ms: int | None
    next_attempt_at: Instant | None
    priority: Annotated[str, one_of(Priority)]
    created_at: Instant
    ended_at: Instant | None
    block: NotRequired[Block]
    awaiting: NotRequired[Annotated[Awaiting, Form(description="only in the state awaiting_completion")]]
    failure_notice: NotRequired[Annotated[RunId, Form(description="the run that tells `on_failure` of this one")]]
    notice_of: NotRequired[Annotated[RunId, Form(description="the run that this one tells of")]]
    verifies: NotRequired[Annotated[str, Form(description="the destination that this run asks")]]


class CompletionState(TypedDict):
    """Where a run stands, for whoever completes it."""

    id: RunId
    state: Annotated[str, one_of(RunState)]
    attempt: int
    heartbeat_due_at: Instant | None
    completion_due_at: Instant | None


class RunList(TypedDict):
    """A page of runs."""

    data: list[Run]
    next_cursor: str | None


class Redriven(TypedDict):
    """What became of a portion of dead letters."""

    redriven: Annotated[int, Form(description="how many were, or in a dry run would be, redriven")]
    refused: Annotated[dict[str, int], Form(description="how many were not, by reason")]
    dry_run: bool
    next_cursor: Annotated[str | None, Form(description="leads to the next portion, as `cursor`")]


# -------------------------------------------------------------------------------------------------- schedules


class Occurrence(TypedDict):
    """One time of a schedule."""

    at: Instant
    local: Annotated[str, Form(format="date-time", description="on the zone's clock")]


class ClockChange(TypedDict):
    """A change of the zone's clock that touches the schedule."""

    at: Instant
    before: Annotated[str, Form(format="date-time")]
    after: Annotated[str, Form(format="date-time")]
    effect: str
    detail: str


class Warned(TypedDict):
    """Something about a schedule that may not be meant."""

    code: str
    detail: str


class Preview(TypedDict):
    """What a schedule means."""

    occurrences: list[Occurrence]
    text: Annotated[str, Form(description="in plain words")]
    clock_changes: list[ClockChange]
    warnings: list[Warned]


# ----------------------------------------------------------------------------------------------------- tenant


class ApiKey(TypedDict):
    """A key without its text."""

    id: str
    name: str | None
    hint: Annotated[str, Form(description="its last characters")]
    scopes: list[Annotated[str, one_of(SCOPES)]]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Annotated[Instant | None, Form(description="exact to the hour")]


class NewApiKey(ApiKey):
    """A new key with its text, which is shown this once."""

    key: str


class RotatedApiKey(NewApiKey):
    """A new key, and the one whose place it takes."""

    previous: list[ApiKey]


class ApiKeyList(TypedDict):
    """The keys of a tenant: one page."""

    data: list[ApiKey]
    next_cursor: None


class SigningSecret(TypedDict):
    """A secret that signs, without its text."""

    id: str
    created_at: Instant
    expires_at: Instant | None


class RevealedSecret(SigningSecret):
    """A secret that signs."""

    secret: str


class RotatedSecret(RevealedSecret):
    """A new secret, and those that retire."""

    previous: list[SigningSecret]


class SigningSecretList(TypedDict):
    """The secrets that sign: one page."""

    data: list[SigningSecret]
    next_cursor: None


class Destination(TypedDict):
    """Where jobs may call: a host, or a suffix with all below it."""

    id: str
    host: NotRequired[str]
    suffix: NotRequired[str]
    created_at: Instant
    verified_at: Annotated[Instant | None, Form(description="when it has answered its challenge")]


class DestinationList(TypedDict):
    """The destinations of a tenant: one page."""

    data: list[Destination]
    next_cursor: None


class Actor(TypedDict):
    """Who did it."""

    type: Annotated[str, one_of(ActorType)]
    id: str


class Change(TypedDict):
    """One member before and after."""

    pointer: str
    before: str | None
    after: str | None


class AuditEvent(TypedDict):
    """What was done, and by whom."""

    id: str
    occurred_at: Instant
    actor: Actor
    action: Annotated[str, one_of(Action)]
    target: str
    request_id: str
    operation: str | None
    changes: list[Change]


class Limits(TypedDict):
    """What a tenant may; null: there is no such limit."""

    jobs: int | None
    payload_bytes: int | None
    create_rate: float | None
    create_burst: int | None
    dispatch_rate: float | None
    dispatch_burst: int | None


class Usage(TypedDict):
    """How much of its limits a tenant uses."""

    jobs: int


class LimitsAndUsage(TypedDict):
    """The limits of a tenant, and how much of them it uses."""

    limits: Limits
    usage: Usage


class AuditEventList(TypedDict):
    """A page of audit events, newest first."""

    data: list[AuditEvent]
    next_cursor: str | None


# ------------------------------------------------------------------------------------------------- statistics


class EndCounts(TypedDict):
    """How many runs ended, and how."""

    total: int
    succeeded: int
    dead_lettered: int
    cancelled: int
    skipped: int


class EndReasons(TypedDict):
    """Of those that did not succeed, how many for which reason."""

    dead_lettered: dict[str, int]
    cancelled: dict[str, int]
    skipped: dict[str, int]


class Lateness(TypedDict):
    """By how many ms first attempts began late: percentiles, each the upper bound of its bucket."""

    count: Annotated[int, Form(description="of first attempts")]
    p50: int | None
    p95: int | None
    p99: int | None


class HourOfRuns(TypedDict):
    """What ended within an hour."""

    hour: Annotated[Instant, Form(description="its beginning")]
    runs: EndCounts
    attempts: int
    lateness_ms: Lateness


class QueueFigures(TypedDict):
    """What waits in a work queue of the stage, about: of all tenants together."""

    waiting: int | None
    delayed: Annotated[int | None, Form(description="what is not due yet")]
    in_flight: int | None
    oldest_age_seconds: Annotated[int | None, Form(description="since it was sent, which is up to a minute early")]


class Statistics(TypedDict):
    """What became of the tenant's runs that ended in some hours, and what waits in the queues now."""

    since: Annotated[Instant, Form(description="the beginning of the first hour")]
    until: Annotated[Instant, Form(description="the end of the last one, which may be yet to come")]
    runs: EndCounts
    reasons: EndReasons
    success_share: Annotated[float | None, Form(description="of those that succeeded or were dead-lettered")]
    attempts: Annotated[int, Form(description="of the runs that ended")]
    lateness_ms: Lateness
    hours: Annotated[list[HourOfRuns], Form(description="oldest first")]
    queues: dict[str, QueueFigures]
    unknown: Annotated[list[str], Form(description="pointers to what is null because it cannot be known now")]


# ------------------------------------------------------------------------------------------------- operations


class JobFilter(TypedDict):
    """Which jobs: all that is named holds."""

    state: Annotated[str, one_of(JobState)] | None
    labels: dict[str, str]
    name_prefix: str | None


class Progress(TypedDict):
    """Counts of jobs."""

    walked: Annotated[int, Form(description="looked at")]
    matched: Annotated[int, Form(description="those that the filter admitted")]
    done: Annotated[int, Form(description="those that are as the action leaves them")]
    refused: Annotated[dict[str, int], Form(description="those that are not, by the code of the reason")]


class Operation(TypedDict):
    """Work on many jobs, and how far it has come."""

    id: Annotated[str, Form(examples=["op_01M8MX0REB67WD2ANKW6N989AG"])]
    action: BulkActionName
    filter: JobFilter
    state: Annotated[str, one_of(("queued", "running", "succeeded", "cancelled"))]
    progress: Progress
    created_at: Instant
    updated_at: Instant
    ended_at: Instant | None


class BulkTrial(TypedDict):
    """What an action would do to a part of the jobs."""

    action: BulkActionName
    filter: JobFilter
    dry_run: Literal[True]
    progress: Progress
    next_cursor: str | None


# ---------------------------------------------------------------------------------------------------- service


class Health(TypedDict):
    """The service answers."""

    status: Literal["ok"]
    version: str
    zone_data: Annotated[str, Form(description="the release of the zones' rules")]


class PlaceError(TypedDict):
    """What is wrong at one place of the request: exactly one of pointer, parameter and header says where."""

    pointer: NotRequired[Annotated[str, Form(description="into the body, RFC 6901")]]
    parameter: NotRequired[Annotated[str, Form(description="of the query")]]
    header: NotRequired[str]
    code: str
    detail: str


class Problem(TypedDict):
    """A refusal (RFC 9457)."""

    type: Annotated[str, Form(format="uri-reference", description="leads to a page about this kind of problem")]
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: NotRequired[list[PlaceError]]
    job_id: NotRequired[Annotated[str, Form(description="of name_taken: which job has the name")]]
    limit: NotRequired[Annotated[str, Form(description="of limit_reached and too_fast: which limit")]]
    previous_expires_at: NotRequired[Annotated[Instant, Form(description="of rotation_in_progress")]]


class FailureTarget(TypedDict):
    """Who is told of failed runs of jobs that name nobody themselves."""

    target: HttpTarget | QueueTarget | None
