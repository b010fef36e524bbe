"""What becomes of jobs, each way there is, against one running stack.

All jobs are created before the first test looks, so that their waits pass side by side.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from carillon.client import Client
from carillon_cli.dev.receiver import Answer, Call, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import Json, checked, ended_runs, eventually, job

SOON = {"delay": "PT3S"}
LATER = {"delay": "PT15S"}
ONCE_A_SECOND = {"every": "PT1S", "max_runs": 20}
PROMPTLY = {"base": "PT1S", "jitter": "none"}
ZONE = "Asia/Kolkata"
BOUND_SECONDS = 90
# Spaces, the order of keys, a whole float, a sign beyond the BMP, an escape: all as they were written.
PAYLOAD = '{ "z":1.0,"a" : [1 ,2e3, null],"bell":"\N{BELL}\N{FACE WITH TEARS OF JOY}\\u00e9", "n":12345678901234567890}'

pytestmark = pytest.mark.timeout(READY_SECONDS + 120)


@dataclass(frozen=True)
class Story:
    """A job, and how its target answers."""

    schedule: Mapping[str, Any] = field(default_factory=lambda: SOON)
    fields: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Answer, ...] = (Answer(),)


STORIES = {
    "high": Story(fields={"priority": "high"}),
    "normal": Story(fields={"priority": "normal"}),
    "low": Story(fields={"priority": "low"}),
    "long": Story(fields={"target": {"timeout": "PT2M"}}),
    "slow": Story(fields={"target": {"timeout": "PT45S"}}, answers=(Answer(delay_seconds=25),)),
    "retried": Story(fields={"retry": {"max_attempts": 3, **PROMPTLY}}, answers=(Answer(503), Answer(200))),
    "asked to wait": Story(
        fields={"retry": {"max_attempts": 3, **PROMPTLY}}, answers=(Answer(429, headers={"Retry-After": "4"}), Answer())
    ),
    "exhausted": Story(fields={"retry": {"max_attempts": 2, **PROMPTLY}}, answers=(Answer(500, body=b"no luck"),)),
    "unknown there": Story(answers=(Answer(404),)),
    "cancelled at once": Story(LATER),
    "cancelled on its way": Story(LATER),
    "each second": Story(ONCE_A_SECOND),
}


@dataclass(frozen=True)
class Stories:
    """The running stack with all jobs created, by the names of their stories."""

    stack: DevStack
    client: Client
    receiver: Receiver
    jobs: Mapping[str, Json]

    def calls(self, name: str) -> list[Call]:
        """The calls of a story so far, each signed as it should be."""
        return checked(self.receiver.calls(path_of(name)))

    def runs(self, name: str, count: int = 1) -> list[Json]:
        """The runs of a story, oldest first, once so many have ended."""
        return ended_runs(self.client, self.jobs[name]["id"], count, BOUND_SECONDS)

    def run(self, name: str) -> Json:
        """The only run of a story, once it has ended."""
        [run] = self.runs(name)
        return run


def path_of(name: str) -> str:
    """Where the target of a story listens."""
    return "/" + name.replace(" ", "-")


def next_minute() -> datetime:
    """A full minute that leaves the time to create a job before it."""
    return (datetime.now(UTC) + timedelta(seconds=65)).replace(second=0, microsecond=0)


def cron_at(at: datetime) -> dict[str, str]:
    """A cron schedule that fires at an instant, in the words of a zone with half an hour in its offset."""
    local = at.astimezone(ZoneInfo(ZONE))
    return {"cron": f"{local.minute} {local.hour} {local.day} {local.month} *", "timezone": ZONE}


@pytest.fixture(scope="module")
def stories(stack: DevStack) -> Iterator[Stories]:
    """All jobs, created."""
    with ExitStack() as open_ends:
        client = open_ends.enter_context(Client(stack.url, stack.api_key))
        receiver = open_ends.enter_context(Receiver(stack.signing_secret))
        jobs = {"by the clock": create(client, receiver, "by the clock", Story(cron_at(next_minute())))}
        jobs |= {name: create(client, receiver, name, story) for name, story in STORIES.items()}
        client.cancel_job(jobs["cancelled at once"]["id"])
        text = job_text(receiver.url("/exact"))
        jobs["exact"] = client.create_job(text.encode())
        yield Stories(stack, client, receiver, jobs)
        client.cancel_job(jobs["by the clock"]["id"])


def create(client: Client, receiver: Receiver, name: str, story: Story) -> Json:
    """Create the job of a story."""
    receiver.answer(path_of(name), *story.answers)
    return client.create_job(job(receiver.url(path_of(name)), story.schedule, **story.fields))


def job_text(url: str) -> str:
    """A job whose payload no serialiser has touched."""
    return f'{{"schedule": {{"delay": "PT3S"}}, "target": {{"type": "http", "url": "{url}"}}, "payload": {PAYLOAD}}}'


def test_a_job_on_its_way_is_cancelled(stories: Stories) -> None:
    """Cancelling holds for an occurrence that is in the queue already: it is never called and has no run."""
    job_id = stories.jobs["cancelled on its way"]["id"]
    assert eventually(lambda: stories.client.job(job_id)["state"] == "dispatched", BOUND_SECONDS)
    stories.client.cancel_job(job_id)
    assert stories.client.job(job_id)["state"] == "cancelled"


@pytest.mark.parametrize("name", ["high", "normal", "low", "long", "slow", "by the clock"])
def test_a_job_is_called_back_once(stories: Stories, name: str) -> None:
    """Whatever the priority and the lane: one call, with the names of its run, and one attempt in the record."""
    run = stories.run(name)
    assert (run["state"], run["attempt"], len(run["attempts"])) == ("succeeded", 1, 1)
    [call] = stories.calls(name)
    assert (call.job_id, call.run_id, call.attempt) == (stories.jobs[name]["id"], run["id"], 1)
    assert call.headers["idempotency-key"] == run["id"]
    assert call.headers["carillon-scheduled-for"] == run["scheduled_for"]
    assert run["lateness_ms"] >= 0


def test_slow_calls_go_by_a_lane_of_their_own(stories: Stories) -> None:
    """A job whose call may take more than a minute is called by the long worker."""
    stories.run("long")
    done = re.compile(rf"Lambda {stories.stack.outputs['LongWorkerFunction']} processed \d+ SQS messages")
    assert done.search(stories.stack.log_of_aws())


def test_a_cron_schedule_follows_its_zone(stories: Stories) -> None:
    """A minute written in local time is called at that minute of the zone."""
    planned = stories.jobs["by the clock"]["next_scheduled_for"]
    assert stories.run("by the clock")["scheduled_for"] == planned
    local = datetime.fromisoformat(planned).astimezone(ZoneInfo(ZONE))
    cron = stories.jobs["by the clock"]["schedule"]["cron"]
    assert cron.split() == [str(local.minute), str(local.hour), str(local.day), str(local.month), "*"]


def test_a_failed_call_is_tried_again(stories: Stories) -> None:
    """After 503 the same run is tried again and succeeds; the attempt number rises, the run's id stays."""
    run = stories.run("retried")
    assert (run["state"], [attempt["status"] for attempt in run["attempts"]]) == ("succeeded", [503, 200])
    assert [(call.run_id, call.attempt) for call in stories.calls("retried")] == [(run["id"], 1), (run["id"], 2)]


def test_a_target_may_ask_for_time(stories: Stories) -> None:
    """Retry-After is a floor: the second attempt never starts before it."""
    first, second = stories.run("asked to wait")["attempts"]
    pause = datetime.fromisoformat(second["started_at"]) - datetime.fromisoformat(first["ended_at"])
    assert (first["status"], second["status"]) == (429, 200)
    assert pause >= timedelta(seconds=4)


def test_attempts_run_out(stories: Stories) -> None:
    """After the last failed attempt the run is dead-lettered, and says what the target said."""
    run = stories.run("exhausted")
    assert (run["state"], run["reason"], len(run["attempts"])) == ("dead_lettered", "attempts_exhausted", 2)
    assert {attempt["response_excerpt"] for attempt in run["attempts"]} == {"no luck"}
    assert len(stories.calls("exhausted")) == 2


def test_a_permanent_refusal_is_not_tried_again(stories: Stories) -> None:
    """A 404 says that trying again is of no use: one call, and the run is dead-lettered."""
    run = stories.run("unknown there")
    assert (run["state"], [attempt["status"] for attempt in run["attempts"]]) == ("dead_lettered", [404])
    assert len(stories.calls("unknown there")) == 1


def test_payloads_arrive_to_the_byte(stories: Stories) -> None:
    """The target receives the payload as the client wrote it."""
    assert stories.run("exact")["state"] == "succeeded"
    [call] = stories.calls("exact")
    assert call.body == PAYLOAD.encode()


def test_every_second_is_called_once(stories: Stories) -> None:
    """A schedule of one second leaves none out and doubles none; after its last run the job is completed."""
    runs = stories.runs("each second", 20)
    created = datetime.fromisoformat(stories.jobs["each second"]["created_at"])
    nominal = [datetime.fromisoformat(run["scheduled_for"]) for run in runs]
    assert nominal == [created + timedelta(seconds=number) for number in range(1, 21)]
    assert {run["state"] for run in runs} == {"succeeded"}
    assert sorted(call.run_id for call in stories.calls("each second")) == [run["id"] for run in runs]
    state = stories.client.job(stories.jobs["each second"]["id"])["state"]
    assert state == "completed", state


@pytest.mark.parametrize("name", ["cancelled at once", "cancelled on its way"])
def test_what_is_cancelled_never_runs(stories: Stories, name: str) -> None:
    """Well after its time a cancelled job has neither a run nor a call, and stays cancelled."""
    due = datetime.fromisoformat(stories.jobs[name]["next_scheduled_for"])
    stories.runs("each second", 20)
    assert eventually(lambda: datetime.now(UTC) > due + timedelta(seconds=5), BOUND_SECONDS)
    assert (list(stories.client.runs(stories.jobs[name]["id"])), stories.calls(name)) == ([], [])
    assert stories.client.job(stories.jobs[name]["id"])["state"] == "cancelled"
