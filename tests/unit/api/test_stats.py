"""`GET /v1/stats`: what became of a tenant's runs, and what waits in the queues."""

import pytest

from carillon.domain.instants import HOUR_MS, format_instant
from carillon.domain.run import RunState
from carillon.domain.statistics import Ending, Told, hour_of
from carillon.ports.statistics import QueueFigures
from support.api import ApiUnderTest, Json, assert_refused

DONE, DEAD = RunState.SUCCEEDED, RunState.DEAD_LETTERED


def count(api: ApiUnderTest, *endings: Ending) -> None:
    """Count endings."""
    known = len(api.world.state.endings)
    api.world.statistics.count([Told(f"event-{known + number}", each) for number, each in enumerate(endings)])


def stats(api: ApiUnderTest, **query: str) -> Json:
    """The answer, which must be one."""
    reply = api.call("GET", "/v1/stats", query=query)
    assert reply.status == 200, reply.text
    return reply.json


def test_nothing_yet(api: ApiUnderTest) -> None:
    """A day of empty hours, the present one included; what has no figure is null."""
    now_ms = api.world.clock.now_ms()
    found = stats(api)
    assert (found["since"], found["until"]) == (
        format_instant(hour_of(now_ms) - 23 * HOUR_MS),
        format_instant(hour_of(now_ms) + HOUR_MS),
    )
    assert found["runs"] == {"total": 0, "succeeded": 0, "dead_lettered": 0, "cancelled": 0, "skipped": 0}
    assert (found["success_share"], found["attempts"]) == (None, 0)
    assert found["lateness_ms"] == {"count": 0, "p50": None, "p95": None, "p99": None}
    assert len(found["hours"]) == 24
    assert found["reasons"] == {"dead_lettered": {}, "cancelled": {}, "skipped": {}}


def test_what_ended_is_told_together_and_by_the_hour(api: ApiUnderTest) -> None:
    """Counts, reasons, attempts, the share of success and the lateness of first attempts."""
    now_ms = api.world.clock.now_ms()
    count(
        api,
        *(Ending("acme", DONE, None, now_ms, attempts=1, lateness_ms=late) for late in (40, 60, 700)),
        Ending("acme", DEAD, "attempts_exhausted", now_ms - HOUR_MS, attempts=5, lateness_ms=2_000),
        Ending("acme", RunState.SKIPPED, "misfire", now_ms - HOUR_MS, runs=12),
        Ending("acme", RunState.CANCELLED, "run_cancelled", now_ms - 30 * HOUR_MS),
        Ending("globex", DONE, None, now_ms, attempts=1),
    )
    found = stats(api)
    assert found["runs"] == {"total": 16, "succeeded": 3, "dead_lettered": 1, "cancelled": 0, "skipped": 12}
    assert found["reasons"] == {
        "dead_lettered": {"attempts_exhausted": 1},
        "cancelled": {},
        "skipped": {"misfire": 12},
    }
    assert (found["success_share"], found["attempts"]) == (0.75, 8)
    assert found["lateness_ms"] == {"count": 4, "p50": 100, "p95": 2_000, "p99": 2_000}
    *_, before, last = found["hours"]
    assert (before["hour"], before["runs"]["total"]) == (format_instant(hour_of(now_ms - HOUR_MS)), 13)
    assert (last["runs"]["total"], last["attempts"], last["lateness_ms"]["p50"]) == (3, 3, 100)


def test_a_window_is_widened_to_whole_hours(api: ApiUnderTest) -> None:
    """The answer says which hours they are."""
    now_ms = api.world.clock.now_ms()
    count(api, Ending("acme", DONE, None, hour_of(now_ms - 30 * HOUR_MS)))
    window = {"since": format_instant(now_ms - 30 * HOUR_MS), "until": format_instant(now_ms - 29 * HOUR_MS)}
    found = stats(api, **window)
    assert [hour["hour"] for hour in found["hours"]] == [
        format_instant(hour_of(now_ms) - hours * HOUR_MS) for hours in (30, 29)
    ]
    assert found["runs"]["succeeded"] == 1


@pytest.mark.parametrize(
    ("query", "where", "code"),
    [
        pytest.param({"since": "yesterday"}, "since", "invalid_value", id="no-instant"),
        pytest.param({"until": "2026-10-12T02:30:00"}, "until", "invalid_value", id="without-an-offset"),
        pytest.param({"since": "1999-01-01T00:00:00Z"}, "since", "out_of_range", id="too-long-ago"),
        pytest.param({"until": "1999-01-01T00:00:00Z"}, "until", "out_of_range", id="ended-too-long-ago"),
        pytest.param({"since": "2099-01-01T00:00:00Z"}, "since", "out_of_range", id="yet-to-come"),
        pytest.param("since=a&since=b", "since", "repeated", id="twice"),
        pytest.param({"day": "today"}, "day", "unknown_parameter", id="unknown"),
    ],
)
def test_windows_that_cannot_be(api: ApiUnderTest, query: dict[str, str] | str, where: str, code: str) -> None:
    """The parameter at fault is named."""
    assert_refused(api.call("GET", "/v1/stats", query=query), 422, {(where, code)})


def test_queues(api: ApiUnderTest) -> None:
    """Their figures are the stage's; what cannot be known is null, and named."""
    api.world.gauges.figures = {"high": QueueFigures(3, 0, 1, 7), "low": QueueFigures(2, 5, 0, None)}
    found = stats(api)
    assert found["queues"]["high"] == {"waiting": 3, "delayed": 0, "in_flight": 1, "oldest_age_seconds": 7}
    assert found["queues"]["low"]["oldest_age_seconds"] is None
    assert found["unknown"] == ["/queues/low/oldest_age_seconds"]
