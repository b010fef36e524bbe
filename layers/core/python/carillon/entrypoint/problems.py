"""Every refusal as problem+json (RFC 9457), and the one table from exception to answer.

A refusal tells where (a pointer into the body, a parameter or a header), a stable code for programs and a sentence for
people. It never repeats a value that was sent.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
from carillon.ports.errors import NameTakenError, UnavailableError

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 32
LONGEST_PLACE = 256
RETRY_AFTER_SECONDS = 1

KINDS: Mapping[str, tuple[int, str]] = {
    "malformed_request": (400, "The request cannot be read"),
    "bad_cursor": (400, "The cursor does not belong to this list"),
    "unauthenticated": (401, "A valid API key is required"),
    "missing_scope": (403, "The API key does not allow this"),
    "not_found": (404, "There is no such thing"),
    "method_not_allowed": (405, "The method is not allowed here"),
    "name_taken": (409, "The name is taken"),
    "request_in_flight": (409, "The first request is under way"),
    "run_ended": (409, "The run has ended"),
    "stale_attempt": (409, "The attempt has ended"),
    "already_completed": (409, "The attempt has been completed otherwise"),
    "not_awaited": (409, "The run waits for no completion"),
    "not_redrivable": (409, "The run cannot be redriven"),
    "key_ended": (409, "The key is in force no longer"),
    "last_key": (409, "Without this key nobody could manage the keys"),
    "too_many_keys": (409, "So many keys are in force"),
    "rotation_in_progress": (409, "The secret before the newest one still signs"),
    "operation_ended": (409, "The operation has ended"),
    "job_finished": (409, "The job has ended"),
    "revision_mismatch": (412, "The job has been changed"),
    "too_large": (413, "The request is too large"),
    "unsupported_media_type": (415, "The content type is not supported"),
    "invalid_fields": (422, "Fields of the request are not valid"),
    "idempotency_mismatch": (422, "The key belongs to another request"),
    "not_supported": (422, "Documented, but not built yet"),
    "precondition_required": (428, "The request must be conditional"),
    "too_many_edits": (429, "The job has been edited too often"),
    "internal_error": (500, "The service failed"),
    "unavailable": (503, "The service is not available at the moment"),
}
"""By code: the HTTP status and the title."""

Place = Literal["pointer", "parameter", "header"]


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong at one place of the request."""

    place: Place
    name: str
    code: str
    detail: str

    def as_json(self) -> dict[str, str]:
        """The member of `errors`."""
        return {self.place: self.name[:LONGEST_PLACE], "code": self.code, "detail": self.detail}


def pointer(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) of these steps from the root."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818 - it is a verdict on the request, not a failure of ours
    """The request is refused: raised anywhere on its way, answered as a problem."""

    code: str
    detail: str
    errors: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.code][0]

    def as_text(self, request_id: str, base: str = "") -> str:
        """The body of the answer; `base`: the path of the stage in front of ours, where the page of its type lies."""
        status, title = KINDS[self.code]
        return json.dumps(
            {
                "type": f"{base}/v1/problems/{self.code}",
                "title": title,
                "status": status,
                "detail": self.detail,
                "code": self.code,
                "request_id": request_id,
                **({"errors": [error.as_json() for error in self.errors[:MOST_ERRORS]]} if self.errors else {}),
                **self.extensions,
            }
        )


def invalid(errors: Iterable[FieldError]) -> Refusal:
    """The refusal of fields. What is not built yet is told alone: the rest could only be judged with it."""
    found = tuple(errors)
    not_built = tuple(error for error in found if error.code == "not_supported")
    listed = not_built or found
    names = ", ".join(error.name[:LONGEST_PLACE] for error in listed[:3]) + (" and others" if len(listed) > 3 else "")  # noqa: PLR2004 - as many as a sentence bears
    if not_built:
        return Refusal("not_supported", f"documented, but not built yet: {names}", not_built)
    return Refusal("invalid_fields", f"not valid: {names}", found)


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


def _too_many_destinations(_: object) -> Refusal:
    return invalid([FieldError("pointer", "", "out_of_range", f"at most {MOST_DESTINATIONS} destinations are allowed")])


def _unavailable(_: object) -> Refusal:
    return Refusal(
        "unavailable",
        "the request may or may not have been carried out; try again",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )


_ANSWERS: Mapping[type[Exception], Callable[[Any], Refusal]] = {
    Refusal: lambda refusal: refusal,
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
    UnavailableError: _unavailable,
}


def refusal_of(error: Exception) -> Refusal | None:
    """The answer to an exception, or None when it is none of the foreseen ones: a bug, answered by `INTERNAL_ERROR`."""
    for kind, answer in _ANSWERS.items():
        if isinstance(error, kind):
            return answer(error)
    return None


INTERNAL_ERROR = Refusal("internal_error", "the failure has been recorded under this request id")
