"""`carillon dead-letters`, and what `carillon runs` does to single runs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from carillon.domain.run import RunState

Run = Callable[..., Result]


@pytest.fixture
def dead(carillon: Run, service: Any) -> list[str]:
    """Three dead letters, the latest first."""
    carillon("jobs", "create", "--every", "1h", "--url", "https://svc.carillon.dev/")
    job_id, now_ms = next(iter(service.jobs)), service.api.world.clock.now_ms()
    ends = [now_ms - age_ms for age_ms in (1_000, 2_000, 3_000)]
    runs = [service.api.add_run(job_id, at, state=RunState.DEAD_LETTERED, attempt=1, ended_at=at) for at in ends]
    return [run.key.run_id for run in runs]


def test_dead_letters_are_listed(carillon: Run, dead: list[str]) -> None:
    """A line each, the latest first; of one job, since an instant, as JSON."""
    lines = carillon("dead-letters", "list").stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[run_id, "dead_lettered"] for run_id in dead]
    data = json.loads(carillon("dead-letters", "list", "--job", "job_x", "--json").stdout)["data"]
    assert data == []


def test_one_is_redriven(carillon: Run, dead: list[str]) -> None:
    """It waits for its next attempt; a second time it is refused with exit 1."""
    assert "retrying" in carillon("runs", "retry", dead[0]).stdout
    refused = carillon("runs", "retry", dead[0])
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "not_redrivable" in refused.stderr
    assert "cancelled" in carillon("runs", "cancel", dead[0]).stdout


def test_all_are_redriven_when_told_so(carillon: Run, dead: list[str]) -> None:
    """A dry run counts; without a filter or --all nothing is done."""
    assert carillon("dead-letters", "redrive").exit_code == 2
    assert carillon("dead-letters", "redrive", "--all", "--job", "job_x").exit_code == 2
    assert carillon("dead-letters", "redrive", "--all", "--dry-run").stdout == "3 would be redriven\n"
    made = json.loads(carillon("dead-letters", "redrive", "--all", "--json").stdout)
    assert made == {"redriven": len(dead), "refused": {}, "dry_run": False}
    assert carillon("dead-letters", "redrive", "--all").stdout == "0 redriven\n"
