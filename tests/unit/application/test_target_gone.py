"""A target that answers 410 pauses its job, and the record of the run never depends on it."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carillon.application.edit_job import EditJob
from carillon.domain import editing
from carillon.domain.job import Definition, HttpTarget, JobState
from carillon.domain.outcomes import CallRequest, Outcome
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, OneOff
from carillon.ports.errors import UnavailableError
from support.world import DAY_MS, START_MS, TENANT, World, status

MINUTE_MS = 60_000
EACH_MINUTE = Every(MINUTE_MS, START_MS + 5_000)


def stored(world: World, job_id: str) -> Definition:
    """The job as it is."""
    found = world.jobs.get(job_id)
    assert found is not None
    return found


def edit(world: World, job_id: str, change: Callable[..., Any]) -> None:
    """Edit a job now."""
    EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, world.clock.now_ms(), change)


@pytest.mark.parametrize("number", [1, 3])
def test_410_ends_the_run_and_pauses_the_job(number: int) -> None:
    """The run is a dead letter without another try, nothing is called any more, and the job says why."""
    world = World()
    world.caller.script = [*[status(200)] * (number - 1), status(410)]
    job_id = world.create(EACH_MINUTE)
    world.run_until(START_MS + 10 * MINUTE_MS)
    definition = stored(world, job_id)
    assert (definition.job.state, definition.spec.state_reason) == (JobState.PAUSED, "target_gone")
    assert definition.job.next_fire_time is None
    assert len(world.caller.calls) == number
    ended = [(run.state, run.reason) for run in world.history(job_id)]
    assert ended == [*[(RunState.SUCCEEDED, None)] * (number - 1), (RunState.DEAD_LETTERED, "target_gone")]
    assert world.meter.counts["targets_gone"] == 1


@pytest.mark.parametrize(
    ("answer", "retry_on"),
    [(status(404), None), (status(410, webhook_delivery="abort-message"), None), (status(410), (410,))],
    ids=["404", "aborted", "retried by the job's own list"],
)
def test_what_is_no_farewell_pauses_nothing(answer: Any, retry_on: tuple[int, ...] | None) -> None:
    """Other refusals, an aborted delivery, and a 410 that the job wants retried leave the job as it is."""
    world = World()
    world.caller.script = [answer]
    job_id = world.create(EACH_MINUTE, retry=RetryPolicy(jitter=Jitter.NONE, retry_on=retry_on))
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert stored(world, job_id).job.state is JobState.SCHEDULED
    assert len(world.caller.calls) > 1


def test_a_job_that_calls_another_url_by_now_is_not_paused() -> None:
    """The old target's farewell says nothing about the new one."""
    world = World()

    def moved_meanwhile(request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        new = HttpTarget("https://new.example.net/cb")

        def change(seen: Definition, at: editing.Moment) -> editing.Edited:
            return editing.change(seen, replace(seen, spec=replace(seen.spec, target=new)), at)

        edit(world, job_id, change)
        return status(410)(request, beat)

    world.caller.script = [moved_meanwhile]
    job_id = world.create(EACH_MINUTE)
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert stored(world, job_id).job.state is JobState.SCHEDULED
    assert [run.state for run in world.history(job_id)] == [RunState.DEAD_LETTERED, RunState.SUCCEEDED]


def test_the_only_run_of_a_job_leaves_nothing_to_pause() -> None:
    """A finished job stays finished."""
    world = World()
    world.caller.script = [status(410)]
    job_id = world.create(OneOff(START_MS + 1_000))
    world.run_until(START_MS + MINUTE_MS)
    assert stored(world, job_id).job.state is JobState.DISPATCHED
    assert world.run_of(job_id, START_MS + 1_000).reason == "target_gone"


def test_a_pause_that_fails_loses_no_record(caplog: pytest.LogCaptureFixture) -> None:
    """When the store refuses the pause, the run has ended all the same, its message is done, and the log says so."""
    world = World()
    world.caller.script = [status(410)]
    job_id = world.create(EACH_MINUTE)

    class Stubborn(type(world.jobs)):  # type: ignore[misc]  # the class of the world's own store
        """A store that replaces nothing."""

        def replace(self, *_: object, **__: object) -> bool:
            """Does not answer."""
            raise UnavailableError("no answer")

    world.jobs = Stubborn(world.state)
    with caplog.at_level(logging.WARNING, logger="carillon"):
        world.run_until(START_MS + 20_000)
    assert world.run_of(job_id, START_MS + 5_000).reason == "target_gone"
    assert stored(world, job_id).job.state is JobState.SCHEDULED
    assert [record.__dict__["action"] for record in caplog.records] == ["pause_failed"]
    assert len(world.caller.calls) == 1


def test_after_a_resume_the_job_is_tried_again() -> None:
    """The tenant resumes: the reason is gone, and the next occurrence is called."""
    world = World()
    world.caller.script = [status(410)]
    job_id = world.create(EACH_MINUTE)
    world.run_until(START_MS + 3 * MINUTE_MS)
    edit(world, job_id, lambda seen, at: editing.resume(seen, at, catch_up=False))
    world.run_until(START_MS + 4 * MINUTE_MS)
    assert stored(world, job_id).spec.state_reason is None
    assert len(world.caller.calls) == 2
