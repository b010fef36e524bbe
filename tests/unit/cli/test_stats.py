"""`carillon stats`: what it asks for, and what it shows."""

import json
import time
from collections.abc import Callable
from itertools import count

import pytest
from click.testing import Result

from carillon.domain.instants import DAY_MS, HOUR_MS, format_instant, parse_instant
from carillon.domain.run import RunState
from carillon.domain.statistics import Ending, Told
from carillon.ports.statistics import QueueFigures
from support.loopback import Service

Run = Callable[..., Result]
_events = count(1)


@pytest.fixture(autouse=True)
def some_runs(service: Service) -> int:
    """Runs of the present hour; its beginning, epoch ms."""
    world = service.api.world
    now_ms = time.time_ns() // 1_000_000
    world.clock.advance(now_ms - world.clock.now_ms())
    done = [Ending("acme", RunState.SUCCEEDED, None, now_ms, attempts=1, lateness_ms=400)] * 3
    dead = Ending("acme", RunState.DEAD_LETTERED, "http_status", now_ms, attempts=1, lateness_ms=2_000)
    world.statistics.count([Told(f"event-{next(_events)}", each) for each in (*done, dead)])
    world.gauges.figures = {"high": QueueFigures(2, 1, 0, 7), "normal": QueueFigures(1, 0, 0, None)}
    return now_ms - now_ms % HOUR_MS


def test_programs_get_the_answer(carillon: Run) -> None:
    """As the interface gives it."""
    found = json.loads(carillon("stats", "--json").stdout)
    assert (found["runs"]["total"], found["success_share"]) == (4, 0.75)


def test_people_get_lines(carillon: Run) -> None:
    """Counts with their reasons, bounds of lateness, queues; and what is not known is said."""
    told = carillon("stats")
    lines = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in told.stdout.splitlines()}
    assert (lines["runs"], lines["succeeded"], lines["success"]) == ("4", "3", "75.00%")
    assert lines["dead_lettered"] == "1 (1 http_status)"
    assert (lines["lateness p50"], lines["lateness p99"]) == ("at most 400 ms", "at most 2.0 s")
    assert lines["high"].split() == ["2", "1", "0", "7", "s"]
    assert "/queues/normal/oldest_age_seconds" in told.stderr
    assert "HOUR" not in told.stdout


def test_hours(carillon: Run, some_runs: int) -> None:
    """Each by itself."""
    lines = carillon("stats", "--hours").stdout.splitlines()
    (present,) = [line.split() for line in lines if line.startswith(format_instant(some_runs))]
    assert present[1:7] == ["4", "3", "1", "0", "0", "4"]


def test_how_long_ago(carillon: Run) -> None:
    """Typed durations are counted back from now; instants go as they are."""
    found = json.loads(carillon("stats", "--since", "3d", "--until", "1d", "--json").stdout)
    assert parse_instant(found["until"]) - parse_instant(found["since"]) in (2 * DAY_MS, 2 * DAY_MS + HOUR_MS)
    refused = carillon("stats", "--since", "1999-01-01T00:00:00Z")
    assert (refused.exit_code, "seven" in refused.stderr or "7 days" in refused.stderr) == (1, True)
