"""The retry decision, as a table."""

import pytest

from carillon.domain.retry import LONGEST_RETRY_AFTER_MS, MAX_AGE_MS, GiveUp, Jitter, Retry, RetryPolicy, decide_retry

NOW_MS = 1_780_000_000_000
STEADY = RetryPolicy(max_attempts=5, base_ms=1_000, factor=2, max_delay_ms=60_000, jitter=Jitter.NONE)


def decide(policy: RetryPolicy = STEADY, **facts: object) -> Retry | GiveUp:
    """A decision with ordinary facts unless said."""
    usual = {
        "attempt": 1,
        "permanent": None,
        "retry_after_ms": None,
        "scheduled_for": NOW_MS,
        "now_ms": NOW_MS,
        "unit": 0.5,
    }
    return decide_retry(policy, **(usual | facts))  # type: ignore[arg-type]


@pytest.mark.parametrize(("attempt", "wait_ms"), [(1, 1_000), (2, 2_000), (3, 4_000), (4, 8_000)])
def test_waits_double(attempt: int, wait_ms: int) -> None:
    """Each wait is the last one times the factor."""
    assert decide(attempt=attempt) == Retry(NOW_MS + wait_ms)


def test_b161_the_last_attempt_waits_no_more() -> None:
    """B161: three attempts have two waits; the third failure is the end."""
    policy = RetryPolicy(max_attempts=3, jitter=Jitter.NONE)
    assert [type(decide(policy, attempt=n)) for n in (1, 2, 3)] == [Retry, Retry, GiveUp]


def test_waits_are_capped_however_late_the_attempt() -> None:
    """The longest delay holds, also where the power would overflow."""
    policy = RetryPolicy(max_attempts=100, max_delay_ms=60_000, factor=10, jitter=Jitter.NONE)
    assert decide(policy, attempt=99) == Retry(NOW_MS + 60_000)


@pytest.mark.parametrize(("unit", "wait_ms"), [(0.0, 0), (0.25, 1_000), (0.999, 3_996)])
def test_full_jitter_draws_from_the_whole_wait(unit: float, wait_ms: int) -> None:
    """With full jitter the third wait lies anywhere between nothing and 4 s."""
    assert decide(RetryPolicy(), attempt=3, unit=unit) == Retry(NOW_MS + wait_ms)


@pytest.mark.parametrize("unit", [0.0, 0.5, 0.99])
def test_b160_jitter_never_undercuts_the_servers_wish(unit: float) -> None:
    """B160: the wait is never below what the target asked for."""
    assert decide(RetryPolicy(), unit=unit, retry_after_ms=100_000) == Retry(NOW_MS + 100_000)


def test_a_huge_wish_is_capped() -> None:
    """B158: the target may ask for a day at most."""
    assert decide(retry_after_ms=99_999_999_999_000) == Retry(NOW_MS + LONGEST_RETRY_AFTER_MS)


@pytest.mark.parametrize(("attempt", "wait_ms"), [(1, 5_000), (2, 300_000), (3, 300_000)])
def test_explicit_delays_are_used_in_order(attempt: int, wait_ms: int) -> None:
    """The last explicit delay serves all later attempts."""
    assert decide(RetryPolicy(delays_ms=(5_000, 300_000)), attempt=attempt) == Retry(NOW_MS + wait_ms)


def test_a_permanent_failure_is_not_tried_again() -> None:
    """What cannot get better is given up with its own reason."""
    assert decide(permanent="target_gone") == GiveUp("target_gone")


def test_no_wait_ends_later_than_the_longest_age() -> None:
    """A retry that would start too late is given up now, not then."""
    assert decide(scheduled_for=NOW_MS - MAX_AGE_MS) == GiveUp("max_age")
