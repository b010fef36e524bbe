"""Completing an attempt later: the token that allows it, what is reported, and what that means for the run.

A token belongs to one attempt of one run. It is 256 random bits that only the target is given; stored is its digest,
with the attempt. So it works as a fencing token: whoever holds that of an older attempt can be told so, and changes
nothing.
"""

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from carillon.domain.run import Attempt, Run

TOKEN_PREFIX = "crt_"  # noqa: S105 - the beginning of a token, no secret
TOKEN_BYTES = 32
ACCEPTED = 202
MOST_RESULT_BYTES = 4 * 1024
FAILED_BY_TARGET = "failed_by_target"
HEARTBEAT_TIMEOUT = "heartbeat_timeout"
COMPLETION_TIMEOUT = "completion_timeout"


class Report(StrEnum):
    """What is said of an attempt, as it is kept: `failed_for_good` is a failure that is not to be tried again."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FAILED_FOR_GOOD = "failed_for_good"


class Standing(StrEnum):
    """Where an attempt stands towards whoever reports of it."""

    OPEN = "open"
    STALE = "stale"  # it has ended, and the run has gone on
    ENDED = "ended"  # it has ended, and the run with it
    NOT_ASKED = "not_asked"  # nobody is to complete it


@dataclass(frozen=True, slots=True)
class Completed:
    """A report of an attempt. `result`: JSON text of at most `MOST_RESULT_BYTES`, or None."""

    report: Report
    result: str | None = None


def new_token(random_bytes: bytes) -> str:
    """The token of an attempt, from `TOKEN_BYTES` bytes of a cryptographic source."""
    return TOKEN_PREFIX + urlsafe_b64encode(random_bytes).rstrip(b"=").decode("ascii")


def token_digest(token: str) -> str:
    """What is stored of a token: its SHA-256, which is right for 256 random bits."""
    return urlsafe_b64encode(sha256(token.encode("utf-8", "replace")).digest()).rstrip(b"=").decode("ascii")


def attempt_of(run: Run, token: str) -> Attempt | None:
    """The attempt that a token was given to, or None. All are compared, each in constant time."""
    digest, found = token_digest(token), None
    for attempt in run.attempts:
        if hmac.compare_digest(attempt.token_digest or "", digest):
            found = attempt
    return found


def standing(run: Run, attempt: Attempt | None) -> Standing:
    """Where an attempt of a run stands; None: whoever asks means the run as it is, without a token."""
    if attempt is not None and attempt.number < run.attempt:
        return Standing.STALE
    if run.state.has_ended:
        return Standing.ENDED
    if run.may_be_completed:
        return Standing.OPEN
    return Standing.NOT_ASKED if attempt is None else Standing.STALE


def timeout_of(run: Run) -> str:
    """Which deadline of an awaited attempt has come."""
    return COMPLETION_TIMEOUT if run.next_fire_time == run.completion_until else HEARTBEAT_TIMEOUT
