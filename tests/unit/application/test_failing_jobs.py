"""A job whose runs all fail, for a day, is paused: with a reason, once, and at no cost for the runs that succeed."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carillon.application.edit_job import EditJob
from carillon.application.pause_failing import pause_failing
from carillon.application.run_records import RunRecords
from carillon.domain import editing
from carillon.domain.failing import FailingRules
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition, HttpTarget, JobState
from carillon.domain.outcomes import Failure
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import FailedRow, RunState
from carillon.domain.schedule import Every, OneOff
from carillon.ports.errors import UnavailableError
from support.world import DAY_MS, START_MS, TENANT, World, failure, status

HOUR_MS = 3_600_000
EACH_HOUR = Every(HOUR_MS, START_MS + HOUR_MS)
ONCE = RetryPolicy(max_attempts=1, jitter=Jitter.NONE)


class Watchful(World):
    """A world that pauses a job after three failures in a row, the first of them two hours before the last."""

    rules = FailingRules(runs=3, over_ms=2 * HOUR_MS)

    def records(self) -> RunRecords:
        """The records of runs, with the rules."""
        return replace(super().records(), failing=self.rules)

    def hourly(self, *script: Callable[..., Any], **spec: Any) -> str:
        """A job that is tried once an hour, and its target's answers."""
        self.caller.script = list(script)
        return self.create(EACH_HOUR, **{"retry": ONCE, **spec})

    def hours(self, count: int) -> None:
        """Let so many of its runs end."""
        for _ in range(count):
            self.run_until(self.clock.now_ms() + HOUR_MS, 60_000)

    def stored(self, job_id: str) -> Definition:
        """The job as it is."""
        found = self.jobs.get(job_id)
        assert found is not None
        return found

    def edit(self, job_id: str, change: Callable[..., Any]) -> None:
        """Edit the job now."""
        EditJob(self.jobs, self.runs, 30 * DAY_MS)(TENANT, job_id, self.clock.now_ms(), change)


def moved(seen: Definition, at: editing.Moment) -> editing.Edited:
    """The job with another URL."""
    new = replace(seen.spec, target=HttpTarget("https://new.example.net/cb"))
    return editing.change(seen, replace(seen, spec=new), at)


@pytest.mark.parametrize(
    "answers",
    [[status(500)] * 9, [status(404)] * 9, [failure(Failure.TIMEOUT)] * 9, [status(500), status(404), status(403)] * 3],
    ids=["exhausted", "permanent", "no-answer", "mixed"],
)
def test_failures_in_a_row_pause_the_job_and_say_so(answers: list[Any]) -> None:
    """The last of them has its record, nothing is called any more, and the job says why it is paused."""
    world = Watchful()
    job_id = world.hourly(*answers)
    world.hours(6)
    definition = world.stored(job_id)
    assert (definition.job.state, definition.spec.state_reason) == (JobState.PAUSED, "failing")
    assert definition.job.next_fire_time is None
    assert [run.failed_row and run.failed_row.runs for run in world.history(job_id)] == [1, 2, 3]
    assert (len(world.caller.calls), world.meter.counts["jobs_failing"]) == (3, 1)


def test_many_failures_in_too_short_a_time_pause_nothing_yet() -> None:
    """Three failures within minutes are an incident. The row goes on, and the job is paused when it is long enough."""
    world = Watchful()
    minute = Every(60_000, START_MS + 60_000)
    world.caller.script = [status(500)] * 1_000
    job_id = world.create(minute, retry=ONCE)
    world.run_until(START_MS + 120 * 60_000)
    assert world.stored(job_id).job.state is JobState.SCHEDULED
    world.run_until(START_MS + 125 * 60_000)
    assert world.stored(job_id).job.state is JobState.PAUSED
    row = world.history(job_id)[-1].failed_row
    assert row == FailedRow(121, START_MS + 60_000)


def test_a_success_ends_the_row() -> None:
    """Two failures, a success, two failures: no row of three."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 2, status(200), *[status(500)] * 2)
    world.hours(8)
    assert world.stored(job_id).job.state is JobState.SCHEDULED
    rows = [run.failed_row and run.failed_row.runs for run in world.history(job_id)]
    assert rows == [1, 2, None, 1, 2, None, None][: len(rows)]


def test_what_was_skipped_or_cancelled_is_passed_over() -> None:
    """Such runs say nothing of the target: they neither are failures nor end the row."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 9)
    world.hours(3)
    assert world.stored(job_id).job.state is JobState.SCHEDULED
    first, second = world.history(job_id)
    between = replace(second, key=RunKey.of(job_id, second.scheduled_for + 60_000), failed_row=None)
    skipped = replace(between, scheduled_for=second.scheduled_for + 60_000, state=RunState.SKIPPED)
    world.state.runs[job_id][skipped.key.name] = skipped
    world.hours(1)
    assert first.failed_row == FailedRow(1, first.ended_at or 0)
    assert world.stored(job_id).job.state is JobState.PAUSED


@pytest.mark.parametrize("kind", ["edited", "resumed"])
def test_an_edit_or_a_resume_counts_anew(kind: str) -> None:
    """What failed before it was another definition's, or was known to whoever resumed."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 20)
    world.run_until(START_MS + 2 * HOUR_MS + 60_000, 60_000)
    assert len(world.caller.calls) == 2
    if kind == "edited":
        world.edit(job_id, moved)
    else:
        world.edit(job_id, editing.pause)
        world.edit(job_id, lambda seen, at: editing.resume(seen, at, catch_up=False))
    world.hours(2)
    assert world.stored(job_id).job.state is JobState.SCHEDULED
    world.hours(1)
    assert (world.stored(job_id).job.state, len(world.caller.calls)) == (JobState.PAUSED, 5)
    world.edit(job_id, lambda seen, at: editing.resume(seen, at, catch_up=False))
    assert world.stored(job_id).spec.state_reason is None
    world.hours(2)
    assert world.stored(job_id).job.state is JobState.SCHEDULED


def test_failures_at_the_same_time_pause_once() -> None:
    """Each of many finds the row long enough; the job is paused by one of them, and only once."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 9)
    world.hours(4)
    before = world.stored(job_id)
    for run in world.history(job_id):
        pause_failing(world.records(), replace(run, failed_row=world.history(job_id)[-1].failed_row))
    assert world.stored(job_id) == before
    assert before.job.state is JobState.PAUSED


def test_an_edit_between_the_last_failure_and_the_pause_wins() -> None:
    """Whoever has just given the job another URL finds it as they left it."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 2)
    world.hours(3)
    last = replace(world.history(job_id)[-1], failed_row=FailedRow(3, START_MS + HOUR_MS))
    world.edit(job_id, moved)
    pause_failing(world.records(), last)
    assert world.stored(job_id).job.state is JobState.SCHEDULED


def test_a_run_that_succeeds_costs_nothing() -> None:
    """No record is listed and no job is written beyond what the run needs itself."""
    world = Watchful()
    world.hourly()
    world.hours(4)
    assert len(world.caller.calls) == 3
    assert (world.calls_made["runs.list_newest"], world.calls_made["jobs.replace"]) == (0, 0)


def test_a_failure_costs_one_read() -> None:
    """The newest records are read once for each dead letter, and never for an attempt that is tried again."""
    world = Watchful()
    world.hourly(*[status(500)] * 4, retry=RetryPolicy(max_attempts=2, jitter=Jitter.NONE))
    world.hours(3)
    assert len(world.caller.calls) == 4
    assert (world.calls_made["runs.list_newest"], world.calls_made["jobs.replace"]) == (2, 0)


def test_a_row_that_cannot_be_read_holds_no_record_up(caplog: pytest.LogCaptureFixture) -> None:
    """The run ends as a dead letter all the same, and the log says that its row was not counted."""
    world = Watchful()
    job_id = world.hourly(status(404))

    class Deaf(type(world.runs)):  # type: ignore[misc]  # the class of the world's own store
        """A store that lists nothing."""

        def list_newest(self, *_: object) -> object:
            """Does not answer."""
            raise UnavailableError("no answer")

    world.runs = Deaf(world.state)
    with caplog.at_level(logging.WARNING, logger="carillon"):
        world.hours(2)
    assert [run.state for run in world.history(job_id)] == [RunState.DEAD_LETTERED]
    assert [record.__dict__["action"] for record in caplog.records] == ["failures_uncounted"]


def test_a_single_run_is_no_row() -> None:
    """A one-off that has failed leaves nothing to pause, and nothing is read for it."""
    world = Watchful()
    world.caller.script = [status(404)]
    job_id = world.create(OneOff(START_MS + 1_000))
    world.run_until(START_MS + 60_000)
    assert world.run_of(job_id, START_MS + 1_000).failed_row is None
    assert world.calls_made["runs.list_newest"] == 0


def test_a_redriven_run_that_succeeds_ends_the_row() -> None:
    """Its record is a success by then."""
    world = Watchful()
    job_id = world.hourly(*[status(500)] * 2)
    world.hours(3)
    newest = world.history(job_id)[-1]
    world.state.runs[job_id][newest.key.name] = replace(newest, state=RunState.SUCCEEDED, failed_row=None)
    world.caller.script = [status(500)] * 2
    world.hours(2)
    assert world.stored(job_id).job.state is JobState.SCHEDULED
