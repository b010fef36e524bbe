"""Every refusal as problem+json (RFC 9457). What becomes of other exceptions is told in `refusing`.

A refusal tells where (a pointer into the body, a parameter or a header), a stable code for programs and a sentence for
people. It never repeats a value that was sent.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

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
    "limit_reached": (422, "A limit of the tenant is reached"),
    "not_supported": (422, "Documented, but not built yet"),
    "precondition_required": (428, "The request must be conditional"),
    "too_many_edits": (429, "The job has been edited too often"),
    "too_fast": (429, "Jobs are created faster than the tenant may"),
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


INTERNAL_ERROR = Refusal("internal_error", "the failure has been recorded under this request id")


def refusal_of(error: Exception) -> Refusal | None:
    """The answer to an exception, or None when it is none of the foreseen ones: a bug, answered by `INTERNAL_ERROR`.

    What else can be raised is known by who raises it: that is loaded when somebody has.
    """
    if isinstance(error, Refusal):
        return error
    from carillon.entrypoint.refusing import translated  # noqa: PLC0415 - only refusals need it

    return translated(error)
