"""What the audit trail tells of a change of a job: its members before and after, without what may be secret.

Headers and payloads are never shown, nor what stands in a URL behind the host: many services' hooks are secrets as a
whole. That they have changed is.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from carillon.domain.audit import Action, Change
from carillon.domain.durations import format_duration
from carillon.domain.instants import format_instant
from carillon.domain.job import Definition, HttpTarget, JobSpec, JobState, PlanningRules, Target
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, decode

MASKED = "***"

_LONGEST_AT_CREATION = 60
_TOLD_AT_CREATION = frozenset(
    (
        "/name",
        *(f"/schedule/{member}" for member in ("run_at", "every", "cron", "timezone")),
        *(f"/target/{member}" for member in ("url", "queue_url")),
    )
)

_Member = tuple[str, object, str | None]
"""A member by its pointer: what it is compared by, and what is shown of it."""


def action_of(before: Definition, after: Definition) -> Action:
    """What an edit was, by what it did."""
    states = before.job.state, after.job.state
    if states[0] != states[1]:
        for state, action in ((JobState.CANCELLED, Action.JOB_CANCELLED), (JobState.PAUSED, Action.JOB_PAUSED)):
            if states[1] is state:
                return action
        if states[0] is JobState.PAUSED:
            return Action.JOB_RESUMED
    return Action.JOB_REPLANNED if before.spec.revision == after.spec.revision else Action.JOB_UPDATED


def changes_between(before: Definition, after: Definition) -> Iterator[Change]:
    """The members that are different, in the order of their pointers."""
    old, new = _members_of(before), _members_of(after)
    for pointer in sorted({**old, **new}):
        (was, shown_before), (is_, shown_after) = old.get(pointer, (None, None)), new.get(pointer, (None, None))
        if was != is_:
            yield pointer, shown_before, shown_after


def changes_at_creation(created: Definition) -> Iterator[Change]:
    """What tells a new job from others: short, because there are many."""
    for pointer, (_, shown) in _members_of(created).items():
        if shown is not None and pointer in _TOLD_AT_CREATION:
            yield pointer, None, shown[:_LONGEST_AT_CREATION]


def _members_of(definition: Definition) -> Mapping[str, tuple[object, str | None]]:
    job, spec = definition.job, definition.spec
    members = [
        ("/state", job.state, str(job.state)),
        ("/priority", job.priority, str(job.priority)),
        ("/next_scheduled_for", job.scheduled_for, _instant(job.scheduled_for)),
        *_planning(job.schedule, job.rules),
        *_others(spec),
    ]
    return {pointer: (value, shown) for pointer, value, shown in members}


def _planning(schedule: str, rules: str) -> Iterator[_Member]:
    try:
        planned, ruled = decode(schedule), PlanningRules.decode(rules)
    except ValueError:  # damaged: an edit mends it
        yield "/schedule", schedule, None
        return
    yield from _schedule(planned)
    if ruled.max_runs is not None:
        yield "/schedule/max_runs", ruled.max_runs, str(ruled.max_runs)
    yield "/misfire_policy", ruled.misfire, str(ruled.misfire)
    yield "/misfire_grace", ruled.misfire_grace_ms, format_duration(ruled.misfire_grace_ms)
    yield "/max_catch_up", ruled.max_catch_up, str(ruled.max_catch_up)
    yield "/window", ruled.window_ms, format_duration(ruled.window_ms)


def _schedule(schedule: Schedule) -> Iterator[_Member]:
    match schedule:
        case OneOff(at_ms):
            yield "/schedule/run_at", at_ms, format_instant(at_ms)
        case Every(interval_ms, anchor_ms, start_ms, end_ms):
            yield "/schedule/every", (interval_ms, anchor_ms), format_duration(interval_ms)
            yield from _bounds(start_ms, end_ms)
        case CronSchedule(expression, timezone, gap, overlap, start_ms, end_ms):
            yield "/schedule/cron", expression, expression
            yield "/schedule/timezone", timezone, timezone
            yield "/schedule/dst_gap", gap, str(gap)
            yield "/schedule/dst_overlap", overlap, str(overlap)
            yield from _bounds(start_ms, end_ms)


def _bounds(start_ms: int | None, end_ms: int | None) -> Iterator[_Member]:
    for name, at in (("start_at", start_ms), ("end_at", end_ms)):
        if at is not None:
            yield f"/schedule/{name}", at, _instant(at)


def _others(spec: JobSpec) -> Iterator[_Member]:
    yield "/name", spec.name, spec.name
    yield "/deadline", spec.deadline_ms, None if spec.deadline_ms is None else format_duration(spec.deadline_ms)
    yield "/state_reason", spec.state_reason, spec.state_reason
    for key, value in spec.labels.items():
        yield f"/labels/{_step(key)}", value, value
    yield from _target("/target", spec.target)
    if spec.on_failure is not None:
        yield from _target("/on_failure", spec.on_failure)
    yield from _retry(spec.retry)
    if spec.payload is not None:
        yield "/payload", spec.payload, f"{MASKED} ({len(spec.payload)} bytes)"
    if spec.stored_payload is not None:
        yield "/payload_ref", spec.stored_payload, f"{MASKED} ({spec.stored_payload.size_bytes} bytes)"


def _target(base: str, target: Target) -> Iterator[_Member]:
    if isinstance(target, HttpTarget):
        yield f"{base}/url", target.url, masked_url(target.url)
        yield f"{base}/method", target.method, target.method
        yield f"{base}/timeout", target.timeout_ms, format_duration(target.timeout_ms)
        for name in {name.lower() for name, _ in target.headers}:
            values = [value for each, value in target.headers if each.lower() == name]
            yield f"{base}/headers/{_step(name)}", values, MASKED
        if target.cancel_url is not None:
            yield f"{base}/cancel_url", target.cancel_url, masked_url(target.cancel_url)
    else:
        yield f"{base}/queue_url", target.queue_url, target.queue_url
    if target.completion is not None:
        awaited = target.completion
        yield f"{base}/completion/timeout", awaited.timeout_ms, format_duration(awaited.timeout_ms)
        if awaited.heartbeat_ms is not None:
            yield f"{base}/completion/heartbeat_timeout", awaited.heartbeat_ms, format_duration(awaited.heartbeat_ms)


def _retry(retry: RetryPolicy) -> Iterator[_Member]:
    yield "/retry/max_attempts", retry.max_attempts, str(retry.max_attempts)
    if retry.delays_ms:
        yield "/retry/delays", retry.delays_ms, ", ".join(map(format_duration, retry.delays_ms))
    else:
        yield "/retry/base", retry.base_ms, format_duration(retry.base_ms)
        yield "/retry/factor", retry.factor, f"{retry.factor:g}"
        yield "/retry/max_delay", retry.max_delay_ms, format_duration(retry.max_delay_ms)
        yield "/retry/jitter", retry.jitter, str(retry.jitter)
    if retry.retry_on is not None:
        yield "/retry_on", retry.retry_on, ", ".join(map(str, retry.retry_on))


def masked_url(url: str) -> str:
    """The scheme and the host, and whether anything stands behind them."""
    parts = urlsplit(url)
    rest = url.partition("://")[2].partition(parts.netloc)[2]
    return f"{parts.scheme}://{parts.netloc}{'/' + MASKED if rest.strip('/') else rest}"


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_instant(at_ms)


def _step(name: str) -> str:
    """A name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
