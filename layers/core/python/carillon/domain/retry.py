"""When a failed attempt is tried again, as a value.

The wait before attempt n+1 is `min(max_delay, base * factor^(n-1))`, drawn uniformly from [0, wait] with full jitter
(the form described in AWS's "Exponential backoff and jitter"), or the n-th of the explicit delays. What the target
asked for by `Retry-After` is a floor that jitter never undercuts.
"""

from dataclasses import dataclass
from enum import StrEnum

MOST_ATTEMPTS = 100
LONGEST_RETRY_AFTER_MS = 24 * 3600 * 1000
MAX_AGE_MS = 14 * 24 * 3600 * 1000
"""No attempt starts later than this after the nominal time: SQS itself keeps a message no longer."""


class Jitter(StrEnum):
    """How the wait is spread."""

    FULL = "full"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how far apart a run is tried. Times in ms."""

    max_attempts: int = 5
    base_ms: int = 1_000
    factor: float = 2.0
    max_delay_ms: int = 60_000
    jitter: Jitter = Jitter.FULL
    delays_ms: tuple[int, ...] = ()
    retry_on: tuple[int, ...] | None = None

    def backoff_ms(self, attempt: int, unit: float) -> int:
        """The wait after the given attempt (1-based), ms; `unit` in [0, 1) is the draw of the jitter."""
        if self.delays_ms:
            return self.delays_ms[min(attempt, len(self.delays_ms)) - 1]
        wait = min(float(self.max_delay_ms), self.base_ms * self.factor ** min(attempt - 1, 64))
        return round(wait * unit) if self.jitter is Jitter.FULL else round(wait)


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again, not before this instant (epoch ms)."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again; the reason is what the dead letter will say."""

    reason: str


def decide_retry(
    policy: RetryPolicy,
    *,
    attempt: int,
    permanent: str | None,
    retry_after_ms: int | None,
    scheduled_for: int,
    now_ms: int,
    unit: float,
) -> Retry | GiveUp:
    """What follows a failed attempt.

    Args:
        policy: the job's policy.
        attempt: the number of the attempt that failed, 1-based.
        permanent: the reason why no further attempt could help, or None.
        retry_after_ms: the wait that the target asked for, or None.
        scheduled_for: the nominal time of the run, epoch ms.
        now_ms: the present, epoch ms.
        unit: the draw of the jitter, in [0, 1).
    """
    if permanent is not None:
        return GiveUp(permanent)
    if attempt >= policy.max_attempts:
        return GiveUp("attempts_exhausted")
    asked = min(max(retry_after_ms or 0, 0), LONGEST_RETRY_AFTER_MS)
    at_ms = now_ms + max(policy.backoff_ms(attempt, unit), asked)
    if at_ms > scheduled_for + MAX_AGE_MS:
        return GiveUp("max_age")
    return Retry(at_ms)
