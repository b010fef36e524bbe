"""For the receiver of callbacks: is this request really from the scheduler, and fresh? And how did its work go?

Needs nothing but the standard library and no framework::

    from carillon.receiver import WebhookError, verify

    verify(SECRET, request.headers, request.body)   # raises WebhookError; answer 400 then

The same for a message that it has put into an SQS queue::

    verify(SECRET, message["MessageAttributes"], message["Body"])          # as SQS answers (ask for all attributes)
    verify(SECRET, record["messageAttributes"], record["body"])            # as a Lambda function gets it

The signature covers the message id, the timestamp and the body, not the method, the URL or other headers
(Standard Webhooks 1.0, scheme v1). A message may come more than once: `webhook-id` is the same each time.

The call of a target with `completion` may be answered with 202 and completed later::

    completion = Completion.of(request.headers, api_url="https://api.carillon.example.com")
    ...                                             # now and then: completion.heartbeat()
    completion.succeeded({"rows": 1200})            # or completion.failed("disk full", retry=False)
"""

import binascii
import hmac
import json
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOLERANCE_SECONDS = 300
_PREFIX = "whsec_"
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


REPORT_SECONDS = 10.0


class WebhookError(Exception):
    """The request must not be believed. The message says why and repeats nothing of the request or the secrets."""


def verify(
    secrets: str | Sequence[str],
    headers: Mapping[str, Any],
    body: bytes | str,
    now_seconds: float | None = None,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> None:
    """Check the signature of a callback or of a queue's message; returning is the proof.

    Args:
        secrets: the signing secret (`whsec_…`), or several while they rotate; any may match.
        headers: of the request, or the attributes of the message as SQS or an event of Lambda gives them; names are
            compared without case.
        body: the raw bytes of the request, empty if it has none, or the text of the message. Never parsed and
            serialised again.
        now_seconds: the present, Unix seconds; the system's clock if not given.
        tolerance_seconds: how far the timestamp may be from the present, either way.

    Raises:
        WebhookError: a header is missing or malformed, the timestamp is too far away, or no signature matches.
    """
    by_name = {name.lower(): _text(value) for name, value in headers.items()}
    message_id = _header(by_name, "webhook-id")
    timestamp = _header(by_name, "webhook-timestamp")
    tokens = _header(by_name, "webhook-signature").split(" ")
    _check_time(timestamp, time.time() if now_seconds is None else now_seconds, tolerance_seconds)
    signed = f"{message_id}.{timestamp}.".encode() + (body.encode() if isinstance(body, str) else body)
    expected = [_signature(secret, signed) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not _any_matches(expected, tokens):
        raise WebhookError("no signature matches")


def _text(value: Any) -> str | None:
    """The text of a header, or of an attribute: `StringValue` in SQS's answers, `stringValue` in Lambda's events."""
    if isinstance(value, Mapping):
        value = value.get("StringValue", value.get("stringValue"))
    return value if isinstance(value, str) else None


def _header(by_name: Mapping[str, str | None], name: str) -> str:
    value = by_name.get(name)
    if not value:
        raise WebhookError(f"the header {name} is missing")
    return value


def _check_time(timestamp: str, now_seconds: float, tolerance_seconds: float) -> None:
    if not _TIMESTAMP.fullmatch(timestamp):
        raise WebhookError("webhook-timestamp is not a number of seconds")
    if abs(now_seconds - int(timestamp)) > tolerance_seconds:
        raise WebhookError("webhook-timestamp is too far from the present")


def _signature(secret: str, signed: bytes) -> bytes:
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise WebhookError("a secret is not whsec_ followed by base64")
    return b64encode(hmac.digest(key, signed, "sha256"))


def _any_matches(expected: Sequence[bytes], tokens: Sequence[str]) -> bool:
    """Whether any v1 token is one of the expected; tokens of other versions or shapes are passed over."""
    found = False
    for token in tokens:
        version, _, signature = token.partition(",")
        for candidate in expected if version == "v1" else ():
            found |= hmac.compare_digest(candidate, signature.encode("utf-8", "replace"))
    return found


class CompletionError(Exception):
    """A report was not taken.

    Attributes:
        status: the HTTP status of the refusal; None if there was no answer, and the report may be repeated.
        code: why, such as `stale_attempt` or `run_ended`: then the work is to be stopped.
    """

    def __init__(self, status: int | None, code: str) -> None:
        super().__init__(f"the report was not taken: {code}")
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Completion:
    """The means to complete one attempt later. All of it may be stored; `token` is a secret until the attempt ends.

    A report that got no answer may be repeated as it is. An answer of 409 or 401 means that nobody waits for it.
    """

    url: str
    token: str = field(repr=False)

    @classmethod
    def of(cls, headers: Mapping[str, str], api_url: str | None = None) -> "Completion":
        """The means in a callback's headers. Verify the request first: headers are not signed.

        Args:
            headers: of the request; names are compared without case.
            api_url: where the scheduler's API is known to be: another address in the headers is refused.

        Raises:
            WebhookError: the callback cannot be completed later, or names another address.
        """
        by_name = {name.lower(): value for name, value in headers.items()}
        url = _header(by_name, "carillon-completion-url")
        if not url.startswith(("https://", "http://")) or not url.endswith("/complete"):
            raise WebhookError("carillon-completion-url is no address to complete at")
        if api_url is not None and not url.startswith(f"{api_url.rstrip('/')}/v1/runs/"):
            raise WebhookError("carillon-completion-url is not of the API that is known")
        return cls(url, _header(by_name, "carillon-completion-token"))

    def heartbeat(self) -> dict[str, Any]:
        """Give a sign of life; returns where the run stands.

        Raises:
            CompletionError: it was not taken.
        """
        return self._report(f"{self.url.removesuffix('complete')}heartbeat", None)

    def succeeded(self, result: Any = None) -> dict[str, Any]:
        """Report success, with a result (JSON of up to 4 KiB) for whoever looks at the run.

        Raises:
            CompletionError: it was not taken.
        """
        return self._report(self.url, {"outcome": "succeeded", "result": result})

    def failed(self, result: Any = None, *, retry: bool = True) -> dict[str, Any]:
        """Report a failure. `retry`: whether it is tried again by the job's rules.

        Raises:
            CompletionError: it was not taken.
        """
        return self._report(self.url, {"outcome": "failed", "retry": retry, "result": result})

    def _report(self, url: str, document: Mapping[str, Any] | None) -> dict[str, Any]:
        from urllib import error, request  # noqa: PLC0415 - who only verifies needs no client

        headers = {"Authorization": f"Bearer {self.token}"}
        body = b""
        if document is not None:
            body = json.dumps(document).encode()
            headers["Content-Type"] = "application/json"
        asked = request.Request(url, body, headers, method="POST")  # noqa: S310 - `of` has checked the scheme
        try:
            with request.urlopen(asked, timeout=REPORT_SECONDS) as answer:  # noqa: S310 - likewise
                state: dict[str, Any] = json.load(answer)
        except error.HTTPError as refused:
            with refused:
                raise CompletionError(refused.code, _code_in(refused.read(_MOST_PROBLEM_BYTES))) from None
        except (OSError, ValueError) as broken:
            raise CompletionError(None, "no_answer") from broken
        return state


_MOST_PROBLEM_BYTES = 64 * 1024


def _code_in(problem: bytes) -> str:
    """The code of a problem document, or a word for what is none."""
    try:
        code = json.loads(problem)["code"]
    except (ValueError, KeyError, TypeError):
        code = None
    return code if isinstance(code, str) else "unknown"
