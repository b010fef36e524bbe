"""`carillon runs`: what became of the occurrences."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
JOB = "job_00000000000000000000000000"
ATTEMPTS = [
    {
        "number": 1,
        "started_at": "2026-10-12T02:30:00.150Z",
        "ended_at": "2026-10-12T02:30:01.000Z",
        "status": 503,
        "error": "http_503",
        "response_excerpt": "busy\x1b[31m",
    },
    {
        "number": 2,
        "started_at": "2026-10-12T02:30:02.000Z",
        "ended_at": "2026-10-12T02:30:02.100Z",
        "status": 200,
        "error": None,
        "response_excerpt": "ok",
    },
]


@pytest.fixture
def runs(carillon: Run, service: Any) -> list[str]:
    """Two runs of a job: one that succeeded at the second try, one that was skipped."""
    carillon("jobs", "create", "--every", "1h", "--url", "https://svc.example.com/")
    common = {"job_id": JOB, "scheduled_for": "2026-10-12T02:30:00.000Z", "reason": None}
    names = [f"{JOB}@20261012T023000000Z", f"{JOB}@20261012T023000000Z~AB12"]
    service.runs[names[0]] = {
        "id": names[0],
        **common,
        "state": "succeeded",
        "attempts": ATTEMPTS,
        "lateness_ms": 150,
    }
    service.runs[names[1]] = {
        "id": names[1],
        **common,
        "state": "skipped",
        "reason": "misfire",
        "attempts": [],
        "lateness_ms": None,
    }
    return names


def test_runs_are_shown_as_a_table(carillon: Run, runs: list[str]) -> None:
    """State, lateness, attempts and the last result of each run stand on one line."""
    header, first, second = carillon("runs", "list", JOB).stdout.splitlines()
    assert header.split() == ["RUN", "STATE", "REASON", "SCHEDULED", "FOR", "LATENESS", "ATTEMPTS", "LAST"]
    assert first.split() == [runs[0], "succeeded", "-", "2026-10-12T02:30:00.000Z", "150", "ms", "2", "200"]
    assert second.split() == [runs[1], "skipped", "misfire", "2026-10-12T02:30:00.000Z", "-", "0", "-"]


def test_programs_get_what_the_service_says(carillon: Run, service: Any, runs: list[str]) -> None:
    """With --json the answers of the service come unchanged."""
    listed = json.loads(carillon("runs", "list", JOB, "--json").stdout)
    assert [run["id"] for run in listed["data"]] == runs
    for run_id in runs:
        assert json.loads(carillon("runs", "get", run_id, "--json").stdout) == service.runs[run_id]


def test_a_run_is_shown_with_its_attempts(carillon: Run, runs: list[str]) -> None:
    """The record first, then a line an attempt; what the target answered cannot steer the terminal."""
    shown = carillon("runs", "get", runs[0]).stdout
    assert "lateness  150 ms" in shown
    attempts = shown.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in attempts] == ["ATTEMPT", "1", "2"]
    assert "busy\\x1b[31m" in attempts[1]
