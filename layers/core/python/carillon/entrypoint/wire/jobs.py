"""From the document of a job to the wish for it, with everything that is wrong told at once."""

import re
from collections.abc import Iterator
from typing import cast

from carillon.application.create_job import NewJob
from carillon.domain.durations import format_duration
from carillon.domain.headers import HeaderProblem, header_problems
from carillon.domain.job import (
    LONGEST_SHORT_CALL_MS,
    Completion,
    HttpTarget,
    PlanningRules,
    QueueTarget,
    Target,
)
from carillon.domain.outcomes import METHODS
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import Schedule, ScheduleError
from carillon.domain.targets import TargetPolicy, TargetRefused, check_queue_url, parse_target_url
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, Refusal, invalid, pointer
from carillon.entrypoint.wire.documents import (
    FORMULA,
    CompletionDocument,
    HttpTargetDocument,
    JobDocument,
    QueueTargetDocument,
    RetryDocument,
)
from carillon.entrypoint.wire.refusals import error_of_schedule, error_of_target, validated
from carillon.entrypoint.wire.schedules import AnySchedule, max_runs_of, read_schedule

SomeTarget = HttpTargetDocument | QueueTargetDocument

MOST_PAYLOAD_BYTES = 256 * 1024

_ENDS_AT_ONCE = "what tells of a failure ends with the answer"
_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_NO_TEXT_OF_QUEUES = re.compile("[\ufffe\uffff]")


def read_job(sent: JsonObject, policy: TargetPolicy, now_ms: int) -> NewJob:
    """The wish in the document of a job.

    Args:
        sent: the document, with the text of its payload.
        policy: which targets the stage allows.
        now_ms: the instant of creation, epoch ms.

    Raises:
        Refusal: something in it is not valid, not built yet or too large; each error names its field.
    """
    payload = read_payload(sent)
    return read_wish(validated(JobDocument, sent.members), payload, policy, now_ms)


def read_payload(sent: JsonObject) -> bytes | None:
    """The payload as it was sent, byte for byte; None when there is none.

    Raises:
        Refusal: it is too large.
    """
    payload = sent.texts["payload"].encode() if "payload" in sent.texts else None
    if payload is not None and len(payload) > MOST_PAYLOAD_BYTES:
        raise _payload_too_large()
    return payload


def read_wish(
    document: JobDocument,
    payload: bytes | None,
    policy: TargetPolicy,
    now_ms: int,
    *,
    schedule: Schedule | None = None,
) -> NewJob:
    """The wish in a document of the right shape.

    Args:
        document: of the right shape.
        payload: as the receiver is to get it.
        policy: which targets the stage allows.
        now_ms: the instant from which delays and intervals count, epoch ms.
        schedule: the schedule, if it is known already.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    read = schedule or _schedule(document, now_ms)
    errors = [
        *_target_errors(document, policy),
        *_payload_errors(document, payload),
        *_retry_errors(document.retry),
    ]
    if isinstance(read, FieldError):
        raise invalid([read, *errors])
    if errors:
        raise invalid(errors)
    return _new_job(document, read, payload)


def _new_job(document: JobDocument, schedule: Schedule, payload: bytes | None) -> NewJob:
    return NewJob(
        schedule=schedule,
        target=target_in(document.target),
        retry=_retry(document),
        rules=PlanningRules(
            document.misfire_policy,
            document.misfire_grace,
            document.max_catch_up,
            max_runs_of(cast("AnySchedule", document.schedule)),
            document.window,
        ),
        priority=document.priority,
        name=document.name,
        labels=document.labels,
        payload=payload,
        payload_ref=document.payload_ref,
        deadline_ms=document.deadline,
        on_failure=None if document.on_failure is None else target_in(document.on_failure),
    )


def _payload_too_large() -> Refusal:
    detail = f"at most {MOST_PAYLOAD_BYTES} bytes of UTF-8 are allowed"
    return Refusal(
        "too_large", f"the payload is too large: {detail}", (FieldError("pointer", "/payload", "too_large", detail),)
    )


def _schedule(document: JobDocument, now_ms: int) -> Schedule | FieldError:
    try:
        return read_schedule(cast("AnySchedule", document.schedule), now_ms)
    except ScheduleError as error:
        return error_of_schedule(error)


def _payload_errors(document: JobDocument, payload: bytes | None) -> Iterator[FieldError]:
    if document.payload_ref is None:
        if isinstance(document.target, QueueTargetDocument):
            yield from _body_errors(payload)
    elif payload is not None:
        yield FieldError("pointer", "/payload_ref", "conflicting_fields", "stands for the body, as payload does")
    elif isinstance(document.target, QueueTargetDocument):
        detail = "a message to a queue is text; allowed: payload"
        yield FieldError("pointer", "/payload_ref", "conflicting_fields", detail)


def _target_errors(document: JobDocument, policy: TargetPolicy) -> Iterator[FieldError]:
    yield from _errors_of(document.target, "target", policy)
    yield from _completion_errors(document.target.completion)
    if document.on_failure is not None:
        yield from failure_target_errors(document.on_failure, "on_failure", policy)


def failure_target_errors(target: SomeTarget, place: str, policy: TargetPolicy) -> Iterator[FieldError]:
    """What is wrong with a target that is to be told of failed runs, and stands at a place of a document."""
    yield from _errors_of(target, place, policy)
    yield from _notice_errors(target, place)


def _errors_of(target: SomeTarget, place: str, policy: TargetPolicy) -> Iterator[FieldError]:
    """What is wrong with a target that stands at a place of the document."""
    try:
        if isinstance(target, QueueTargetDocument):
            check_queue_url(target.queue_url, policy)
        else:
            parse_target_url(target.url, policy)
    except TargetRefused as error:
        yield error_of_target(error, place, "queue_url" if isinstance(target, QueueTargetDocument) else "url")
    if isinstance(target, HttpTargetDocument):
        yield from _cancel_errors(target, place, policy)
        for problem in header_problems(target.headers.items()):
            yield _header_error(problem, place)


def _cancel_errors(target: HttpTargetDocument, place: str, policy: TargetPolicy) -> Iterator[FieldError]:
    try:
        if target.cancel_url is not None:
            parse_target_url(target.cancel_url, policy)
    except TargetRefused as error:
        yield error_of_target(error, place, "cancel_url")


def _body_errors(payload: bytes | None) -> Iterator[FieldError]:
    """SQS takes no message without a body, and no code points that XML has not."""
    if payload is None:
        yield FieldError("pointer", "/payload", "required", "a message to a queue has a body")
    elif _NO_TEXT_OF_QUEUES.search(payload.decode()):
        yield FieldError("pointer", "/payload", "invalid_value", "queues take no U+FFFE and U+FFFF; escape them")


def _completion_errors(asked: CompletionDocument | None) -> Iterator[FieldError]:
    if asked and asked.heartbeat_timeout and asked.heartbeat_timeout > asked.timeout:
        place = pointer("target", "completion", "heartbeat_timeout")
        yield FieldError("pointer", place, "out_of_range", f"at most the timeout: {format_duration(asked.timeout)}")


def _notice_errors(target: SomeTarget, place: str) -> Iterator[FieldError]:
    """A notice has a body, takes the lane of short calls, and ends with its answer."""
    if target.completion is not None:
        yield FieldError("pointer", pointer(place, "completion"), "conflicting_fields", _ENDS_AT_ONCE)
    if isinstance(target, QueueTargetDocument):
        return
    if target.cancel_url is not None:
        yield FieldError("pointer", pointer(place, "cancel_url"), "conflicting_fields", _ENDS_AT_ONCE)
    if target.method in _WITHOUT_BODY:
        detail = f"allowed: {', '.join(sorted(METHODS - _WITHOUT_BODY))}: what is told is the body"
        yield FieldError("pointer", pointer(place, "method"), "not_a_choice", detail)
    if target.timeout > LONGEST_SHORT_CALL_MS:
        detail = f"allowed: up to {format_duration(LONGEST_SHORT_CALL_MS)}"
        yield FieldError("pointer", pointer(place, "timeout"), "out_of_range", detail)


def _header_error(problem: HeaderProblem, place: str) -> FieldError:
    where = (place, "headers") if problem.name is None else (place, "headers", problem.name)
    return FieldError("pointer", pointer(*where), problem.code, problem.detail)


def _retry_errors(retry: RetryDocument) -> Iterator[FieldError]:
    if not retry.delays:
        return
    for field in sorted(retry.model_fields_set & {*FORMULA}):
        yield FieldError(
            "pointer", pointer("retry", field), "conflicting_fields", "stands for the formula, and delays replace it"
        )


def target_in(target: SomeTarget) -> Target:
    """What a document says of a target."""
    if isinstance(target, QueueTargetDocument):
        return QueueTarget(target.queue_url, _completion(target.completion))
    return HttpTarget(
        target.url,
        target.method,
        tuple(target.headers.items()),
        target.timeout,
        completion=_completion(target.completion),
        cancel_url=target.cancel_url,
    )


def _completion(asked: CompletionDocument | None) -> Completion | None:
    return None if asked is None else Completion(asked.timeout, asked.heartbeat_timeout)


def _retry(document: JobDocument) -> RetryPolicy:
    """The policy. A list of delays without a number of attempts means: one try, and one more after each delay."""
    retry = document.retry
    attempts = retry.max_attempts
    if retry.delays and "max_attempts" not in retry.model_fields_set:
        attempts = len(retry.delays) + 1
    return RetryPolicy(
        max_attempts=attempts,
        base_ms=retry.base,
        factor=retry.factor,
        max_delay_ms=retry.max_delay,
        jitter=retry.jitter,
        delays_ms=tuple(retry.delays),
        retry_on=None if document.retry_on is None else tuple(document.retry_on),
    )
