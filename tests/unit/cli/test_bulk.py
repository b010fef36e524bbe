"""`carillon jobs bulk` and `carillon operations`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import Result

from carillon.domain.operations import OperationState
from support.api import Reply

Run = Callable[..., Result]


@pytest.fixture
def jobs(service: Any) -> list[str]:
    """Three jobs, two of them of a team."""
    names = {"nightly/a": {"team": "infra"}, "nightly/b": {"team": "infra"}, "weekly": {}}
    return [service.api.create(name=name, labels=labels)["id"] for name, labels in names.items()]


def ending(service: Any) -> Callable[[], Reply]:
    """A step of the script in which the operation comes to its end before it is looked at."""

    def step() -> Any:
        operations = service.api.world.state.operations
        for key, operation in operations.items():
            operations[key] = replace(operation, state=OperationState.SUCCEEDED, ended_at=operation.created_at)
        (operation,) = operations.values()
        return service.api.call("GET", f"/v1/operations/{operation.id}")

    return step


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        (("--label", "team=infra", "--label", "tier=1"), {"labels": {"team": "infra", "tier": "1"}}),
        (("--state", "paused", "--name-prefix", "nightly/"), {"state": "paused", "name_prefix": "nightly/"}),
        (("--all",), {}),
    ],
)
@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "trigger"])
def test_flags_become_a_filter(
    carillon: Run, service: Any, action: str, flags: tuple[str, ...], wanted: Mapping[str, Any]
) -> None:
    """What is given is sent under the interface's name; the operation is shown as it begins."""
    result = carillon("jobs", "bulk", action, *flags, "--no-wait", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(service.bodies[-1]) == {"action": action, "filter": wanted}
    assert json.loads(result.stdout)["state"] == "queued"


def test_it_waits_for_the_end(carillon: Run, service: Any, script: Any, jobs: list[str]) -> None:
    """It looks now and then until the operation has ended."""
    service.script.extend([script.PASS, script.PASS, ending(service)])
    result = carillon("jobs", "bulk", "pause", "--label", "team=infra")
    assert result.exit_code == 0
    assert "succeeded" in result.stdout
    assert "carillon operations cancel" in result.stderr
    assert len(jobs) == 3


def test_a_trial_counts(carillon: Run, service: Any, jobs: list[str]) -> None:
    """Nothing is begun, and refusals are told."""
    service.api.call("DELETE", f"/v1/jobs/{jobs[0]}")
    result = carillon("jobs", "bulk", "pause", "--name-prefix", "nightly/", "--dry-run")
    assert (result.exit_code, result.stdout) == (0, "1 of 3 jobs would be as pause leaves them\n")
    assert result.stderr == "1 not: job_finished\n"
    shown = json.loads(carillon("jobs", "bulk", "pause", "--all", "--dry-run", "--json").stdout)
    assert shown == {
        "action": "pause",
        "dry_run": True,
        "progress": {"walked": 3, "matched": 3, "done": 2, "refused": {"job_finished": 1}},
    }
    assert not service.api.world.state.operations


@pytest.mark.parametrize(
    "flags",
    [
        ("pause",),
        ("pause", "--all", "--state", "paused"),
        ("delete", "--all"),
        ("pause", "--label", "team"),
        ("pause", "--label", "a=1", "--label", "a=2"),
        ("pause", "--state", "new"),
    ],
)
def test_b265_usage(carillon: Run, service: Any, flags: tuple[str, ...]) -> None:
    """B265: nothing is asked for without saying which jobs; exit code 2."""
    result = carillon("jobs", "bulk", *flags)
    assert (result.exit_code, result.stdout) == (2, "")
    assert service.bodies == []


def test_operations_are_shown_watched_and_cancelled(carillon: Run, service: Any, script: Any) -> None:
    """By their ids; one that has ended cannot be cancelled: exit code 1."""
    operation = json.loads(carillon("jobs", "bulk", "pause", "--all", "--no-wait", "--json").stdout)
    assert json.loads(carillon("operations", "get", operation["id"], "--json").stdout) == operation
    assert "queued" in carillon("operations", "get", operation["id"]).stdout
    service.script.extend([script.PASS, ending(service)])
    watched = json.loads(carillon("operations", "watch", operation["id"], "--json").stdout)
    assert watched["state"] == "succeeded"
    refused = carillon("operations", "cancel", operation["id"])
    assert refused.exit_code == 1
    other = json.loads(carillon("jobs", "bulk", "pause", "--all", "--no-wait", "--json").stdout)
    assert json.loads(carillon("operations", "cancel", other["id"], "--json").stdout)["state"] == "cancelled"
    assert carillon("operations", "get", "op_none").exit_code == 1


def test_a_repeat_under_a_key_is_the_same_operation(carillon: Run, service: Any) -> None:
    """It is not begun twice."""
    flags = ("jobs", "bulk", "pause", "--all", "--no-wait", "--idempotency-key", "k1", "--json")
    assert carillon(*flags).stdout == carillon(*flags).stdout
    assert len(service.api.world.state.operations) == 1
