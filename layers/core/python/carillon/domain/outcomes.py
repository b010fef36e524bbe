"""One attempt, of a call or of a message to a queue: what is sent, what came of it, and what that means for the run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from carillon.domain.destinations import ANYWHERE, Destinations

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
MOST_EXCERPT_BYTES = 4 * 1024
MOST_KEPT_VALUE_CHARACTERS = 1024
KEPT_HEADERS = ("content-type", "content-length", "retry-after", "date", "location", "server-timing")
DELIVERY_HEADER = "webhook-delivery"
ABORT_MESSAGE = "abort-message"
TARGET_GONE = "target_gone"

_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_SERVER_ERRORS = range(500, 600)
_GONE = 410
_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
_PERMANENT_SERVER_ERRORS = frozenset({501, 505})


class Failure(StrEnum):
    """Why an attempt got no answer: a closed set, so that tenants learn nothing about the network they call from."""

    DNS_ERROR = "dns_error"
    TARGET_BLOCKED = "target_blocked"
    CONNECT_ERROR = "connect_error"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS_ERROR = "tls_error"
    TIMEOUT = "timeout"
    PROTOCOL_ERROR = "protocol_error"
    RESPONSE_TOO_LARGE = "response_too_large"
    QUEUE_ACCESS_DENIED = "queue_access_denied"
    QUEUE_MISSING = "queue_missing"
    QUEUE_REFUSED = "queue_refused"  # the message: too large for this queue, say
    QUEUE_UNAVAILABLE = "queue_unavailable"
    PAYLOAD_MISSING = "payload_missing"  # the upload that the job refers to
    PAYLOAD_UNAVAILABLE = "payload_unavailable"
    CANCELLED = "cancelled"  # by the tenant, while the call was under way


_PERMANENT_FAILURES = frozenset(
    {
        Failure.TARGET_BLOCKED,
        Failure.CANCELLED,
        Failure.QUEUE_ACCESS_DENIED,
        Failure.QUEUE_MISSING,
        Failure.QUEUE_REFUSED,
        Failure.PAYLOAD_MISSING,
    }
)


class Verdict(StrEnum):
    """What an outcome means for the run."""

    SUCCEEDED = "succeeded"
    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    GONE = "gone"  # permanent, and the job is paused: the target said that it will not come back


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call to make, ready to be sent: the headers are signed over exactly these body bytes.

    Attributes:
        method: GET, POST, PUT, PATCH, DELETE or HEAD.
        url: as the tenant gave it; it is checked again before it is used.
        headers: (name, value) pairs in ASCII. Host, Content-Length and whatever else frames the message are the
            caller's business and are refused here.
        body: the bytes to send, or None for no body.
        destinations: where the tenant lets its jobs call.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    destinations: Destinations = ANYWHERE


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A message to send to a queue: the attributes are signed over exactly this body.

    Attributes:
        tenant: whose job it is: to the tenant the queue has to be open.
        queue_url: as the tenant gave it; it is checked again before it is used.
        attributes: (name, value) pairs, each a text; at most ten.
        body: the text of the message, not empty.
        group: within which a FIFO queue keeps the order.
        deduplication: by which a FIFO queue knows, for five minutes, what it has had.
    """

    tenant: str
    queue_url: str
    attributes: tuple[tuple[str, str], ...]
    body: str
    group: str
    deduplication: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt: an answer with its status, or a failure with its code, never both.

    Attributes:
        started_ms: when the attempt began, epoch ms.
        duration_ms: how long it took.
        status: the final status of the answer, or None if there was none.
        failure: why there was none, or None.
        headers: the kept headers of the answer (`KEPT_HEADERS`), names in lower case.
        excerpt: the beginning of the answer's body as text, at most `MOST_EXCERPT_BYTES` of UTF-8.
        truncated: whether the body was longer than the excerpt.
        retry_after: the text of the Retry-After header, unread.
        abort: whether the target asked not to be tried again (`webhook-delivery: abort-message`).
    """

    started_ms: int
    duration_ms: int
    status: int | None = None
    failure: Failure | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    excerpt: str = ""
    truncated: bool = False
    retry_after: str | None = None
    abort: bool = False

    def __post_init__(self) -> None:
        if (self.status is None) == (self.failure is None):
            raise ValueError("an outcome has a status or a failure, and not both")

    @property
    def kind(self) -> str:
        """`answered` or `failed`."""
        return "failed" if self.status is None else "answered"


def answered(
    *,
    status: int,
    headers: Collection[tuple[str, str]] = (),
    body: bytes = b"",
    truncated: bool = False,
    started_ms: int,
    duration_ms: int,
) -> Outcome:
    """The outcome of a call that was answered.

    Args:
        status: the final status.
        headers: all headers of the answer; what is kept of them is chosen here. Of repeated ones the first counts.
        body: what was read of the body.
        truncated: whether there was more.
        started_ms: when the attempt began, epoch ms.
        duration_ms: how long it took.
    """
    by_name: dict[str, str] = {}
    for name, value in headers:
        by_name.setdefault(name.lower(), value)
    excerpt = _excerpt(body)
    return Outcome(
        started_ms=started_ms,
        duration_ms=duration_ms,
        status=status,
        headers={name: _kept_value(by_name[name]) for name in KEPT_HEADERS if name in by_name},
        excerpt=excerpt,
        truncated=truncated or len(body) > MOST_EXCERPT_BYTES,
        retry_after=by_name.get("retry-after"),
        abort=by_name.get(DELIVERY_HEADER, "").strip().lower() == ABORT_MESSAGE,
    )


def failed(failure: Failure, *, started_ms: int, duration_ms: int) -> Outcome:
    """The outcome of a call that got no answer."""
    return Outcome(started_ms=started_ms, duration_ms=duration_ms, failure=failure)


def classify(outcome: Outcome, retry_on: Collection[int] | None = None) -> Verdict:
    """What an outcome means for the run.

    Args:
        outcome: of one attempt.
        retry_on: the statuses that the job retries, in place of the usual ones; None for the usual ones. Failures
            without an answer do not depend on it.
    """
    if outcome.status is None:
        return Verdict.PERMANENT if outcome.failure in _PERMANENT_FAILURES else Verdict.RETRYABLE
    if outcome.status in _SUCCESS:
        return Verdict.SUCCEEDED
    if outcome.abort:
        return Verdict.PERMANENT
    return _classify_status(outcome.status, retry_on)


def _classify_status(status: int, retry_on: Collection[int] | None) -> Verdict:
    if _is_protocol_error(status):
        return Verdict.RETRYABLE
    if status in (_RETRYABLE if retry_on is None else retry_on):
        return Verdict.RETRYABLE
    return Verdict.GONE if status == _GONE else Verdict.PERMANENT


def error_code(outcome: Outcome) -> str | None:
    """The word for what went wrong in one attempt, as tenants see it; None if it succeeded.

    One of `Failure`, `redirect_not_followed`, `target_gone`, `aborted_by_target` or `http_status` (any other status).
    """
    if outcome.status is None or _is_protocol_error(outcome.status):
        return str(outcome.failure or Failure.PROTOCOL_ERROR)
    if outcome.status in _SUCCESS:
        return None
    if outcome.abort:
        return "aborted_by_target"
    if outcome.status == _GONE:
        return TARGET_GONE
    return "redirect_not_followed" if outcome.status in _REDIRECTS else "http_status"


_RETRYABLE = _RETRYABLE_STATUSES | (frozenset(_SERVER_ERRORS) - _PERMANENT_SERVER_ERRORS)


def _is_protocol_error(status: int) -> bool:
    """A final 1xx, or a status outside HTTP's classes: the peer does not speak HTTP as agreed."""
    return not _SUCCESS.start <= status < _SERVER_ERRORS.stop


def _excerpt(body: bytes) -> str:
    text = body[:MOST_EXCERPT_BYTES].decode("utf-8", "replace")
    # A replacement sign is longer than the byte it stands for.
    return text.encode()[:MOST_EXCERPT_BYTES].decode("utf-8", "ignore")


def _kept_value(value: str) -> str:
    return "".join(c if " " <= c <= "~" else "?" for c in value[:MOST_KEPT_VALUE_CHARACTERS])
