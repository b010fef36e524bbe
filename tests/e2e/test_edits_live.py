"""Edits in time, manual runs and an outage of the dispatcher on the running stack, with the run history as the proof.

They share a stack of their own, because an outage of its dispatcher is felt by every job, and it enforces IAM.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from carillon.domain.schedule import CronSchedule
from carillon_cli.dev.receiver import Answer
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.downtime import POLICIES, Scale, assert_policy, outage_under_each_policy
from e2e.edit_stories import edited_across_fires, paused_across_fires, single_run_paused_across_its_fire
from e2e.histories import SETTLE_SECONDS, Stage, instant, running_stage
from e2e.live import aws_client, checked, ended_runs, eventually, job, wait_until

pytestmark = pytest.mark.timeout(READY_SECONDS + 300)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stack that enforces IAM, for these tests alone."""
    with running_stage(tmp_path_factory.mktemp("edits")) as running:
        yield running


@pytest.mark.parametrize("catch_up", [False, True])
def test_a_job_paused_across_its_fires(stage: Stage, catch_up: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """B148, B149, B152: nothing fires while paused, though it was sent ahead; then from now on, or by the policy."""
    paused_across_fires(stage, catch_up=catch_up)


@pytest.mark.parametrize("policy", ["fire_once", "skip"])
def test_a_single_run_paused_across_its_fire(stage: Stage, policy: Literal["fire_once", "skip"]) -> None:
    """B148, B151: never fired while paused; after the resume it runs late, or is recorded as missed."""
    single_run_paused_across_its_fire(stage, policy)


def test_a_job_edited_across_its_fires(stage: Stage) -> None:
    """B133, B137: the old rule answers up to the edit, the new one behind it, though the old fires were sent ahead."""
    edited_across_fires(stage)


def test_a_job_is_run_by_hand_while_it_is_paused(stage: Stage) -> None:
    """B251: the manual run comes at once, is in the history, and leaves the job as it was."""
    created = stage.client.create_job(job(stage.receiver.url("/by-hand"), {"every": "PT1H"}))
    paused = stage.client.pause_job(created["id"])
    triggered = stage.client.trigger_job(created["id"])
    [run] = ended_runs(stage.client, created["id"], 1, SETTLE_SECONDS)
    assert (run["id"], run["state"]) == (triggered["id"], "succeeded")
    assert stage.client.job(created["id"]) == paused
    assert [call.run_id for call in checked(stage.receiver.calls("/by-hand"))] == [triggered["id"]]


def test_a_target_that_is_gone_pauses_its_job(stage: Stage) -> None:
    """410: one call, a dead letter, and the job says why it is paused."""
    stage.receiver.answer("/gone", Answer(410))
    created = stage.client.create_job(job(stage.receiver.url("/gone"), {"every": "PT4S"}))
    assert eventually(lambda: stage.client.job(created["id"])["state"] == "paused", SETTLE_SECONDS)
    assert stage.client.job(created["id"])["state_reason"] == "target_gone"
    wait_until(datetime.now(UTC) + timedelta(seconds=6))
    [run] = stage.client.runs(created["id"])
    assert (run["state"], run["reason"]) == ("dead_lettered", "target_gone")
    assert len(stage.receiver.calls("/gone")) == 1


def test_b077_jobs_of_older_zone_rules_are_planned_anew(stage: Stage) -> None:
    """B077: a stored next fire that is an hour late by the present rules is found, told and moved by the command."""
    yearly = CronSchedule("0 9 1 12 *", "America/Vancouver")
    schedule = {"cron": yearly.expression, "timezone": yearly.timezone, "start_at": "2027-06-01T00:00:00Z"}
    created = stage.client.create_job(job(stage.receiver.url("/yearly"), schedule))
    right = instant(created["next_scheduled_for"])
    store_next(stage.stack, created["id"], right + timedelta(hours=1))
    dry = replanned(stage.stack, "--dry-run")
    [move] = dry["moved"]
    assert (move["job_id"], instant(move["was"]), instant(move["is"])) == (
        created["id"],
        right + timedelta(hours=1),
        right,
    )
    assert instant(stage.client.job(created["id"])["next_fire_time"]) == right + timedelta(hours=1)
    assert replanned(stage.stack)["moved"] == [move]
    shown = stage.client.job(created["id"])
    assert (instant(shown["next_fire_time"]), shown["revision"]) == (right, created["revision"])
    assert replanned(stage.stack)["moved"] == []


def replanned(stack: DevStack, *options: str) -> Any:
    """What `carillon replan` says."""
    done = stack.carillon("replan", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def store_next(stack: DevStack, job_id: str, upcoming: datetime) -> None:
    """Store another next occurrence of a job, as older rules would have had it."""
    next_ms = {"N": str(round(upcoming.timestamp() * 1000))}
    with closing(aws_client(stack.aws_endpoint, "dynamodb")) as dynamodb:
        dynamodb.update_item(
            TableName=stack.outputs["JobsTable"],
            Key={"pk": {"S": f"JOB#{job_id}"}, "sk": {"S": "JOB"}},
            UpdateExpression="SET scheduled_for = :next, next_fire_time = :next",
            ExpressionAttributeValues={":next": next_ms},
        )


def test_an_outage_of_the_dispatcher_under_each_policy(stage: Stage) -> None:
    """B083, B095: every occurrence of the outage has exactly one record, and each policy runs what it says it does.

    This is half an hour's outage at 1/24 of its length, and so are the interval (2 min: 5 s) and the grace (1 min:
    2.5 s) of the jobs, so that as many occurrences are missed. What does not scale is the look-ahead of one minute:
    the jobs are created when the dispatcher is down already, or most of these would have been sent before.
    `make outage` takes the half hour, with jobs that live before it.
    """
    scale = Scale(timedelta(minutes=30) / 24)
    outage = outage_under_each_policy(stage, scale)
    for policy in POLICIES:
        assert_policy(stage, scale, policy, outage)
