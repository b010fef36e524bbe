"""`carillon jobs update`: from flags to a merge patch, of the revision that was seen."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
URL = "https://svc.carillon.dev/hook"


@pytest.fixture
def job_id(carillon: Run, service: Any) -> str:
    """A job with something to change everywhere."""
    flags = ("--cron", "0 2 * * *", "--timezone", "Asia/Kolkata", "--header", "X-A: 1", "--label", "team=infra")
    made = carillon("jobs", "create", "--url", URL, "--name", "nightly", "--payload", "[1.50]", *flags, "--json")
    assert made.exit_code == 0, made.stderr
    service.bodies.clear()
    return str(json.loads(made.stdout)["id"])


@pytest.mark.parametrize(
    ("flags", "sent"),
    [
        (("--name", "daily"), {"name": "daily"}),
        (("--every", "90m", "--max-runs", "3"), {"schedule": {"every": "PT1H30M", "max_runs": 3}}),
        (
            ("--cron", "0 3 * * *", "--timezone", "Europe/Berlin"),
            {"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}},
        ),
        (
            ("--url", f"{URL}/2", "--timeout", "30s"),
            {"target": {"type": "http", "url": f"{URL}/2", "timeout": "PT30S"}},
        ),
        (("--header", "X-B: 2", "--method", "put"), {"target": {"method": "PUT", "headers": {"X-B": "2"}}}),
        (("--priority", "high", "--window", "10m"), {"priority": "high", "window": "PT10M"}),
        (("--misfire", "skip", "--misfire-grace", "5s"), {"misfire_policy": "skip", "misfire_grace": "PT5S"}),
        (("--label", "tier=1", "--unset", "labels/team"), {"labels": {"tier": "1", "team": None}}),
        (("--unset", "deadline", "--unset", "name"), {"deadline": None, "name": None}),
        (("--unset", "target/headers/X-A"), {"target": {"headers": {"X-A": None}}}),
        (("--unset", "labels"), {"labels": None}),
        (("--payload", "null"), {"payload": None}),
    ],
)
def test_flags_become_a_patch(
    carillon: Run, service: Any, job_id: str, flags: tuple[str, ...], sent: dict[str, Any]
) -> None:
    """What is given is sent under the interface's name, and nothing else."""
    result = carillon("jobs", "update", job_id, *flags, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(service.bodies[-1]) == sent
    assert json.loads(result.stdout) == service.jobs[job_id]
    assert service.jobs[job_id]["revision"] == 2


def test_another_number_of_attempts_leaves_the_rest_of_the_retries(carillon: Run, service: Any, job_id: str) -> None:
    """`retry` is replaced whole by the interface; the flag for one member of it keeps the others."""
    carillon("jobs", "update", job_id, "--from-file", "-", stdin='{"retry": {"base": "PT7S", "jitter": "none"}}')
    assert carillon("jobs", "update", job_id, "--max-attempts", "2").exit_code == 0
    retry = service.jobs[job_id]["retry"]
    assert (retry["max_attempts"], retry["base"], retry["jitter"]) == (2, "PT7S", "none")


def test_a_payload_and_a_file_are_sent_to_the_letter(carillon: Run, service: Any, job_id: str) -> None:
    """B202: numbers keep their digits."""
    assert carillon("jobs", "update", job_id, "--payload", "[30.40, 1E2]").exit_code == 0
    assert service.bodies[-1] == b'{"payload": [30.40, 1E2]}'
    patch = '{ "payload": [0.10] }'
    assert carillon("jobs", "update", job_id, "--from-file", "-", stdin=patch).exit_code == 0
    assert service.bodies[-1] == patch.encode()


def test_a_change_is_of_the_revision_that_was_seen(carillon: Run, service: Any, script: Any, job_id: str) -> None:
    """Somebody who was faster is not overwritten, unless that is wanted."""

    def somebody_else() -> Any:
        read = service.api.call("GET", f"/v1/jobs/{job_id}")
        service.api.patched(job_id, {"priority": "low"})
        return read

    service.script.append(somebody_else)
    result = carillon("jobs", "update", job_id, "--priority", "high")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "412 revision_mismatch" in result.stderr
    assert carillon("jobs", "update", job_id, "--priority", "high", "--if-match", '"1"').exit_code == 1
    assert carillon("jobs", "update", job_id, "--priority", "high", "--if-match", "*").exit_code == 0
    assert service.jobs[job_id]["priority"] == "high"
    del script


def test_a_change_that_may_have_been_made_is_not_repeated(
    carillon: Run, service: Any, script: Any, job_id: str
) -> None:
    """When no answer comes, the command says so; the patch was sent once."""
    service.script.extend([script.PASS, script.hang_up])
    assert carillon("jobs", "update", job_id, "--priority", "high").exit_code == 3
    assert len(service.bodies) == 2


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), "nothing to change"),
        (("--timezone", "UTC"), "replaced whole"),
        (("--max-runs", "3"), "--max-runs"),
        (("--cron", "@daily", "--every", "1h"), "exactly one of"),
        (("--label", "team=x", "--unset", "labels/team"), "another value"),
        (("--label", "team=x", "--unset", "labels"), "another value"),
        (("--unset", "labels", "--unset", "labels/team"), "another value"),
        (("--priority", "high", "--unset", "priority/x"), "another value"),
        (("--from-file", "-", "--priority", "high"), "no other flag"),
        (("--from-file", "/nowhere"), "cannot read"),
        (("--payload", "{"), "not JSON"),
    ],
)
def test_wrong_usage_changes_nothing(
    carillon: Run, service: Any, job_id: str, flags: tuple[str, ...], says: str
) -> None:
    """Exit code 2 and a line that says what is wrong; no patch is sent."""
    result = carillon("jobs", "update", job_id, *flags)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert service.jobs[job_id]["revision"] == 1


def test_what_the_service_refuses(carillon: Run, job_id: str) -> None:
    """Exit code 1, and the field is named."""
    result = carillon("jobs", "update", job_id, "--unset", "nmae")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "/nmae" in result.stderr
