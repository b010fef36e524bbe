"""For the receiver of callbacks: is this request really from the scheduler, and fresh?

Needs nothing but the standard library and no framework::

    from carillon.receiver import WebhookError, verify

    verify(SECRET, request.headers, request.body)   # raises WebhookError; answer 400 then

The same for a message that it has put into an SQS queue::

    verify(SECRET, message["MessageAttributes"], message["Body"])          # as SQS answers (ask for all attributes)
    verify(SECRET, record["messageAttributes"], record["body"])            # as a Lambda function gets it

The signature covers the message id, the timestamp and the body, not the method, the URL or other headers
(Standard Webhooks 1.0, scheme v1). A message may come more than once: `webhook-id` is the same each time.
"""

import binascii
import hmac
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE_SECONDS = 300
_PREFIX = "whsec_"
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


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
