"""From the document of a job to the wish for it, with everything that is wrong told at once."""

import re
from collections.abc import Iterator
from typing import cast

from carillon.application.create_job import NewJob
from carillon.domain.durations import format_duration
from carillon.domain.headers import HeaderProblem, header_problems
from carillon.domain.job import Completion, HttpTarget, PlanningRules, QueueTarget, Target
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

MOST_PAYLOAD_BYTES = 256 * 1024

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
    errors = [*_target_errors(document.target, payload, policy), *_retry_errors(document.retry)]
    if isinstance(read, FieldError):
        raise invalid([read, *errors])
    if errors:
        raise invalid(errors)
    return _new_job(document, read, payload)


def _new_job(document: JobDocument, schedule: Schedule, payload: bytes | None) -> NewJob:
    return NewJob(
        schedule=schedule,
        target=_target(document.target),
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
        deadline_ms=document.deadline,
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


def _target_errors(
    target: HttpTargetDocument | QueueTargetDocument, payload: bytes | None, policy: TargetPolicy
) -> Iterator[FieldError]:
    yield from _completion_errors(target.completion)
    if isinstance(target, QueueTargetDocument):
        yield from _queue_errors(target, payload, policy)
        return
    try:
        parse_target_url(target.url, policy)
    except TargetRefused as error:
        yield error_of_target(error)
    if target.cancel_url is not None:
        try:
            parse_target_url(target.cancel_url, policy)
        except TargetRefused as error:
            yield error_of_target(error, "cancel_url")
    for problem in header_problems(target.headers.items()):
        yield _header_error(problem)


def _queue_errors(target: QueueTargetDocument, payload: bytes | None, policy: TargetPolicy) -> Iterator[FieldError]:
    """SQS takes no message without a body, and no code points that XML has not."""
    try:
        check_queue_url(target.queue_url, policy)
    except TargetRefused as error:
        yield error_of_target(error, "queue_url")
    if payload is None:
        yield FieldError("pointer", "/payload", "required", "a message to a queue has a body")
    elif _NO_TEXT_OF_QUEUES.search(payload.decode()):
        yield FieldError("pointer", "/payload", "invalid_value", "queues take no U+FFFE and U+FFFF; escape them")


def _completion_errors(asked: CompletionDocument | None) -> Iterator[FieldError]:
    if asked and asked.heartbeat_timeout and asked.heartbeat_timeout > asked.timeout:
        place = pointer("target", "completion", "heartbeat_timeout")
        yield FieldError("pointer", place, "out_of_range", f"at most the timeout: {format_duration(asked.timeout)}")


def _header_error(problem: HeaderProblem) -> FieldError:
    where = ("target", "headers") if problem.name is None else ("target", "headers", problem.name)
    return FieldError("pointer", pointer(*where), problem.code, problem.detail)


def _retry_errors(retry: RetryDocument) -> Iterator[FieldError]:
    if not retry.delays:
        return
    for field in sorted(retry.model_fields_set & {*FORMULA}):
        yield FieldError(
            "pointer", pointer("retry", field), "conflicting_fields", "stands for the formula, and delays replace it"
        )


def _target(target: HttpTargetDocument | QueueTargetDocument) -> Target:
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
