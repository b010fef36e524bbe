"""Jobs that send to a queue, by flags: created, changed, imported, listed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from carillon.domain.target_policy import of_stage

Run = Callable[..., Result]
QUEUE = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders"
URL = "https://svc.carillon.dev/hook"
TARGET = {"type": "queue", "queue_url": QUEUE}
TABLE = "id,kind,expression\na,cron,0 2 * * *\nb,interval,24h\n"


@pytest.fixture(autouse=True)
def open_queue(service: Any) -> None:
    """The stage opens the queue to the tenant."""
    policy = of_stage(queues=["acme=arn:aws:sqs:eu-west-1:111122223333:orders"])
    service.api.policy = policy
    service.api.handle = service.api.build()


def test_a_queue_is_created_and_listed_as_the_target(carillon: Run, service: Any) -> None:
    """One flag makes the whole target; the list shows the queue where it shows a URL else."""
    made = carillon("jobs", "create", "--every", "1h", "--queue", QUEUE, "--payload", '{"n": 1}')
    assert (made.exit_code, made.stderr) == (0, "")
    (job,) = service.jobs.values()
    assert (job["target"], job["payload"]) == (TARGET, {"n": 1})
    assert QUEUE in carillon("jobs", "list").stdout


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "give the --url to call or the --queue to send to"),
        (("--queue", QUEUE, "--url", URL), "--url is of a call"),
        (("--queue", QUEUE, "--method", "PUT"), "--method is of a call"),
        (("--queue", QUEUE, "--header", "X-A: 1"), "--header is of a call"),
        (("--queue", QUEUE, "--timeout", "5s"), "--timeout is of a call"),
    ],
    ids=["neither", "both", "method", "header", "timeout"],
)
def test_a_target_is_one_thing(carillon: Run, service: Any, flags: tuple[str, ...], words: str) -> None:
    """Nothing is sent when the flags make no target."""
    result = carillon("jobs", "create", "--every", "1h", "--payload", "1", *flags)
    assert (result.exit_code, service.jobs) == (2, {})
    assert words in result.stderr


def test_an_update_turns_a_call_into_a_message_and_back(carillon: Run, service: Any) -> None:
    """What belongs to the other kind is not left behind."""
    carillon("jobs", "create", "--every", "1h", "--url", URL, "--timeout", "30s", "--payload", "1")
    (job_id,) = service.jobs
    assert carillon("jobs", "update", job_id, "--queue", QUEUE).exit_code == 0
    assert service.jobs[job_id]["target"] == TARGET
    assert carillon("jobs", "update", job_id, "--url", URL, "--method", "PUT").exit_code == 0
    target = service.jobs[job_id]["target"]
    assert (target["type"], target["method"], target["timeout"]) == ("http", "PUT", "PT15S")


def test_an_import_sends_to_a_queue(carillon: Run, service: Any, tmp_path: Path) -> None:
    """The lines of a table bring no payload: one is given for all. A repeat finds them unchanged."""
    path = tmp_path / "nightly.csv"
    path.write_text(TABLE)
    flags = ("jobs", "import", str(path), "--queue", QUEUE, "--payload", '{"from": "table"}')
    for counts in ("created=2 unchanged=0", "created=0 unchanged=2"):
        result = carillon(*flags)
        assert (result.exit_code, result.stdout) == (0, f"{counts} differs=0 refused=0\n")
    assert [(job["target"], job["payload"]) for job in service.jobs.values()] == [(TARGET, {"from": "table"})] * 2


def test_an_import_without_a_payload_is_told_line_by_line(carillon: Run, service: Any, tmp_path: Path) -> None:
    """A message needs a body."""
    path = tmp_path / "nightly.csv"
    path.write_text(TABLE)
    result = carillon("jobs", "import", str(path), "--queue", QUEUE)
    assert (result.exit_code, result.stdout) == (1, "created=0 unchanged=0 differs=0 refused=2\n")
    assert "/payload" in result.stderr
    assert service.jobs == {}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--on-failure", f"{URL}/failed"), {"type": "http", "url": f"{URL}/failed"}),
        (("--on-failure-queue", QUEUE), TARGET),
    ],
    ids=["url", "queue"],
)
def test_whom_to_tell_of_failures(carillon: Run, service: Any, flags: tuple[str, str], told: dict[str, str]) -> None:
    """By a URL or a queue; given with an update too, and removed by --unset."""
    assert carillon("jobs", "create", "--every", "1h", "--url", URL, *flags).exit_code == 0
    ((job_id, job),) = service.jobs.items()
    assert {name: job["on_failure"][name] for name in told} == told
    assert carillon("jobs", "update", job_id, "--unset", "on_failure").exit_code == 0
    assert service.jobs[job_id]["on_failure"] is None
    assert carillon("jobs", "update", job_id, *flags).exit_code == 0
    assert service.jobs[job_id]["on_failure"]["type"] == told["type"]


def test_failures_are_told_to_one(carillon: Run, service: Any) -> None:
    """Two at once are refused before anything is sent."""
    both = ("--on-failure", URL, "--on-failure-queue", QUEUE)
    result = carillon("jobs", "create", "--every", "1h", "--url", URL, *both)
    assert (result.exit_code, service.jobs) == (2, {})
    assert "not both" in result.stderr
