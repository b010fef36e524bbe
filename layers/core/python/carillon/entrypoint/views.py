"""What answers show of jobs and runs: names as in the public interface, instants in RFC 3339, durations in ISO 8601."""

import json
from typing import TYPE_CHECKING

from carillon.domain.durations import format_duration
from carillon.domain.identity import RunKey
from carillon.domain.instants import format_instant
from carillon.domain.job import Completion, Definition, Job, JobState, PlanningRules, QueueTarget, Target
from carillon.domain.retry import RetryPolicy
from carillon.domain.run import Attempt, Run, SkippedBlock
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, decode

if TYPE_CHECKING:
    from typing import TypedDict

    from carillon import answers

    class _Planning(TypedDict):
        schedule: answers.Schedule | None
        misfire_policy: str | None
        misfire_grace: str | None
        max_catch_up: int | None
        window: str | None

    class _Bounds(TypedDict, total=False):
        start_at: str
        end_at: str
        max_runs: int


def view_of_job(definition: Definition) -> "answers.ListedJob":
    """A job without its payload, as lists show it."""
    job, spec = definition.job, definition.spec
    planning = _planning(job)
    view: answers.ListedJob = {
        "id": job.id,
        "name": spec.name,
        "state": job.state,
        "state_reason": spec.state_reason,
        "revision": spec.revision,
        "schedule": planning["schedule"],
        "misfire_policy": planning["misfire_policy"],
        "misfire_grace": planning["misfire_grace"],
        "max_catch_up": planning["max_catch_up"],
        "window": planning["window"],
        "next_fire_time": shown_instant(job.next_fire_time),
        "next_scheduled_for": shown_instant(job.scheduled_for),
        "target": view_of_target(spec.target),
        "priority": job.priority,
        "retry": _retry(spec.retry),
        "retry_on": None if spec.retry.retry_on is None else list(spec.retry.retry_on),
        "deadline": None if spec.deadline_ms is None else format_duration(spec.deadline_ms),
        "overlap": "allow",
        "on_failure": None if spec.on_failure is None else view_of_target(spec.on_failure),
        "labels": dict(spec.labels),
        "created_at": format_instant(spec.created_at),
        "updated_at": format_instant(spec.updated_at),
    }
    if spec.stored_payload is not None:
        view["payload_ref"] = spec.stored_payload.reference
    if job.state is JobState.ERROR:
        view["error"] = job.error
    return view


def text_of_job(definition: Definition) -> str:
    """A whole job as JSON, its payload byte for byte as it was sent; without one there is no such member."""
    text = json.dumps(view_of_job(definition))
    payload = definition.spec.payload
    return text if payload is None else f'{text[:-1]}, "payload": {payload.decode()}}}'


def view_of_schedule(schedule: Schedule, max_runs: int | None = None) -> "answers.Schedule":
    """A schedule in its canonical form: a delay or a local time is shown as the instant that it came to."""
    match schedule:
        case OneOff(at_ms):
            return {"run_at": format_instant(at_ms)}
        case Every(interval_ms, _, start_ms, end_ms):
            return {"every": format_duration(interval_ms), **_bounds(start_ms, end_ms, max_runs)}
        case CronSchedule(expression, timezone, gap, overlap, start_ms, end_ms):
            return {
                "cron": expression,
                "timezone": timezone,
                "dst_gap": gap,
                "dst_overlap": overlap,
                **_bounds(start_ms, end_ms, max_runs),
            }
    raise TypeError(f"no view of {type(schedule).__name__}")


def view_of_run(run: Run) -> "answers.Run":
    """A run with its attempts. A block of occurrences that share a record says how many, from which to which."""
    view: answers.Run = {
        "id": run.key.run_id,
        "job_id": run.key.job_id,
        "state": run.state,
        "reason": run.reason,
        "scheduled_for": format_instant(run.scheduled_for),
        "attempt": run.attempt,
        "attempts": [_attempt(attempt) for attempt in run.attempts],
        "lateness_ms": run.lateness_ms,
        "next_attempt_at": shown_instant(run.next_fire_time) if run.state.is_waiting else None,
        "priority": run.priority,
        "created_at": format_instant(run.created_at),
        "ended_at": shown_instant(run.ended_at),
    }
    if run.notice:
        view["failure_notice"] = RunKey(run.key.job_id, run.notice).run_id
    if run.key.is_notice:
        view["notice_of"] = run.key.tells_of.run_id
    if run.key.is_challenge:
        from carillon.domain.challenges import challenge_in  # noqa: PLC0415 - rare, and not to be paid for at a cold start

        view["verifies"] = challenge_in(run).destination_id
    if run.block:
        view["block"] = _block(run.block)
    if run.completion_until is not None:
        view["awaiting"] = _awaiting(run, run.completion_until)
    return view


def _awaiting(run: Run, until_ms: int) -> "answers.Awaiting":
    heartbeat_due_ms = None if run.heartbeat_ms is None else run.next_fire_time
    return {
        "heartbeat_due_at": shown_instant(heartbeat_due_ms),
        "completion_due_at": format_instant(until_ms),
    }


def shown_instant(instant_ms: int | None) -> str | None:
    """An instant (epoch ms) as answers show it; null for none."""
    return None if instant_ms is None else format_instant(instant_ms)


def _planning(job: Job) -> "_Planning":
    """What is stored encoded. Of a job whose planning fields are damaged the rest is shown all the same."""
    try:
        schedule, rules = decode(job.schedule), PlanningRules.decode(job.rules)
    except ValueError:
        return {
            "schedule": None,
            "misfire_policy": None,
            "misfire_grace": None,
            "max_catch_up": None,
            "window": None,
        }
    return {
        "schedule": view_of_schedule(schedule, rules.max_runs),
        "misfire_policy": rules.misfire,
        "misfire_grace": format_duration(rules.misfire_grace_ms),
        "max_catch_up": rules.max_catch_up,
        "window": format_duration(rules.window_ms),
    }


def view_of_target(target: Target) -> "answers.HttpTarget | answers.QueueTarget":
    """A target as answers show it."""
    if isinstance(target, QueueTarget):
        queue: answers.QueueTarget = {"type": "queue", "queue_url": target.queue_url}
        if target.completion is not None:
            queue["completion"] = _completion(target.completion)
        return queue
    view: answers.HttpTarget = {
        "type": "http",
        "url": target.url,
        "method": target.method,
        "headers": dict(target.headers),
        "timeout": format_duration(target.timeout_ms),
    }
    if target.completion is not None:
        view["completion"] = _completion(target.completion)
    if target.cancel_url is not None:
        view["cancel_url"] = target.cancel_url
    return view


def _completion(completion: Completion) -> "answers.Completion":
    view: answers.Completion = {"mode": "async", "timeout": format_duration(completion.timeout_ms)}
    if completion.heartbeat_ms is not None:
        view["heartbeat_timeout"] = format_duration(completion.heartbeat_ms)
    return view


def _retry(retry: RetryPolicy) -> "answers.RetryFormula | answers.RetryDelays":
    if retry.delays_ms:
        return {"max_attempts": retry.max_attempts, "delays": [format_duration(delay) for delay in retry.delays_ms]}
    return {
        "max_attempts": retry.max_attempts,
        "base": format_duration(retry.base_ms),
        "factor": retry.factor,
        "max_delay": format_duration(retry.max_delay_ms),
        "jitter": retry.jitter,
    }


def _bounds(start_ms: int | None, end_ms: int | None, max_runs: int | None) -> "_Bounds":
    """The bounds that there are."""
    bounds: _Bounds = {}
    if start_ms is not None:
        bounds["start_at"] = format_instant(start_ms)
    if end_ms is not None:
        bounds["end_at"] = format_instant(end_ms)
    if max_runs is not None:
        bounds["max_runs"] = max_runs
    return bounds


def _attempt(attempt: Attempt) -> "answers.Attempt":
    view: answers.Attempt = {
        "number": attempt.number,
        "started_at": format_instant(attempt.started_at),
        "ended_at": shown_instant(attempt.ended_at),
        "status": attempt.status,
        "error": attempt.error,
        "response_excerpt": attempt.excerpt,
        "response_truncated": attempt.truncated,
        "job_revision": attempt.revision,
    }
    if attempt.report is not None:
        view["completion"] = attempt.report
    if attempt.result is not None:
        view["result"] = json.loads(attempt.result)
    return view


def _block(block: SkippedBlock) -> "answers.Block":
    return {"count": block.count, "first": format_instant(block.first), "last": format_instant(block.last)}
