"""`carillon replan`: over the tables that a stack names, with what older zone rules have left there."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from carillon.adapters.dynamodb.control import DynamoShardLedger
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.keys import control_table, jobs_table
from carillon.domain.instants import format_instant
from carillon.domain.job import Definition
from carillon.domain.schedule import CronSchedule, encode
from carillon.domain.zones import zone_data_version
from carillon_cli.main import main
from contract.samples import a_definition

REGION = "eu-west-1"
HOUR_MS = 3_600_000
WINTER = (12, 1)
"""Months in which the zone's older rules differ; the second one is for when the first one is near."""


@pytest.fixture
def jobs(aws: Any, no_settings: pytest.MonkeyPatch) -> Iterator[DynamoJobStore]:
    """The jobs of a deployed stack `Carillon-dev`, of two shards."""
    no_settings.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", aws.url)
    with mock_aws():
        client = boto3.client("dynamodb", REGION)
        client.create_table(**jobs_table("jobs"))
        client.create_table(**control_table("control"))
        database = Database(client, "jobs", "control")
        DynamoShardLedger(database).raise_to(2)
        aws.stacks["Carillon-dev"] = {"JobsTable": "jobs", "ControlTable": "control"}
        yield DynamoJobStore(database)


def yearly() -> CronSchedule:
    """A schedule of one winter's day a year that is more than two weeks away, whenever this runs."""
    now_ms = time.time_ns() // 1_000_000
    month = next(month for month in WINTER if _next(_in(month), now_ms) > now_ms + 14 * 24 * HOUR_MS)
    return _in(month)


def next_winter() -> int:
    """The next occurrence by the present rules."""
    return _next(yearly(), time.time_ns() // 1_000_000)


def _in(month: int) -> CronSchedule:
    return CronSchedule(f"0 9 1 {month} *", "America/Vancouver")


def _next(schedule: CronSchedule, now_ms: int) -> int:
    upcoming = schedule.next_after(now_ms)
    assert upcoming is not None
    return upcoming


def planned(jobs: DynamoJobStore, next_ms: int, **fields: Any) -> Definition:
    """A stored job with this next occurrence."""
    definition = a_definition(schedule=encode(yearly()), scheduled_for=next_ms, next_fire_time=next_ms, **fields)
    jobs.create(definition)
    return definition


def carillon(*arguments: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, ["replan", "--stage", "dev", *arguments])


def stored(jobs: DynamoJobStore, definition: Definition) -> Definition:
    """The job as it is."""
    found = jobs.get(definition.job.id)
    assert found is not None
    return found


def test_b077_jobs_of_old_rules_are_moved(jobs: DynamoJobStore) -> None:
    """B077: told first, then moved, then nothing is left; the right ones stay untouched."""
    right_ms = next_winter()
    wrong, right = planned(jobs, right_ms + HOUR_MS), planned(jobs, right_ms, shard=0)
    told = carillon("--dry-run", "--json")
    assert (told.exit_code, told.stderr) == (0, "")
    move = {
        "job_id": wrong.job.id,
        "tenant": "acme",
        "schedule": f"{yearly().expression} America/Vancouver",
        "was": format_instant(right_ms + HOUR_MS),
        "is": format_instant(right_ms),
    }
    counts = {"cron_jobs": 2, "sent_ahead": 0, "failed": 0, "unreadable": 0}
    said = {"zone_data": zone_data_version(), "dry_run": True, "moved": [move], **counts}
    assert json.loads(told.stdout) == said
    assert stored(jobs, wrong) == wrong

    done = carillon("--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {**said, "dry_run": False})
    assert stored(jobs, wrong).job.next_fire_time == right_ms
    assert stored(jobs, right) == right
    assert json.loads(carillon("--json").stdout)["moved"] == []


def test_people_get_a_table(jobs: DynamoJobStore) -> None:
    """A line a job, old time and new; the counts and the version of the zone data on stderr."""
    wrong = planned(jobs, next_winter() + HOUR_MS)
    result = carillon("--dry-run")
    header, line = result.stdout.splitlines()
    assert header.split() == ["JOB", "TENANT", "SCHEDULE", "WAS", "IS"]
    assert line.startswith(wrong.job.id)
    assert result.stderr == f"zone data {zone_data_version()}: 1 cron jobs, 1 to be moved\n"
    assert carillon().stdout.splitlines()[1] == line
    nothing = carillon()
    assert (nothing.stdout, nothing.exit_code) == ("", 0)


def test_what_is_left_is_told(jobs: DynamoJobStore) -> None:
    """A job with runs on their way is left: exit code 1 and what to do."""
    right_ms, now_ms = next_winter(), time.time_ns() // 1_000_000
    left = planned(jobs, right_ms + HOUR_MS, planned_until=now_ms + HOUR_MS)
    result = carillon()
    assert (result.exit_code, result.stdout) == (1, "")
    assert "1 left, because runs before the next one are on their way" in result.stderr
    assert stored(jobs, left) == replace(left, job=replace(left.job, planned_until=now_ms + HOUR_MS))
    assert carillon("--dry-run").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(("--stage", "prod"), 1, "no Carillon-prod", id="no such stack"),
        pytest.param(("--stage", "dev", "--stack", "x"), 2, "not both", id="two stacks"),
    ],
)
def test_a_refusal_is_one_line(jobs: DynamoJobStore, arguments: tuple[str, ...], code: int, says: str) -> None:
    """What cannot be reached says why in a line."""
    del jobs
    result = CliRunner().invoke(main, ["replan", *arguments])
    assert (result.exit_code, result.stdout) == (code, "")
    (line,) = result.stderr.splitlines()
    assert says in line


def test_an_aws_that_is_not_there_is_3(no_settings: pytest.MonkeyPatch) -> None:
    """Where no AWS answers the code is 3."""
    no_settings.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    no_settings.setenv("AWS_MAX_ATTEMPTS", "1")
    assert CliRunner().invoke(main, ["replan"]).exit_code == 3
