"""Stories that take minutes, told side by side: workers are killed in a call, and 1,342 real schedules are imported.

Both begin in one fixture, the killing first, so that it interrupts nobody else. Each test waits for the end of its own.
"""

import csv
import itertools
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cronsim import CronSim

from carillon.client import Client
from carillon_cli.dev.receiver import Answer, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import Json, checked, ended_runs, eventually, job

SCHEDULES = Path(__file__).parents[1] / "data" / "real_schedules.csv"
INTERVAL = re.compile(r"([0-9]+)([hm])")
UNITS = {"h": timedelta(hours=1), "m": timedelta(minutes=1)}
IMPOSSIBLE = {"s1036", "s1279"}  # the 31st and the 30th of February
WATCHED = timedelta(minutes=2)
LOOK_AHEAD = timedelta(seconds=60)
SETTLE_SECONDS = 30
SOON, PATIENT = {"delay": "PT2S"}, {"timeout": "PT1M"}
# A message whose worker has died comes again after the 120 s of its queue's visibility.
LOST_SECONDS = 200

pytestmark = pytest.mark.timeout(READY_SECONDS + 480)


@dataclass(frozen=True)
class Stories:
    """What both stories began with."""

    stack: DevStack
    client: Client
    receiver: Receiver
    interrupted: Json
    once: Json
    report: Json


@pytest.fixture(scope="module")
def stories(stack: DevStack) -> Iterator[Stories]:
    """Begin both: kill the worker in a call, then import the schedules."""
    with ExitStack() as open_ends:
        client = open_ends.enter_context(Client(stack.url, stack.api_key))
        receiver = open_ends.enter_context(Receiver(stack.signing_secret))
        interrupted, once = calls_that_outlive_their_worker(stack, client, receiver)
        yield Stories(stack, client, receiver, interrupted, once, import_schedules(stack, receiver))


def calls_that_outlive_their_worker(stack: DevStack, client: Client, receiver: Receiver) -> tuple[Json, Json]:
    """A job whose first call is held until its worker is dead, and another one that allows one attempt alone."""
    for path in ("/held", "/once"):
        receiver.answer(path, Answer(200, delay_seconds=20), Answer(200))
    held = client.create_job(job(receiver.url("/held"), SOON, target=PATIENT))
    once = client.create_job(job(receiver.url("/once"), SOON, target=PATIENT, retry={"max_attempts": 1}))
    assert eventually(lambda: bool(receiver.calls("/held") and receiver.calls("/once")), SETTLE_SECONDS)
    workers = stack.function_processes("WorkerFunction")
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    return held, once


def import_schedules(stack: DevStack, receiver: Receiver) -> Json:
    """Run the command; its report. Two lines can never fire, so it never leaves with 0."""
    arguments = ("jobs", "import", str(SCHEDULES), "--url", receiver.url("/imported"), "--prefix", "real", "--json")
    done = stack.carillon(*arguments)
    assert done.returncode == 1, done.stderr
    report: Json = json.loads(done.stdout)
    return report


@dataclass(frozen=True)
class Row:
    """A line of the table, with an oracle of its own: cronsim for cron, arithmetic for intervals."""

    id: str
    kind: str
    expression: str

    def after(self, created_at: datetime) -> Iterator[datetime]:
        """The occurrences of a job that was created at an instant, without end."""
        if self.kind == "cron":
            return CronSim(self.expression, created_at)
        step = sum((int(count) * UNITS[unit] for count, unit in INTERVAL.findall(self.expression)), timedelta())
        return (created_at + number * step for number in itertools.count(1))


def possible_rows() -> list[Row]:
    """The lines of the table that can fire."""
    with SCHEDULES.open(encoding="utf-8", newline="") as file:
        return [Row(**line) for line in csv.DictReader(file) if line["id"] not in IMPOSSIBLE]


def instant(text: str) -> datetime:
    """An instant as the API writes it."""
    return datetime.fromisoformat(text)


def until(occurrences: Iterator[datetime], end: datetime) -> list[datetime]:
    """Those up to an instant."""
    return list(itertools.takewhile(lambda at: at <= end, occurrences))


def run_id(job_id: str, at: datetime) -> str:
    """The id of a run by the rule of the interface."""
    return f"{job_id}@{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03}Z"


def test_real_schedules_are_planned_and_called_back(stories: Stories) -> None:
    """1,342 of 1,344 become jobs, planned as an oracle plans; those due in two minutes are called back once each."""
    jobs, listed_at = imported_jobs(stories), datetime.now(UTC)
    oracle = {row.id: (lambda row=row: row.after(instant(jobs[row.id]["created_at"]))) for row in possible_rows()}
    for name, occurrences in oracle.items():
        job_now = jobs[name]
        assert job_now["next_fire_time"] == job_now["next_scheduled_for"]
        # What is due within the look-ahead may be on its way already: then the job plans the one after it.
        on_their_way = until(occurrences(), listed_at + LOOK_AHEAD)
        upcoming = next(itertools.islice(occurrences(), len(on_their_way), None))
        assert instant(job_now["next_scheduled_for"]) in {*on_their_way, upcoming}, job_now

    # At least one of them, whatever the time of day.
    end = max(datetime.now(UTC) + WATCHED, min(next(occurrences()) for occurrences in oracle.values()))
    due = {run_id(jobs[name]["id"], at) for name, occurrences in oracle.items() for at in until(occurrences(), end)}
    assert_a_repeat_changes_nothing(stories)
    eventually(lambda: datetime.now(UTC) > end, (end - datetime.now(UTC)).total_seconds() + 1)
    eventually(lambda: due <= calls_due(stories, end).keys(), SETTLE_SECONDS)
    assert calls_due(stories, end) == dict.fromkeys(due, 1)
    for each in sorted(due):
        assert eventually(lambda each=each: stories.client.run(each)["state"] == "succeeded", SETTLE_SECONDS), each
        assert [attempt["status"] for attempt in stories.client.run(each)["attempts"]] == [200]


def imported_jobs(stories: Stories) -> dict[str, Json]:
    """The imported jobs by their ids in the table, after a look at the report."""
    refused = {line["name"]: line["reason"] for line in stories.report["lines"] if line["outcome"] == "refused"}
    assert stories.report["created"] == 1342
    assert refused.keys() == {f"real/{name}" for name in IMPOSSIBLE}
    assert all("no date ever matches" in reason for reason in refused.values())
    listed = stories.client.jobs({"name_prefix": "real/"})
    return {each["name"].removeprefix("real/"): each for each in listed}


def assert_a_repeat_changes_nothing(stories: Stories) -> None:
    """A second import finds each job as it is to be, and refuses the same lines."""
    again = import_schedules(stories.stack, stories.receiver)
    counts = {name: count for name, count in again.items() if name != "lines" and count}
    assert counts == {"unchanged": 1342, "refused": 2}


def calls_due(stories: Stories, end: datetime) -> Counter[str]:
    """How often each run due by an instant was called; all signatures are right."""
    calls = checked(stories.receiver.calls("/imported"))
    return Counter(call.run_id for call in calls if instant(call.headers["carillon-scheduled-for"]) <= end)


def test_a_run_outlives_its_worker(stories: Stories) -> None:
    """A run whose worker was killed in the call is tried again as the second attempt of the same run."""
    eventually(lambda: len(stories.receiver.calls("/held")) > 1, LOST_SECONDS)
    [run] = ended_runs(stories.client, stories.interrupted["id"], 1, SETTLE_SECONDS)
    assert run["state"] == "succeeded"
    assert [(attempt["status"], attempt["error"]) for attempt in run["attempts"]] == [
        (None, "worker_lost"),
        (200, None),
    ]
    calls = checked(stories.receiver.calls("/held"))
    assert [(call.run_id, call.attempt) for call in calls] == [(run["id"], 1), (run["id"], 2)]


def test_a_run_that_may_be_tried_once_is_called_once(stories: Stories) -> None:
    """Its worker was killed in the call. Its message comes again and ends it as lost: nobody can know what was done."""
    [run] = ended_runs(stories.client, stories.once["id"], 1, LOST_SECONDS)
    assert (run["state"], run["reason"]) == ("dead_lettered", "worker_lost")
    assert [attempt["error"] for attempt in run["attempts"]] == ["worker_lost"]
    calls = checked(stories.receiver.calls("/once"))
    assert [(call.run_id, call.attempt) for call in calls] == [(run["id"], 1)]
