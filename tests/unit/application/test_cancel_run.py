"""Cancelling one run holds at every stage of it: before its call, during it, and while it waits."""

import pytest

from carillon.application.cancel_run import CancelRun, RunEndedError
from carillon.application.read_runs import RunNotFoundError
from carillon.application.trigger_run import TriggerRun
from carillon.domain.identity import RunKey
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered, failed
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from support.world import DAY_MS, START_MS, TENANT, World, dies, status

MINUTE_MS = 60_000
RETENTION_MS = 30 * DAY_MS


def cancel(world: World, key: RunKey, tenant: str = TENANT) -> Run:
    """Cancel a run now."""
    return CancelRun(world.jobs, world.runs, RETENTION_MS)(tenant, key.run_id, world.clock.now_ms())


def only_run(world: World, job_id: str) -> Run:
    """The one record of a job."""
    (run,) = world.history(job_id)
    return run


def test_a_run_that_waits_ends_at_once() -> None:
    """It is not tried again, and its message in the queue is void."""
    world = World()
    job_id = world.create(OneOff(START_MS), retry=RetryPolicy(base_ms=1_000, jitter=Jitter.NONE))
    world.caller.script = [status(503)]
    world.run_until(START_MS + 1_000)
    world.dispatch()
    assert only_run(world, job_id).state is RunState.RETRYING
    assert cancel(world, RunKey.of(job_id, START_MS)).state is RunState.CANCELLED
    world.run_until(START_MS + MINUTE_MS)
    run = only_run(world, job_id)
    assert (run.state, run.reason, run.attempt) == (RunState.CANCELLED, "run_cancelled", 1)
    assert len(world.caller.calls) == 1


def test_a_queued_run_by_hand_never_starts() -> None:
    """The job goes on by its plan."""
    world = World()
    job_id = world.create(Every(MINUTE_MS, START_MS + MINUTE_MS))
    queued = TriggerRun(world.jobs, world.runs, world.ids, RETENTION_MS)(TENANT, job_id, START_MS)
    cancel(world, queued.key)
    world.run_until(START_MS + 90_000)
    assert world.caller.run_ids() == {RunKey.of(job_id, START_MS + MINUTE_MS).run_id: 1}


def test_a_call_is_broken_off_by_the_next_beat() -> None:
    """The run ends as cancelled, not as failed, and is not tried again."""
    world = World()
    job_id = world.create(OneOff(START_MS))

    def hangs(_request: CallRequest, beat: object) -> Outcome:
        assert callable(beat)
        assert beat()
        assert cancel(world, RunKey.of(job_id, START_MS)).state is RunState.RUNNING
        assert not beat()
        return failed(Failure.CANCELLED, started_ms=0, duration_ms=1)

    world.caller.script = [hangs]
    world.run_until(START_MS + MINUTE_MS)
    run = only_run(world, job_id)
    assert (run.state, run.reason, run.attempts[-1].error) == (RunState.CANCELLED, "run_cancelled", "cancelled")
    assert len(world.caller.calls) == 1


@pytest.mark.parametrize(
    ("code", "state"), [(200, RunState.SUCCEEDED), (503, RunState.CANCELLED), (400, RunState.CANCELLED)]
)
def test_an_answer_that_came_before_the_beat_counts(code: int, state: RunState) -> None:
    """A success is a success; a failure is the last one."""
    world = World()
    job_id = world.create(OneOff(START_MS))

    def answers(_request: CallRequest, _beat: object) -> Outcome:
        cancel(world, RunKey.of(job_id, START_MS))
        return answered(status=code, headers=(), started_ms=0, duration_ms=1)

    world.caller.script = [answers]
    world.run_until(START_MS + MINUTE_MS)
    assert (only_run(world, job_id).state, len(world.caller.calls)) == (state, 1)


def test_a_cancelled_call_whose_worker_dies_is_not_tried_again() -> None:
    """Its message comes again, finds the lease run out and the wish, and ends the run."""
    world = World()
    job_id = world.create(OneOff(START_MS))

    def dies_cancelled(request: CallRequest, beat: object) -> Outcome:
        assert callable(beat)
        cancel(world, RunKey.of(job_id, START_MS))
        return dies(request, beat)

    world.caller.script = [dies_cancelled]
    world.run_until(START_MS + 10 * MINUTE_MS)
    run = only_run(world, job_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, "run_cancelled")
    assert len(world.caller.calls) == 1


def test_cancelling_twice_is_cancelling_once() -> None:
    """The second answer is the first one."""
    world = World()
    job_id = world.create(OneOff(START_MS))
    world.caller.script = [status(503)]
    world.run_until(START_MS + 500, step_ms=500)
    key = RunKey.of(job_id, START_MS)
    assert cancel(world, key) == cancel(world, key)


def test_what_has_ended_or_is_not_ones_own_cannot_be_cancelled() -> None:
    """And what has no record yet is not known."""
    world = World()
    job_id = world.create(Every(MINUTE_MS, START_MS))
    world.run_until(START_MS + 1_000)
    with pytest.raises(RunEndedError, match="succeeded"):
        cancel(world, RunKey.of(job_id, START_MS))
    for key, tenant in ((RunKey.of(job_id, START_MS), "globex"), (RunKey.of(job_id, START_MS + MINUTE_MS), TENANT)):
        with pytest.raises(RunNotFoundError):
            cancel(world, key, tenant)
