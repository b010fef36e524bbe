"""Runs spread over a window: the nominal time names them, and they are on time when their delay has passed."""

from carillon.application.edit_job import EditJob
from carillon.domain.editing import pause
from carillon.domain.job import PlanningRules
from carillon.domain.planning import window_offset
from carillon.domain.run import RunState
from carillon.domain.schedule import Every
from support.world import DAY_MS, START_MS, TENANT, World

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
RULES = PlanningRules(window_ms=20 * MINUTE_MS, misfire_grace_ms=1_000)


def hourly(world: World, **spec: int) -> tuple[str, int]:
    """A job that is due each hour, and its constant delay, which is not small."""
    job_id = world.create(Every(HOUR_MS, START_MS), rules=RULES, **spec)
    offset_ms = window_offset(job_id, RULES.window_ms)
    assert offset_ms > 2 * MINUTE_MS
    return job_id, offset_ms


def test_each_run_starts_after_the_constant_delay() -> None:
    """The record bears the nominal time, the call comes after the delay, and none of it counts as lateness."""
    world = World()
    job_id, offset_ms = hourly(world)
    world.run_until(START_MS + 3 * HOUR_MS, 5_000)
    nominal = [START_MS + number * HOUR_MS for number in range(3)]
    assert [run.scheduled_for for run in world.history(job_id)] == nominal
    for (_, called_ms), due_ms in zip(world.caller.calls, nominal, strict=True):
        assert 0 <= called_ms - due_ms - offset_ms <= 5_000
    assert all(0 <= (run.lateness_ms or 0) <= 5_000 for run in world.history(job_id))


def test_a_deadline_counts_from_when_the_run_is_due() -> None:
    """A deadline that is shorter than the delay skips nothing; what starts too late after the delay is skipped."""
    world = World(look_ahead_ms=0)
    job_id, offset_ms = hourly(world, deadline_ms=MINUTE_MS)
    world.run_until(START_MS + HOUR_MS, 5_000)
    world.clock.set(START_MS + HOUR_MS + offset_ms)
    world.dispatch()
    world.clock.advance(MINUTE_MS + 1_000)
    world.work()
    first, second = world.history(job_id)
    assert (first.state, second.state, second.reason) == (RunState.SUCCEEDED, RunState.SKIPPED, "deadline")


def test_a_pause_compares_nominal_times() -> None:
    """An occurrence whose nominal time has come belongs to the time before the pause, though its run is not due yet."""
    world = World(look_ahead_ms=0)
    job_id, offset_ms = hourly(world)
    world.clock.set(START_MS + offset_ms // 2)
    EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, world.clock.now_ms(), pause)
    [record] = world.history(job_id)
    assert (record.scheduled_for, record.state, record.reason) == (START_MS, RunState.SKIPPED, "paused")
