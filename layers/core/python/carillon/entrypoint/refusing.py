"""What the API answers to the exceptions of use cases, stores and readers."""

from collections.abc import Callable, Mapping
from typing import Any

from carillon.application.api_keys import (
    MOST_KEYS,
    KeyEndedError,
    KeyNotFoundError,
    LastKeyError,
    ScopesExceededError,
    TooManyKeysError,
)
from carillon.application.cancel_run import RunEndedError
from carillon.application.complete_run import (
    NotAwaitedError,
    OtherReportError,
    StaleAttemptError,
    WrongTokenError,
)
from carillon.application.create_job import NoOccurrenceError
from carillon.application.destinations import DestinationNotFoundError, TooManyDestinationsError
from carillon.application.edit_job import RevisionMismatchError
from carillon.application.read_jobs import JobNotFoundError
from carillon.application.read_runs import RunNotFoundError
from carillon.application.redrive import NotRedrivableError
from carillon.application.repeat_safely import OtherRequestError, RequestInFlightError
from carillon.application.signing_secrets import SecretNotFoundError
from carillon.application.uploads import NoSuchUploadError
from carillon.domain.destinations import MOST_DESTINATIONS
from carillon.domain.editing import JobFinishedError
from carillon.domain.instants import format_instant
from carillon.domain.operation_errors import OperationEndedError, OperationNotFoundError
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.secrets import RotationInProgressError
from carillon.entrypoint.cursors import BadCursorError
from carillon.entrypoint.json_text import JsonError
from carillon.entrypoint.problems import RETRY_AFTER_SECONDS, FieldError, Refusal, invalid, pointer
from carillon.ports.errors import LimitReachedError, NameTakenError, TooFastError, UnavailableError


def _not_found(_: object) -> Refusal:
    return Refusal("not_found", "there is nothing of this name or id for this key")


def _name_taken(error: NameTakenError) -> Refusal:
    taken = FieldError("pointer", "/name", "name_taken", "another job of the tenant has this name")
    return Refusal("name_taken", taken.detail, (taken,), extensions={"job_id": error.job_id})


def _no_occurrence(error: NoOccurrenceError) -> Refusal:
    detail = f"{error.detail}; allowed: {error.allowed}"
    return invalid([FieldError("pointer", pointer("schedule", error.field), "no_occurrence", detail)])


def _no_such_upload(_: Exception) -> Refusal:
    detail = "there is no upload of this reference; allowed: an uploaded payload of yours, within a day"
    return invalid([FieldError("pointer", "/payload_ref", "no_such_upload", detail)])


def _bad_cursor(error: BadCursorError) -> Refusal:
    return Refusal("bad_cursor", str(error), (FieldError("parameter", "cursor", "bad_cursor", str(error)),))


def _malformed(error: JsonError) -> Refusal:
    return Refusal("malformed_request", str(error), (FieldError("pointer", "", "bad_json", str(error)),))


def _revision_mismatch(_: object) -> Refusal:
    wrong = FieldError("header", "If-Match", "revision_mismatch", "the job has another revision by now")
    return Refusal("revision_mismatch", wrong.detail, (wrong,))


def _job_finished(_: object) -> Refusal:
    return Refusal("job_finished", "the job has ended in a way that does not allow this")


def _request_in_flight(error: RequestInFlightError) -> Refusal:
    return Refusal(
        "request_in_flight",
        "a request with this Idempotency-Key is being carried out; try again",
        headers={"Retry-After": str(max(min(-(-error.wait_ms // 1000), 5), RETRY_AFTER_SECONDS))},
    )


def _other_request(_: object) -> Refusal:
    wrong = FieldError("header", "Idempotency-Key", "idempotency_mismatch", "it was used for another request before")
    return Refusal("idempotency_mismatch", wrong.detail, (wrong,))


def _run_ended(error: RunEndedError) -> Refusal:
    return Refusal("run_ended", f"the run is {error.state} already")


def _wrong_token(_: object) -> Refusal:
    detail = "no attempt of such a run has this token"
    return Refusal("unauthenticated", detail, (FieldError("header", "Authorization", "wrong_token", detail),))


def _stale_attempt(_: object) -> Refusal:
    return Refusal("stale_attempt", "the attempt of this token has ended, and the run has gone on: stop working on it")


def _already_completed(_: object) -> Refusal:
    return Refusal("already_completed", "another outcome was reported of the attempt before, and that one stands")


def _not_awaited(error: NotAwaitedError) -> Refusal:
    return Refusal("not_awaited", f"the run is {error.state}, and no target is to complete it")


def _not_redrivable(error: NotRedrivableError) -> Refusal:
    return Refusal("not_redrivable", f"only a dead-lettered run can be redriven, within its limits: {error.reason}")


def _operation_ended(_: object) -> Refusal:
    return Refusal("operation_ended", "the operation has come to its end already")


def _scopes_exceeded(error: ScopesExceededError) -> Refusal:
    return Refusal(
        "missing_scope", f"a key grants no more than the key that makes it; missing: {', '.join(error.scopes)}"
    )


def _last_key(_: object) -> Refusal:
    return Refusal("last_key", "make another key with the scope keys:manage and without an end first")


def _too_many_keys(_: object) -> Refusal:
    return Refusal("too_many_keys", f"at most {MOST_KEYS} keys may be in force at once: revoke one first")


def _key_ended(_: object) -> Refusal:
    return Refusal("key_ended", "the key has expired or was revoked: make a new one")


def _rotation_in_progress(error: RotationInProgressError) -> Refusal:
    return Refusal(
        "rotation_in_progress",
        "two secrets sign at the most: wait until the older one retires, or rotate with an overlap of PT0S",
        extensions={"previous_expires_at": format_instant(error.retires_at)},
    )


def _too_many_edits(error: TooManyEditsError) -> Refusal:
    return Refusal(
        "too_many_edits",
        "edits of a job's schedule, pauses and resumes are remembered for 15 days, and no more fit",
        headers={"Retry-After": str(max(-(-error.wait_ms // 1000), RETRY_AFTER_SECONDS))},
    )


def _limit_reached(error: LimitReachedError) -> Refusal:
    detail = _LIMITS_REACHED[error.limit].format(error.most)
    wrong = () if error.field is None else (FieldError("pointer", pointer(error.field), "limit_reached", detail),)
    return Refusal("limit_reached", detail, wrong, extensions={"limit": error.limit})


def _too_fast(error: TooFastError) -> Refusal:
    return Refusal(
        "too_fast",
        "the tenant has created as many jobs as it may for the moment: the limit create_rate",
        headers={"Retry-After": str(max(-(-error.wait_ms // 1000), RETRY_AFTER_SECONDS))},
        extensions={"limit": "create_rate"},
    )


def _too_many_destinations(_: object) -> Refusal:
    return invalid([FieldError("pointer", "", "out_of_range", f"at most {MOST_DESTINATIONS} destinations are allowed")])


def _unavailable(_: object) -> Refusal:
    return Refusal(
        "unavailable",
        "the request may or may not have been carried out; try again",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


_LIMITS_REACHED = {
    "jobs": "the tenant may have {} jobs with something still planned: the limit jobs",
    "payload_bytes": "a payload of the tenant may have {} bytes: the limit payload_bytes",
}

_ANSWERS: Mapping[type[Exception], Callable[[Any], Refusal]] = {
    JsonError: _malformed,
    BadCursorError: _bad_cursor,
    JobNotFoundError: _not_found,
    DestinationNotFoundError: _not_found,
    TooManyDestinationsError: _too_many_destinations,
    RunNotFoundError: _not_found,
    NameTakenError: _name_taken,
    NoOccurrenceError: _no_occurrence,
    NoSuchUploadError: _no_such_upload,
    RevisionMismatchError: _revision_mismatch,
    JobFinishedError: _job_finished,
    RequestInFlightError: _request_in_flight,
    OtherRequestError: _other_request,
    RunEndedError: _run_ended,
    WrongTokenError: _wrong_token,
    StaleAttemptError: _stale_attempt,
    OtherReportError: _already_completed,
    NotAwaitedError: _not_awaited,
    NotRedrivableError: _not_redrivable,
    OperationNotFoundError: _not_found,
    OperationEndedError: _operation_ended,
    SecretNotFoundError: _not_found,
    KeyNotFoundError: _not_found,
    KeyEndedError: _key_ended,
    LastKeyError: _last_key,
    TooManyKeysError: _too_many_keys,
    ScopesExceededError: _scopes_exceeded,
    RotationInProgressError: _rotation_in_progress,
    TooManyEditsError: _too_many_edits,
    LimitReachedError: _limit_reached,
    TooFastError: _too_fast,
    UnavailableError: _unavailable,
}


def translated(error: Exception) -> Refusal | None:
    """The answer to an exception, or None when it is none of the foreseen ones."""
    for kind, answer in _ANSWERS.items():
        if isinstance(error, kind):
            return answer(error)
    return None
