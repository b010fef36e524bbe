"""Edits in time, manual runs and an outage of the dispatcher on the running stack, with the run history as the proof.

They share a stack of their own, because an outage of its dispatcher is felt by every job, and it enforces IAM.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from carillon.domain.planning import MOST_SINGLE_SKIPS
from carillon.domain.schedule import CronSchedule
from carillon_cli.client import Client, etag
from carillon_cli.dev.receiver import Answer, Receiver
from e2e.conftest import DevStack
from e2e.live import Json, aws_client, checked, ended_runs, eventually, job

SETTLE_SECONDS = 90
OUTAGE_SECONDS = 70
EVERY = timedelta(seconds=5)
GRACE = timedelta(seconds=2)
# How long a decision may take until its record is written, on a machine that does much else.
SLACK = timedelta(seconds=5)
# A tick that was taken before the mapping was disabled is worked off by then.
LAST_TICK = timedelta(seconds=5)

pytestmark = pytest.mark.timeout(420)


@dataclass(frozen=True)
class Stage:
    """A running stack, a client of it, and a receiver of its callbacks."""

    stack: DevStack
    client: Client
    receiver: Receiver


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stack that enforces IAM, for these tests alone."""
    stack = DevStack(tmp_path_factory.mktemp("edits"), "--auth")
    try:
        stack.start()
        with Client(stack.url, stack.api_key) as client, Receiver(stack.signing_secret) as receiver:
            yield Stage(stack, client, receiver)
        assert [line for line in stack.log_of_aws().splitlines() if "AccessDenied" in line] == []
    finally:
        stack.stop()


@contextmanager
def outage(stack: DevStack) -> Iterator[None]:
    """The dispatcher gets no ticks, because its event source mapping is disabled, as long as the block runs."""
    with closing(aws_client(stack.aws_endpoint, "lambda")) as functions:
        found = functions.list_event_source_mappings(FunctionName=stack.outputs["DispatcherFunction"])
        [mapping] = found["EventSourceMappings"]
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        try:
            wait_until(datetime.now(UTC) + LAST_TICK)
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def instant(text: str) -> datetime:
    """An instant as the API writes it."""
    return datetime.fromisoformat(text)


def wait_until(moment: datetime) -> None:
    """Wait for an instant that is at most some seconds ahead."""
    time.sleep(max((moment - datetime.now(UTC)).total_seconds(), 0))


@dataclass(frozen=True)
class History:
    """All records of a job, oldest first."""

    runs: tuple[Json, ...]

    def of(self, state: str) -> list[datetime]:
        """The nominal times of the runs in a state, those of blocks left out."""
        return [instant(run["scheduled_for"]) for run in self.runs if run["state"] == state and "block" not in run]

    def covered(self, every: timedelta) -> Counter[datetime]:
        """How often each nominal time of a constant interval is in the history, be it in a record or in a block."""
        times: Counter[datetime] = Counter()
        for run in self.runs:
            block = run.get("block", {"count": 1, "first": run["scheduled_for"], "last": run["scheduled_for"]})
            first, last = instant(block["first"]), instant(block["last"])
            in_block = [first + number * every for number in range((last - first) // every + 1)]
            assert len(in_block) == block["count"]
            times.update(in_block)
        return times


def history(stage: Stage, job_id: str) -> History:
    """The history of a job as it is now."""
    return History(tuple(reversed(list(stage.client.runs(job_id)))))


def grid(first: datetime, last: datetime, every: timedelta) -> list[datetime]:
    """The times of an interval from the first to the last, both included."""
    return [first + number * every for number in range((last - first) // every + 1)]


def succeeded(stage: Stage, job_id: str, count: int) -> bool:
    """Whether so many runs of a job have succeeded, within a bounded time."""
    return eventually(lambda: len(history(stage, job_id).of("succeeded")) >= count, SETTLE_SECONDS)


def settled(stage: Stage, job_id: str) -> History:
    """Cancel a job, let go what is under way, and give its history."""
    stage.client.cancel_job(job_id)
    ended = ("succeeded", "skipped", "cancelled", "dead_lettered")
    assert eventually(lambda: all(run["state"] in ended for run in stage.client.runs(job_id)), SETTLE_SECONDS)
    return history(stage, job_id)


def assert_called_back(stage: Stage, path: str, past: History) -> None:
    """Each run that succeeded was called once, with its own nominal time; nothing else was called."""
    calls = checked(stage.receiver.calls(path))
    assert sorted(instant(call.headers["carillon-scheduled-for"]) for call in calls) == past.of("succeeded")


# ------------------------------------------------------------------------------------------------------- pause, resume


@pytest.mark.parametrize("catch_up", [False, True])
def test_a_job_paused_across_its_fires(stage: Stage, catch_up: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """B148, B149, B152: nothing fires while paused, though it was sent ahead; then from now on, or by the policy."""
    path, every = f"/paused-{catch_up}", timedelta(seconds=2)
    fields = {"misfire_policy": "fire_once", "misfire_grace": "PT1S"}
    created = stage.client.create_job(job(stage.receiver.url(path), {"every": "PT2S"}, **fields))
    assert succeeded(stage, created["id"], 2)
    paused = stage.client.pause_job(created["id"])
    paused_at = instant(paused["updated_at"])
    assert (paused["state"], paused["next_fire_time"]) == ("paused", None)
    wait_until(paused_at + timedelta(seconds=9))
    resumed = stage.client.resume_job(created["id"], catch_up=catch_up)
    resumed_at = instant(resumed["updated_at"])
    before = len(history(stage, created["id"]).of("succeeded"))
    assert succeeded(stage, created["id"], before + 2)

    past = settled(stage, created["id"])
    times = past.covered(every)
    assert set(times.values()) == {1}
    assert [*times] == grid(min(times), max(times), every)
    fired_in_pause = [at for at in past.of("succeeded") if paused_at < at <= resumed_at]
    assert len(fired_in_pause) <= (2 if catch_up else 0)  # the latest missed one, and one within its grace
    assert bool(fired_in_pause) == catch_up
    reasons = {run["reason"] for run in past.runs if run["state"] == "skipped"}
    assert reasons == ({"misfire"} if catch_up else {"paused"})
    assert_called_back(stage, path, past)


@pytest.mark.parametrize(
    ("policy", "state", "job_state"), [("fire_once", "succeeded", "dispatched"), ("skip", "skipped", "completed")]
)
def test_a_single_run_paused_across_its_fire(stage: Stage, policy: str, state: str, job_state: str) -> None:
    """B148, B151: never fired while paused; after the resume it runs late, or is recorded as missed."""
    path, fields = f"/once-{policy}", {"misfire_policy": policy, "misfire_grace": "PT1S"}
    created = stage.client.create_job(job(stage.receiver.url(path), {"delay": "PT4S"}, **fields))
    stage.client.pause_job(created["id"])
    wait_until(instant(created["next_scheduled_for"]) + timedelta(seconds=4))
    assert (stage.receiver.calls(path), list(stage.client.runs(created["id"]))) == ([], [])
    stage.client.resume_job(created["id"])
    [run] = ended_runs(stage.client, created["id"], 1, SETTLE_SECONDS)
    assert (run["state"], run["scheduled_for"]) == (state, created["next_scheduled_for"])
    assert eventually(lambda: stage.client.job(created["id"])["state"] == job_state, SETTLE_SECONDS)
    assert len(stage.receiver.calls(path)) == (state == "succeeded")


# --------------------------------------------------------------------------------------------------------------- edits


def test_a_job_edited_across_its_fires(stage: Stage) -> None:
    """B133, B137: the old rule answers up to the edit, the new one behind it, though the old fires were sent ahead."""
    path, before, after = "/edited", timedelta(seconds=3), timedelta(seconds=5)
    created = stage.client.create_job(job(stage.receiver.url(path), {"every": "PT3S"}, name="edited"))
    first = instant(created["next_scheduled_for"])
    assert succeeded(stage, created["id"], 3)
    seen = stage.client.job(created["id"])
    patch = {"schedule": {"every": "PT5S"}, "name": "edited-since", "payload": {"n": 1.50}}
    edited = stage.client.update_job(created["id"], patch, if_match=etag(seen))
    edited_at = instant(edited["updated_at"])
    assert instant(edited["next_scheduled_for"]) == edited_at + after
    assert succeeded(stage, created["id"], len(history(stage, created["id"]).of("succeeded")) + 3)

    past = settled(stage, created["id"])
    old = [at for at in past.of("succeeded") if at <= edited_at]
    new = [at for at in past.of("succeeded") if at > edited_at]
    assert old == grid(first, edited_at, before)
    assert new == grid(edited_at + after, new[-1], after)
    assert {run["state"] for run in past.runs} <= {"succeeded", "cancelled"}
    assert_called_back(stage, path, past)
    bodies = {instant(call.headers["carillon-scheduled-for"]): call.body for call in stage.receiver.calls(path)}
    assert bodies[new[-1]] == b'{"n": 1.5}'


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


# -------------------------------------------------------------------------------------------------------------- outage


@dataclass(frozen=True)
class Policy:
    """A misfire policy, and how many of the missed occurrences it makes up for at most."""

    name: str
    fields: Json
    made_up: int | None


POLICIES = (
    Policy("all", {"misfire_policy": "fire_all"}, None),
    Policy("newest", {"misfire_policy": "fire_all", "max_catch_up": 3}, 3),
    Policy("once", {"misfire_policy": "fire_once"}, 1),
    Policy("skip", {"misfire_policy": "skip"}, 0),
)


def test_an_outage_of_the_dispatcher_under_each_policy(stage: Stage) -> None:
    """B083, B095: every occurrence of the outage has exactly one record, and each policy runs what it says it does.

    The jobs are made while no dispatcher runs, so that nothing of them was sent ahead; each has at least a dozen
    occurrences in the outage.
    """
    with outage(stage.stack):
        jobs = [(policy, created_in_outage(stage, policy)) for policy in POLICIES]
        single = {
            policy: stage.client.create_job(
                job(stage.receiver.url("/single"), {"delay": "PT1S"}, misfire_policy=policy, misfire_grace="PT2S")
            )
            for policy in ("fire_once", "skip")
        }
        down_until = datetime.now(UTC) + timedelta(seconds=OUTAGE_SECONDS)
        wait_until(down_until)
        assert [list(stage.client.runs(created["id"])) for _, created in jobs] == [[]] * len(jobs)
    for policy, created in jobs:
        assert succeeded(stage, created["id"], on_time_after(created, down_until, policy))
    for policy, created in jobs:
        assert_policy(stage, policy, created)
    for policy, state in (("fire_once", "succeeded"), ("skip", "skipped")):
        [run] = ended_runs(stage.client, single[policy]["id"], 1, SETTLE_SECONDS)
        assert (run["state"], run["reason"]) == (state, None if state == "succeeded" else "misfire")
    assert stage.client.job(single["skip"]["id"])["state"] == "completed"


def created_in_outage(stage: Stage, policy: Policy) -> Json:
    """A job of a policy, that would run each five seconds."""
    fields = {**policy.fields, "misfire_grace": "PT2S"}
    return stage.client.create_job(job(stage.receiver.url(f"/outage-{policy.name}"), {"every": "PT5S"}, **fields))


def on_time_after(created: Json, down_until: datetime, policy: Policy) -> int:
    """How many runs there are when those made up for and two of later times have succeeded."""
    missed = (down_until - instant(created["next_scheduled_for"])) // EVERY + 1
    return (missed if policy.made_up is None else policy.made_up) + 3


def assert_policy(stage: Stage, policy: Policy, created: Json) -> None:
    """An unbroken row of occurrences, of which the policy has skipped the oldest missed ones, in one record."""
    past = settled(stage, created["id"])
    times = past.covered(EVERY)
    assert set(times.values()) == {1}
    assert sorted(times) == grid(instant(created["next_scheduled_for"]), max(times), EVERY)
    assert_called_back(stage, f"/outage-{policy.name}", past)
    records = [run for run in past.runs if run["state"] == "skipped"]
    skipped = sorted(History(tuple(records)).covered(EVERY))
    assert {run["reason"] for run in records} == (set() if policy.made_up is None else {"misfire"})
    assert skipped == sorted(times)[: len(skipped)]
    if policy.made_up is None:
        assert skipped == []
        return
    assert len(records) == (len(skipped) if len(skipped) <= MOST_SINGLE_SKIPS else 1)
    # What was missed was older than its grace at the decision, which was made shortly before the records.
    last_missed = skipped[-1] + policy.made_up * EVERY
    decided_by = instant(records[0]["created_at"])
    assert last_missed < decided_by - GRACE <= last_missed + EVERY + SLACK
    assert past.of("succeeded")[0] == skipped[-1] + EVERY
