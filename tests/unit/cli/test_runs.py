"""`carillon runs`: what became of the occurrences."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from carillon.domain.identity import RunKey
from carillon.domain.instants import parse_instant
from carillon.domain.run import Attempt, RunState

Run = Callable[..., Result]
DUE = parse_instant("2026-10-12T02:30:00Z")
ATTEMPTS = (
    Attempt(1, DUE + 150, DUE + 1_000, status=503, error="http_503", excerpt="busy\x1b[31m"),
    Attempt(2, DUE + 2_000, DUE + 2_100, status=200, excerpt="ok"),
)


@pytest.fixture
def job(carillon: Run, service: Any) -> str:
    """A job."""
    carillon("jobs", "create", "--every", "1h", "--url", "https://svc.carillon.dev/")
    return next(iter(service.jobs))


@pytest.fixture
def runs(service: Any, job: str) -> list[str]:
    """Two runs of the job, newest first: one was skipped, one succeeded at the second try."""
    skipped = service.api.add_run(job, DUE + 3_600_000, state=RunState.SKIPPED, reason="misfire")
    succeeded = service.api.add_run(job, DUE, attempts=ATTEMPTS, attempt=2, lateness_ms=150)
    return [skipped.key.run_id, succeeded.key.run_id]


def test_runs_are_shown_as_a_table(carillon: Run, job: str, runs: list[str]) -> None:
    """State, lateness, attempts and the last result of each run stand on one line."""
    header, skipped, succeeded = carillon("runs", "list", job).stdout.splitlines()
    assert header.split() == ["RUN", "STATE", "REASON", "SCHEDULED", "FOR", "LATENESS", "ATTEMPTS", "LAST"]
    assert skipped.split() == [runs[0], "skipped", "misfire", "2026-10-12T03:30:00.000Z", "-", "0", "-"]
    assert succeeded.split() == [runs[1], "succeeded", "-", "2026-10-12T02:30:00.000Z", "150", "ms", "2", "200"]


def test_programs_get_what_the_service_says(carillon: Run, service: Any, job: str, runs: list[str]) -> None:
    """With --json the answers of the service come unchanged."""
    listed = json.loads(carillon("runs", "list", job, "--json").stdout)
    assert [run["id"] for run in listed["data"]] == runs
    for run_id in runs:
        assert (
            json.loads(carillon("runs", "get", run_id, "--json").stdout)
            == service.api.call("GET", f"/v1/runs/{run_id}").json
        )


def test_a_run_is_shown_with_its_attempts(carillon: Run, runs: list[str]) -> None:
    """The record first, then a line an attempt; what the target answered cannot steer the terminal."""
    shown = carillon("runs", "get", runs[1]).stdout
    assert "lateness  150 ms" in shown
    attempts = shown.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in attempts] == ["ATTEMPT", "1", "2"]
    assert "busy\\x1b[31m" in attempts[1]


@pytest.fixture
def awaited(service: Any, job: str) -> str:
    """A run whose target has answered 202."""
    attempts = (Attempt(1, DUE, status=202, token_digest="d" * 43),)
    waits = {"next_fire_time": DUE + 60_000, "heartbeat_ms": 60_000, "completion_until": DUE + 3_600_000}
    run = service.api.add_run(job, DUE, state=RunState.AWAITING_COMPLETION, attempt=1, attempts=attempts, **waits)
    return str(run.key.run_id)


@pytest.mark.parametrize(
    ("flags", "state", "result"),
    [
        ((), "succeeded", None),
        (("--result", '{"n": 30.40}'), "succeeded", '{"n": 30.40}'),
        (("--failed",), "retrying", None),
        (("--failed", "--no-retry"), "dead_lettered", None),
        (("--no-retry", "--result", "1"), "dead_lettered", "1"),
    ],
)
def test_a_run_is_completed(
    carillon: Run, service: Any, awaited: str, flags: tuple[str, ...], state: str, result: str | None
) -> None:
    """In place of its target, with the result to the letter."""
    completed = carillon("runs", "complete", awaited, *flags, "--json")
    assert completed.exit_code == 0, completed.output
    assert json.loads(completed.stdout)["state"] == state
    stored = service.api.world.runs.get(RunKey.parse(awaited))
    assert (stored.state, stored.attempts[0].result) == (state, result)


def test_a_sign_of_life_is_given(carillon: Run, awaited: str) -> None:
    """It says by when the next one is due."""
    shown = carillon("runs", "heartbeat", awaited)
    assert shown.exit_code == 0
    assert "heartbeat_due_at" in shown.stdout


def test_what_cannot_be_completed_says_why(carillon: Run, runs: list[str]) -> None:
    """The service's refusal; and a result that is no JSON is not even sent."""
    assert carillon("runs", "complete", runs[1]).exit_code == 1
    assert carillon("runs", "complete", runs[1], "--result", "nope").exit_code == 2
