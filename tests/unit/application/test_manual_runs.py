"""Runs that a person asks for: at once, whatever the job's plan, and without touching it."""

import pytest

from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import JobNotFoundError
from carillon.application.trigger_run import TriggerRun
from carillon.domain import editing
from carillon.domain.editing import JobFinishedError
from carillon.domain.identity import RUN_NAME, RunKey
from carillon.domain.job import JobState, MisfirePolicy, PlanningRules
from carillon.domain.retry import MAX_AGE_MS
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from support.world import DAY_MS, START_MS, TENANT, World, status

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
RETENTION_MS = 30 * DAY_MS


def trigger(world: World, job_id: str, tenant: str = TENANT) -> Run:
    """Ask for a run now."""
    return TriggerRun(world.jobs, world.runs, world.ids, RETENTION_MS)(tenant, job_id, world.clock.now_ms())


def pass_time(world: World, duration_ms: int, step_ms: int = 1_000) -> None:
    """Let time pass."""
    world.run_until(world.clock.now_ms() + duration_ms, step_ms)


def ended(world: World, run: Run) -> Run:
    """The run as it is after a minute."""
    pass_time(world, MINUTE_MS)
    stored = world.runs.get(run.key)
    assert stored is not None
    return stored


def test_b251_a_manual_run_is_shown_and_plans_nothing() -> None:
    """B251: it stands in the history beside the scheduled runs, under its own time, and the plan is what it was."""
    world = World()
    job_id = world.create(Every(HOUR_MS, START_MS))
    pass_time(world, 15 * MINUTE_MS)
    before = world.state.jobs[job_id]
    run = trigger(world, job_id)
    assert RUN_NAME.fullmatch(run.key.name)
    assert (run.key.is_manual, run.key.scheduled_for, run.state) == (True, world.clock.now_ms(), RunState.QUEUED)
    assert ended(world, run).state is RunState.SUCCEEDED
    assert world.state.jobs[job_id] == before
    pass_time(world, HOUR_MS)
    assert [record.key.is_manual for record in world.history(job_id)] == [False, True, False]
    assert run.key.run_id in world.caller.run_ids()


def test_manual_runs_of_one_instant_are_two() -> None:
    """Each has its own name, also within one millisecond."""
    world = World()
    job_id = world.create(Every(HOUR_MS, START_MS))
    runs = [trigger(world, job_id) for _ in range(5)]
    pass_time(world, MINUTE_MS)
    assert len({run.key for run in runs}) == 5
    assert all(world.caller.run_ids()[run.key.run_id] == 1 for run in runs)


def test_a_paused_job_runs_by_hand() -> None:
    """A manual run ignores the pause, its retries too; the job stays paused."""
    world = World()
    world.caller.script = [status(503), status(503)]
    job_id = world.create(Every(HOUR_MS, START_MS + HOUR_MS))
    EditJob(world.jobs, world.runs, RETENTION_MS)(TENANT, job_id, world.clock.now_ms(), editing.pause)
    run = ended(world, trigger(world, job_id))
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 3)
    assert world.state.jobs[job_id].state is JobState.PAUSED


def test_neither_misfire_nor_deadline_nor_window_apply() -> None:
    """A manual run that starts late, after an outage, runs all the same."""
    world = World(look_ahead_ms=0)
    rules = PlanningRules(MisfirePolicy.SKIP, misfire_grace_ms=0, window_ms=HOUR_MS)
    job_id = world.create(Every(DAY_MS, START_MS + DAY_MS), rules=rules, deadline_ms=1_000)
    run = trigger(world, job_id)
    world.clock.advance(2 * HOUR_MS)
    late = ended(world, run)
    assert (late.state, late.lateness_ms) == (RunState.SUCCEEDED, 2 * HOUR_MS)


@pytest.mark.parametrize("schedule", [OneOff(START_MS), Every(MINUTE_MS, START_MS, end_ms=START_MS + MINUTE_MS)])
def test_a_finished_job_runs_by_hand(schedule: OneOff | Every) -> None:
    """As long as the definition is there; it then stays as long as the new run may take."""
    world = World()
    job_id = world.create(schedule)
    pass_time(world, 10 * MINUTE_MS)
    finished = world.state.jobs[job_id]
    world.clock.advance(20 * DAY_MS)
    run = trigger(world, job_id)
    assert ended(world, run).state is RunState.SUCCEEDED
    kept = world.state.jobs[job_id]
    assert kept.state is finished.state
    assert kept.expires_at == (run.created_at + RETENTION_MS + MAX_AGE_MS) // 1000


def test_a_cancelled_job_runs_no_more() -> None:
    """Refused, and nothing is written; a manual run that waits when its job is cancelled ends with it."""
    world = World()
    job_id = world.create(Every(HOUR_MS, START_MS + HOUR_MS))
    waiting = trigger(world, job_id)
    EditJob(world.jobs, world.runs, RETENTION_MS)(TENANT, job_id, world.clock.now_ms(), editing.cancel)
    with pytest.raises(JobFinishedError):
        trigger(world, job_id)
    run = ended(world, waiting)
    assert (run.state, run.reason) == (RunState.CANCELLED, "job_cancelled")
    assert not world.caller.calls
    assert len(world.history(job_id)) == 1


def test_a_job_of_another_tenant_is_unknown() -> None:
    """Like one that never was."""
    world = World()
    job_id = world.create(Every(HOUR_MS, START_MS + HOUR_MS))
    with pytest.raises(JobNotFoundError):
        trigger(world, job_id, tenant="globex")


def test_a_manual_name_is_read_back() -> None:
    """The id of a manual run leads back to it."""
    key = RunKey.manual("job_01JABCDEFGHJKMNPQRSTVWXYZ0", START_MS, "0Z9K")
    assert RunKey.parse(key.run_id) == key
    assert (key.is_manual, key.scheduled_for) == (True, START_MS)
