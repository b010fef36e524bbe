"""`carillon jobs`: from flags to a job and back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
URL = "https://svc.carillon.dev/hook"
HTTP = {"type": "http", "url": URL}


@pytest.mark.parametrize(
    ("flags", "sent"),
    [
        (("--delay", "10s"), {"schedule": {"delay": "PT10S"}}),
        (
            ("--delay", "1s", "--async"),
            {"schedule": {"delay": "PT1S"}, "target": HTTP | {"completion": {"mode": "async"}}},
        ),
        (
            ("--delay", "1s", "--completion-timeout", "2h", "--heartbeat-timeout", "5m", "--cancel-url", f"{URL}/stop"),
            {
                "schedule": {"delay": "PT1S"},
                "target": HTTP
                | {
                    "completion": {"mode": "async", "timeout": "PT2H", "heartbeat_timeout": "PT5M"},
                    "cancel_url": f"{URL}/stop",
                },
            },
        ),
        (("--every", "1h30m", "--max-runs", "3"), {"schedule": {"every": "PT1H30M", "max_runs": 3}}),
        (
            ("--cron", "0 2 * * *", "--timezone", "Asia/Kolkata", "--dst-gap", "skip", "--dst-overlap", "both"),
            {
                "schedule": {
                    "cron": "0 2 * * *",
                    "timezone": "Asia/Kolkata",
                    "dst_gap": "skip",
                    "dst_overlap": "both",
                }
            },
        ),
        (
            ("--run-at", "2026-12-24T18:00:00", "--timezone", "Europe/Berlin", "--name", "eve"),
            {"name": "eve", "schedule": {"run_at": "2026-12-24T18:00:00", "timezone": "Europe/Berlin"}},
        ),
        (
            ("--every", "1d", "--start-at", "2026-12-01T00:00:00Z", "--end-at", "2027-01-01T00:00:00Z"),
            {"schedule": {"every": "P1D", "start_at": "2026-12-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z"}},
        ),
        (
            (
                "--delay",
                "1s",
                "--method",
                "put",
                "--header",
                "X-Team: infra",
                "--header",
                "X-A:b:c",
                "--timeout",
                "30s",
            ),
            {
                "schedule": {"delay": "PT1S"},
                "target": HTTP | {"method": "PUT", "timeout": "PT30S", "headers": {"X-Team": "infra", "X-A": "b:c"}},
            },
        ),
        (
            ("--delay", "1s", "--priority", "high", "--label", "team=infra", "--label", "tier=a=b"),
            {"schedule": {"delay": "PT1S"}, "priority": "high", "labels": {"team": "infra", "tier": "a=b"}},
        ),
        (
            ("--delay", "1s", "--max-attempts", "1", "--deadline", "5m", "--misfire", "fire_all"),
            {
                "schedule": {"delay": "PT1S"},
                "retry": {"max_attempts": 1},
                "deadline": "PT5M",
                "misfire_policy": "fire_all",
            },
        ),
        (
            ("--delay", "1s", "--misfire-grace", "2m", "--max-catch-up", "7", "--window", "10m"),
            {"schedule": {"delay": "PT1S"}, "misfire_grace": "PT2M", "max_catch_up": 7, "window": "PT10M"},
        ),
        (
            ("--delay", "1s", "--payload", '{"n": [1, "é"]}'),
            {"schedule": {"delay": "PT1S"}, "payload": {"n": [1, "é"]}},
        ),
        (("--delay", "1s", "--payload", "null"), {"schedule": {"delay": "PT1S"}, "payload": None}),
    ],
)
def test_flags_become_a_definition(carillon: Run, service: Any, flags: tuple[str, ...], sent: dict[str, Any]) -> None:
    """Each flag is sent under the interface's name; what is not given is left to the service."""
    result = carillon("jobs", "create", "--url", URL, *flags)
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(service.bodies[-1]) == {"target": HTTP, **sent}


@pytest.mark.parametrize("number", ["0.10", "30.40", "1E2", "12345678901234567890123456789012345678901"])
def test_b202_a_payload_is_sent_to_the_letter(carillon: Run, service: Any, tmp_path: Path, number: str) -> None:
    """B202: the numbers of a payload keep their digits, given as text, in a file, on stdin or in a whole definition."""
    (tmp_path / "payload.json").write_text(number)
    common = ("jobs", "create", "--delay", "1s", "--url", URL, "--payload")
    for argument, stdin in ((number, None), (f"@{tmp_path}/payload.json", None), ("@-", number)):
        assert carillon(*common, argument, stdin=stdin).exit_code == 0
        assert service.bodies[-1].endswith(f'"payload": {number}}}'.encode())
    whole = json.dumps({"schedule": {"delay": "PT1S"}, "target": HTTP})[:-1] + f', "payload": {number}}}'
    assert carillon("jobs", "create", "--from-file", "-", stdin=whole).exit_code == 0
    assert service.bodies[-1] == whole.encode()


def test_a_created_job_is_shown(carillon: Run, service: Any) -> None:
    """For people the id and the next fire come first; for programs it is the service's whole answer."""
    shown = carillon("jobs", "create", "--delay", "1s", "--url", URL)
    assert shown.stdout.splitlines()[0].split() == ["id", next(iter(service.jobs))]
    answer = carillon("jobs", "create", "--delay", "1s", "--url", URL, "--json")
    assert json.loads(answer.stdout) == list(service.jobs.values())[-1]


@pytest.fixture
def three(carillon: Run, service: Any) -> list[str]:
    """Three jobs, oldest first."""
    carillon("jobs", "create", "--name", "a/1", "--every", "1h", "--url", URL, "--label", "team=infra")
    carillon("jobs", "create", "--name", "a/2", "--cron", "0 2 * * *", "--timezone", "Asia/Kolkata", "--url", URL)
    carillon("jobs", "create", "--delay", "1s", "--url", URL)
    return list(service.jobs)


@pytest.mark.parametrize(
    ("flags", "positions"),
    [
        ((), [2, 1, 0]),
        (("--limit", "2"), [2, 1]),
        (("--all",), [2, 1, 0]),
        (("--label", "team=infra"), [0]),
        (("--name-prefix", "a/"), [1, 0]),
        (("--state", "paused"), []),
    ],
)
def test_lists_are_filtered(carillon: Run, three: list[str], flags: tuple[str, ...], positions: list[int]) -> None:
    """Filters and limits reach the service."""
    answer = json.loads(carillon("jobs", "list", "--json", *flags).stdout)
    assert [job["id"] for job in answer["data"]] == [three[position] for position in positions]


def test_a_cut_list_says_how_to_go_on(carillon: Run, three: list[str]) -> None:
    """A list that was cut has a cursor for programs and a remark for people."""
    answer = json.loads(carillon("jobs", "list", "--limit", "2", "--json").stdout)
    rest = json.loads(carillon("jobs", "list", "--cursor", answer["next_cursor"], "--json").stdout)
    assert [job["id"] for job in rest["data"]] == three[:1]
    assert "there are more" in carillon("jobs", "list", "--limit", "2").stderr


def test_jobs_are_shown_as_a_table(carillon: Run, three: list[str]) -> None:
    """A line a job, nothing cut or wrapped in a pipe."""
    header, *lines = carillon("jobs", "list").stdout.splitlines()
    assert header.split() == ["ID", "NAME", "STATE", "SCHEDULE", "NEXT", "FIRE", "TARGET"]
    assert [line.split()[0] for line in lines] == three[::-1]
    assert "cron 0 2 * * * Asia/Kolkata" in lines[1]
    assert all(line.endswith(URL) for line in lines)


def test_a_job_is_shown_and_cancelled(carillon: Run, service: Any, three: list[str]) -> None:
    """`get` shows all there is of a job; after `cancel` it is cancelled."""
    assert json.loads(carillon("jobs", "get", three[0], "--json").stdout) == service.jobs[three[0]]
    assert "every" in carillon("jobs", "get", three[0]).stdout
    assert carillon("jobs", "cancel", three[0]).stdout == f"cancelled {three[0]}\n"
    assert json.loads(carillon("jobs", "cancel", three[1], "--json").stdout) == {"id": three[1], "cancelled": True}
    assert [service.jobs[job_id]["state"] for job_id in three] == ["cancelled", "cancelled", "scheduled"]


def test_a_job_is_paused_and_resumed(carillon: Run, service: Any, three: list[str]) -> None:
    """The job is shown as it is then; a repeat changes nothing."""
    for _ in range(2):
        assert json.loads(carillon("jobs", "pause", three[0], "--json").stdout) == service.jobs[three[0]]
        assert (service.jobs[three[0]]["state"], service.jobs[three[0]]["revision"]) == ("paused", 2)
    assert "paused" in carillon("jobs", "pause", three[0]).stdout
    assert json.loads(carillon("jobs", "resume", three[0], "--json").stdout)["state"] == "scheduled"
    assert json.loads(service.bodies[-1]) == {"catch_up": False}
    carillon("jobs", "pause", three[1])
    assert "scheduled" in carillon("jobs", "resume", three[1], "--catch-up").stdout
    assert json.loads(service.bodies[-1]) == {"catch_up": True}


def test_a_job_is_run_by_hand(carillon: Run, service: Any, three: list[str]) -> None:
    """The run is shown, and reads as such."""
    run = json.loads(carillon("jobs", "trigger", three[1], "--json").stdout)
    assert service.api.call("GET", f"/v1/runs/{run['id']}").json == run
    assert carillon("jobs", "trigger", three[1]).stdout.splitlines()[0].split()[1].startswith(f"{three[1]}@")
    assert len(service.api.world.state.runs[three[1]]) == 2
