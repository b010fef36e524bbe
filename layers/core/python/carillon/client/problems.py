"""What can go wrong between a client and the service: every failure of a call is a `ClientError`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class ClientError(Exception):
    """Any failure of a call: each kind below is one of these."""


class UnreachableError(ClientError):
    """No answer came: the name, the connection or the wait failed. What was asked may or may not have happened."""


class BadAnswerError(ClientError):
    """An answer came, but not one that this service would give."""


class PagingError(ClientError):
    """A list did not come to an end as lists do."""


class BadIdError(ClientError, ValueError):
    """The text cannot be an id, so nothing was asked."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What was refused at one place: `where` is an RFC 6901 pointer into the body, a parameter or a header."""

    where: str
    code: str
    detail: str


class ApiProblem(ClientError):  # noqa: N818 - RFC 9457 calls it a problem
    """The service refused the request (RFC 9457). The classes below are the kinds by status, `code` says which exactly.

    Attributes:
        status: The HTTP status.
        code: The stable name of the refusal, `http_<status>` when the answer carries none.
        title: What kind of refusal it is.
        detail: What was wrong this time, or an empty text.
        request_id: For the operator, or None.
        errors: The fields that were refused.
        members: All members of the answer as it came.
        retry_after_ms: How long to wait before the next try, or None when the answer does not say.
    """

    def __init__(self, status: int, members: Mapping[str, Any], retry_after_ms: int | None = None) -> None:
        self.status = status
        self.members = members
        self.code = _text(members.get("code")) or f"http_{status}"
        self.title = _text(members.get("title")) or _text(members.get("message")) or f"HTTP status {status}"
        self.detail = _text(members.get("detail"))
        self.request_id = _text(members.get("request_id")) or None
        self.errors = _field_errors(members.get("errors"))
        self.retry_after_ms = retry_after_ms
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        fields = "; ".join(f"{error.where or 'body'}: {error.detail or error.code}" for error in self.errors)
        reason = fields or self.detail or self.title
        return f"{reason} ({self.status} {self.code})"


class InvalidError(ApiProblem):
    """400, 405, 413, 415, 422, 428: the request itself is wrong, see `errors`; it will be refused again."""


class UnauthenticatedError(ApiProblem):
    """401: the key is missing, wrong, expired or revoked."""


class ForbiddenError(ApiProblem):
    """403: the key lacks the scope that `detail` names."""


class NotFoundError(ApiProblem):
    """404: there is no such thing for this key."""


class ConflictError(ApiProblem):
    """409: the state does not allow it, or a name is taken (then `members["job_id"]` says by which job)."""


class RevisionMismatchError(ApiProblem):
    """412: the job has been changed since: read it again."""


class RateLimitedError(ApiProblem):
    """429: too much of it; `retry_after_ms` says for how long."""


class ServiceError(ApiProblem):
    """500 and above: the service failed. The request may or may not have been carried out."""


_BY_STATUS: Mapping[int, type[ApiProblem]] = {
    **dict.fromkeys((400, 405, 413, 415, 422, 428), InvalidError),
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: RevisionMismatchError,
    429: RateLimitedError,
}
_SERVER_ERRORS = 500


def problem_from(status: int, body: bytes, retry_after_ms: int | None = None) -> ApiProblem:
    """The problem in a refusal's body; a body that is no JSON object (a gateway's page) leaves only the status."""
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        members = {}
    kind = ServiceError if status >= _SERVER_ERRORS else _BY_STATUS.get(status, ApiProblem)
    return kind(status, members if isinstance(members, dict) else {}, retry_after_ms)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _field_errors(value: object) -> tuple[FieldError, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(
        FieldError(_where(entry), _text(entry.get("code")), _text(entry.get("detail")))
        for entry in entries
        if isinstance(entry, dict)
    )


def _where(entry: Mapping[str, Any]) -> str:
    places = (_text(entry.get(place)) for place in ("pointer", "parameter", "header"))
    return next(filter(None, places), "")
