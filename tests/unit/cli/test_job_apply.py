"""`carillon jobs apply`: jobs in a file, by their names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
TARGET = '"target": {"type": "http", "url": "https://svc.carillon.dev/hook"}'
NIGHTLY = f'{{"name": "reports/nightly", "schedule": {{"cron": "0 2 * * *"}}, {TARGET}, "payload": [1.50]}}'
HOURLY = f'{{"name": "hourly", "schedule": {{"every": "PT1H"}}, {TARGET}}}'


def told(result: Result) -> dict[str, Any]:
    """The counts and jobs that a command printed."""
    return dict(json.loads(result.stdout))


@pytest.mark.parametrize("text", [NIGHTLY, f"[{NIGHTLY}]", f"  [ {NIGHTLY} ]\n"], ids=["one", "a list", "blanks"])
def test_a_job_is_created_and_then_left_alone(carillon: Run, service: Any, tmp_path: Path, text: str) -> None:
    """The first time it is created, to the letter; the second time it is as the file has it, and not written."""
    file = tmp_path / "jobs.json"
    file.write_text(text, encoding="utf-8")
    first = carillon("jobs", "apply", str(file), "--json")
    assert (first.exit_code, first.stderr) == (0, "")
    (job,) = service.jobs.values()
    assert service.bodies[-1].decode() == NIGHTLY
    expected = {"name": "reports/nightly", "id": job["id"], "revision": 1, "reason": None}
    assert told(first) == {"created": 1, "applied": 0, "refused": 0, "jobs": [{**expected, "outcome": "created"}]}
    again = carillon("jobs", "apply", str(file), "--json")
    assert told(again) == {"created": 0, "applied": 1, "refused": 0, "jobs": [{**expected, "outcome": "applied"}]}


def test_one_that_is_refused_does_not_stop_the_others(carillon: Run, service: Any) -> None:
    """It is told on stderr, the counts say it, and the exit code is 1."""
    bad = NIGHTLY.replace("0 2 * * *", "0 25 * * *")
    result = carillon("jobs", "apply", "-", stdin=f"[{bad}, {HOURLY}]")
    assert (result.exit_code, result.stdout) == (1, "created=1 applied=0 refused=1\n")
    assert result.stderr.startswith("reports/nightly: refused: ")
    assert [job["name"] for job in service.jobs.values()] == ["hourly"]


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_what_says_nothing_of_the_job_ends_it(carillon: Run, service: Any, script: Any, status: int) -> None:
    """A key that is refused, or a service that has no time, would be the same for each."""
    service.script.extend([script.problem(status, "no")] * 20)
    result = carillon("jobs", "apply", "-", stdin=f"[{NIGHTLY}, {HOURLY}]")
    assert result.exit_code != 0
    assert not service.jobs


def test_a_lost_answer_is_asked_for_again(carillon: Run, service: Any, script: Any) -> None:
    """A repeat changes nothing, so it is sent again by itself."""
    service.script.extend([script.hang_up])
    assert carillon("jobs", "apply", "-", stdin=HOURLY).stdout == "created=1 applied=0 refused=0\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{", "not JSON"),
        ("3", "job 1: expected a JSON object"),
        (f"[{HOURLY}, 3]", "job 2: expected a JSON object"),
        (HOURLY.replace('"name": "hourly", ', ""), "job 1 has no name"),
        (HOURLY.replace('"hourly"', "7"), "job 1 has no name"),
        (f"[{HOURLY}, {HOURLY}]", "two jobs have the name hourly"),
    ],
)
def test_files_that_are_no_jobs(carillon: Run, service: Any, text: str, wrong: str) -> None:
    """B265: nothing is sent, and the one line says what is wrong; usage is exit code 2."""
    result = carillon("jobs", "apply", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert wrong in result.stderr
    assert not service.bodies


def test_a_file_without_jobs_asks_for_nothing(carillon: Run, service: Any) -> None:
    """An empty list is a list."""
    assert carillon("jobs", "apply", "-", stdin="[]").stdout == "created=0 applied=0 refused=0\n"
    assert not service.bodies
