"""Counts of runs by the hour: buckets of lateness, percentiles, sums, and which hours are meant."""

from itertools import pairwise

import pytest

from carillon.domain.instants import DAY_MS, HOUR_MS, format_instant, parse_instant
from carillon.domain.run import RunState
from carillon.domain.statistics import (
    BOUNDS_MS,
    KEPT_MS,
    BadWindowError,
    Ending,
    Tally,
    bound_of,
    hour_of,
    tally,
    total_of,
    window_of,
)

NOW = parse_instant("2026-11-30T12:34:56.789Z")
DEAD, DONE, SKIPPED = RunState.DEAD_LETTERED, RunState.SUCCEEDED, RunState.SKIPPED


def an_end(state: RunState = DONE, reason: str | None = None, **fields: int | None) -> Ending:
    """An ending."""
    return Ending("acme", state, reason, NOW, **fields)  # type: ignore[arg-type]  # the numbers of an ending


@pytest.mark.parametrize(
    ("lateness_ms", "bound"),
    [
        (-3, 10),
        (0, 10),
        (10, 10),
        (11, 20),
        (51, 100),
        (100, 100),
        (101, 125),
        (999, 1_000),
        (1_000, 1_000),
        (1_001, 1_250),
        (3_000, 3_150),
        (30_000, 31_500),
        (14 * DAY_MS, 1_250_000_000),
        (10**15, BOUNDS_MS[-1]),
    ],
)
def test_a_lateness_lies_in_the_bucket_whose_bound_it_does_not_pass(lateness_ms: int, bound: int) -> None:
    """The bound itself is within; what is later than all of them counts in the last one."""
    assert bound_of(lateness_ms) == bound


def test_bounds_are_close_enough() -> None:
    """They rise, and from 100 ms on each is at most 28 % above the one before."""
    assert list(BOUNDS_MS) == sorted(set(BOUNDS_MS))
    ratios = [after / before for before, after in pairwise(BOUNDS_MS) if before >= 100]
    assert max(ratios) <= 1.28


@pytest.mark.parametrize(
    ("lateness", "percent", "told"),
    [
        ([], 50, None),
        ([40], 99, 50),
        ([10] * 50 + [1_000] * 50, 50, 10),
        ([10] * 49 + [1_000] * 51, 50, 1_000),
        ([10] * 94 + [1_000] * 6, 95, 1_000),
        ([10] * 99 + [60_000], 99, 10),
        ([10] * 98 + [60_000] * 2, 99, 63_000),
        ([10] * 9 + [800], 95, 800),
    ],
)
def test_percentiles_are_the_bounds_of_their_buckets(lateness: list[int], percent: int, told: int | None) -> None:
    """By the nearest rank: never below the figure itself."""
    assert tally(an_end(lateness_ms=each) for each in lateness).percentile_ms(percent) == told


def test_endings_are_counted_by_state_and_reason() -> None:
    """A block of skipped occurrences counts as many; attempts add up."""
    counts = tally(
        [
            an_end(attempts=2),
            an_end(DEAD, "attempts_exhausted", attempts=5),
            an_end(DEAD, "http_status", attempts=1),
            an_end(DEAD, "http_status", attempts=1),
            an_end(SKIPPED, "misfire", runs=40),
        ]
    )
    assert (counts.total, counts.attempts) == (44, 9)
    assert [counts.of(state) for state in (DONE, DEAD, SKIPPED, RunState.CANCELLED)] == [1, 3, 40, 0]
    assert list(counts.reasons(DEAD).items()) == [("http_status", 2), ("attempts_exhausted", 1)]
    assert counts.reasons(DONE) == {}
    assert counts.success_share == 0.25


@pytest.mark.parametrize("endings", [[], [an_end(SKIPPED, "misfire")], [an_end(RunState.CANCELLED, "job_cancelled")]])
def test_without_success_and_failure_there_is_no_share(endings: list[Ending]) -> None:
    """What was skipped or cancelled neither succeeded nor failed."""
    assert tally(endings).success_share is None


def test_tallies_add_up() -> None:
    """Those of parts together are that of the whole."""
    endings = [an_end(lateness_ms=late, attempts=late) for late in (1, 20, 300)] + [an_end(DEAD, "max_age")] * 2
    assert total_of([tally(endings[:2]), Tally(), tally(endings[2:])]) == tally(endings)


@pytest.mark.parametrize(
    ("since", "until", "first", "end"),
    [
        pytest.param(None, None, "2026-11-29T13:00", "2026-11-30T13:00", id="a-day"),
        pytest.param("2026-11-30T10:59:59Z", None, "2026-11-30T10:00", "2026-11-30T13:00", id="since"),
        pytest.param(None, "2026-11-28T10:00:00Z", "2026-11-27T10:00", "2026-11-28T10:00", id="until"),
        pytest.param(None, "2026-11-28T10:00:00.001Z", "2026-11-27T11:00", "2026-11-28T11:00", id="within-an-hour"),
        pytest.param(None, "2031-01-01T00:00:00Z", "2026-11-29T13:00", "2026-11-30T13:00", id="yet-to-come"),
        pytest.param("2026-11-23T12:34:56.789Z", None, "2026-11-23T12:00", "2026-11-30T13:00", id="all"),
        pytest.param(None, "2026-11-24T00:00:00Z", "2026-11-23T12:00", "2026-11-24T00:00", id="as-far-as-kept"),
        pytest.param("2026-11-30T12:10:00Z", "2026-11-30T12:11:00Z", "2026-11-30T12:00", "2026-11-30T13:00", id="one"),
    ],
)
def test_windows_are_whole_hours(since: str | None, until: str | None, first: str, end: str) -> None:
    """Around what was asked for; a day by itself; never beyond the present hour."""
    window = window_of(since and parse_instant(since), until and parse_instant(until), NOW)  # type: ignore[arg-type]
    assert (format_instant(window.since)[:16], format_instant(window.until)[:16]) == (first, end)
    assert len(window.hours) == (window.until - window.since) // HOUR_MS


@pytest.mark.parametrize(
    ("since", "until", "field"),
    [
        pytest.param("2026-11-23T11:59:59Z", None, "since", id="too-long-ago"),
        pytest.param("2026-11-30T13:00:00Z", None, "since", id="yet-to-come"),
        pytest.param("2026-11-30T11:00:00Z", "2026-11-30T11:00:00Z", "since", id="empty"),
        pytest.param("2026-11-30T11:00:00Z", "2026-11-29T11:00:00Z", "since", id="backwards"),
        pytest.param(None, "2026-11-23T12:00:00Z", "until", id="ends-too-long-ago"),
    ],
)
def test_windows_that_have_no_statistics(since: str | None, until: str | None, field: str) -> None:
    """The bound at fault is named, with what it may be."""
    with pytest.raises(BadWindowError) as refused:
        window_of(since and parse_instant(since), until and parse_instant(until), NOW)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert refused.value.allowed


def test_whatever_can_be_asked_for_is_kept() -> None:
    """An hour is kept at least until no window reaches it any more."""
    oldest = window_of(NOW - 7 * DAY_MS, None, NOW).since
    assert hour_of(oldest) + KEPT_MS > NOW
