"""Dead letters get their attempts anew when somebody asks for it: once, under the same name, within limits."""

from collections import Counter

import pytest

from carillon.application.edit_job import EditJob
from carillon.application.read_runs import RunNotFoundError
from carillon.application.redrive import (
    MOST_REDRIVEN,
    DeadLetterFilter,
    ListDeadLetters,
    NotRedrivableError,
    RedriveMany,
    RedriveRun,
)
from carillon.domain import editing
from carillon.domain.dead_letters import position_of
from carillon.domain.retry import MAX_AGE_MS, Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from support.world import DAY_MS, START_MS, TENANT, Fault, KilledError, World, dies, status

MINUTE_MS = 60_000
RETENTION_MS = 30 * DAY_MS
TWO_TRIES = RetryPolicy(max_attempts=2, base_ms=1_000, jitter=Jitter.NONE)


def redrive_of(world: World) -> RedriveRun:
    """The use case, as a new process would build it."""
    return RedriveRun(world.port("jobs"), world.port("runs"), RETENTION_MS)


def redriven(world: World, run: Run) -> Run:
    """Redrive a run now."""
    return redrive_of(world)(TENANT, run.key.run_id, world.clock.now_ms())


def dead(world: World, **spec: object) -> Run:
    """A run of a one-off that has failed twice."""
    job_id = world.create(OneOff(world.clock.now_ms()), retry=TWO_TRIES, **spec)
    world.caller.script = [status(503), status(503)]
    world.run_until(world.clock.now_ms() + MINUTE_MS)
    (run,) = world.history(job_id)
    assert run.state is RunState.DEAD_LETTERED
    return run


def after_a_minute(world: World, run: Run) -> Run:
    """The run, when dispatchers and workers have had a minute."""
    world.run_until(world.clock.now_ms() + MINUTE_MS)
    stored = world.runs.get(run.key)
    assert stored is not None
    return stored


def test_a_redriven_run_goes_on_under_its_name() -> None:
    """The attempts are numbered on, the receiver sees the same id, and it can succeed."""
    world = World()
    run = dead(world)
    assert redriven(world, run).state is RunState.RETRYING
    ended = after_a_minute(world, run)
    assert (ended.state, ended.attempt, ended.expires_at is not None) == (RunState.SUCCEEDED, 3, True)
    assert world.caller.run_ids() == {run.key.run_id: 3}
    assert [dict(request.headers)["Carillon-Max-Attempts"] for request, _ in world.caller.calls] == ["2", "2", "4"]


def test_a_redriven_run_has_all_its_attempts_again() -> None:
    """No more and no fewer than the job's policy says; then it is a dead letter again, and can be redriven again."""
    world = World()
    run = dead(world)
    for attempts in (4, 6):
        world.caller.script = [status(503)] * 9
        redriven(world, run)
        ended = after_a_minute(world, run)
        assert (ended.state, ended.attempt, ended.reason) == (RunState.DEAD_LETTERED, attempts, "attempts_exhausted")


def test_lost_workers_are_counted_anew() -> None:
    """A run that died with its workers gets as many lost attempts as any other."""
    world = World()
    job_id = world.create(OneOff(START_MS))
    world.caller.script = [dies, dies, dies]
    world.run_until(START_MS + 60 * MINUTE_MS, 10_000)
    (run,) = world.history(job_id)
    assert (run.state, run.reason, run.lost) == (RunState.DEAD_LETTERED, "worker_lost", 2)
    world.caller.script = [dies]
    redriven(world, run)
    world.run_until(world.clock.now_ms() + 60 * MINUTE_MS, 10_000)
    assert world.history(job_id)[0].state is RunState.SUCCEEDED


def test_b112_of_two_redrives_one_holds() -> None:
    """B112: a succeeded run is not run again, and of two redrives at once one makes attempts."""
    world = World()
    run = dead(world)
    redriven(world, run)
    with pytest.raises(NotRedrivableError, match="it is retrying"):
        redriven(world, run)
    ended = after_a_minute(world, run)
    with pytest.raises(NotRedrivableError, match="it is succeeded"):
        redriven(world, ended)
    assert world.caller.run_ids() == {run.key.run_id: 3}


def test_a_redrive_that_dies_can_be_repeated() -> None:
    """Killed before its write nothing has happened; killed behind it the run is on its way, once."""
    for after in (False, True):
        world = World()
        run = dead(world)
        world.fault = Fault("runs.save", 1, after)
        with pytest.raises(KilledError):
            redriven(world, run)
        world.fault = None
        if after:
            with pytest.raises(NotRedrivableError):
                redriven(world, run)
        else:
            redriven(world, run)
        assert after_a_minute(world, run).state is RunState.SUCCEEDED
        assert world.caller.run_ids() == {run.key.run_id: 3}


def test_what_came_too_late_is_not_redriven() -> None:
    """Past its deadline, of a job that is gone or cancelled, of another tenant, older than fourteen days."""
    world = World()
    old, late, gone = dead(world), dead(world, deadline_ms=2 * MINUTE_MS), dead(world)
    cancelled = world.history(many(world, 1))[0]
    EditJob(world.jobs, world.runs, RETENTION_MS)(TENANT, cancelled.key.job_id, world.clock.now_ms(), editing.cancel)
    world.clock.advance(2 * MINUTE_MS)
    world.state.remove_job(gone.key.job_id)
    refusals = {"it is past its deadline": late, "its job is gone": gone, "its job is cancelled": cancelled}
    for reason, run in refusals.items():
        with pytest.raises(NotRedrivableError, match=reason):
            redriven(world, run)
    with pytest.raises(RunNotFoundError):
        redrive_of(world)("globex", old.key.run_id, world.clock.now_ms())
    world.clock.advance(MAX_AGE_MS)
    with pytest.raises(NotRedrivableError, match="older than 14 days"):
        redriven(world, old)
    assert all(world.runs.get(run.key) == run for run in (old, *refusals.values()))


def test_a_job_outlives_the_redrive_of_its_run() -> None:
    """A finished one-off is kept as long as the run may take from now on."""
    world = World()
    run = dead(world)
    before = world.state.jobs[run.key.job_id].expires_at
    world.clock.advance(10 * DAY_MS)
    redriven(world, run)
    kept = world.state.jobs[run.key.job_id].expires_at
    assert before is not None
    assert kept is not None
    assert kept - before >= 10 * DAY_MS // 1000


def many(world: World, count: int) -> str:
    """A job with so many dead letters."""
    start_ms = world.clock.now_ms()
    job_id = world.create(Every(1_000, start_ms), retry=RetryPolicy(max_attempts=1))
    world.caller.script = [status(503)] * count
    world.run_until(start_ms + count * 1_000)
    EditJob(world.jobs, world.runs, RETENTION_MS)(TENANT, job_id, world.clock.now_ms(), editing.pause)
    return job_id


def test_many_are_redriven_in_portions() -> None:
    """A dry run counts and writes nothing; each run is redriven once; a repeat finds none."""
    world = World()
    job_id = many(world, MOST_REDRIVEN + 3)
    other = dead(world)
    use_case = RedriveMany(ListDeadLetters(world.runs), redrive_of(world))
    now_ms, wanted = world.clock.now_ms(), DeadLetterFilter(job_id)
    before = dict(world.state.runs[job_id])
    total, position, rounds = 0, None, 0
    while rounds == 0 or position is not None:
        counted = use_case(TENANT, wanted, now_ms, dry_run=True, after=position)
        total, position, rounds = total + counted.redriven, counted.position, rounds + 1
    assert (total, dict(world.state.runs[job_id])) == (MOST_REDRIVEN + 3, before)
    done = 0
    while (made := use_case(TENANT, wanted, now_ms, dry_run=False)).redriven:
        done += made.redriven
    assert done == MOST_REDRIVEN + 3
    assert Counter(run.state for run in world.history(job_id))[RunState.RETRYING] == MOST_REDRIVEN + 3
    assert world.runs.get(other.key) == other


def test_those_that_are_refused_do_not_stop_the_others() -> None:
    """They are counted by their reason."""
    world = World()
    late = dead(world, deadline_ms=MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    fine = dead(world)
    use_case = RedriveMany(ListDeadLetters(world.runs), redrive_of(world))
    made = use_case(TENANT, DeadLetterFilter(), world.clock.now_ms(), dry_run=False)
    assert (made.redriven, dict(made.refused)) == (1, {"it is past its deadline": 1})
    assert after_a_minute(world, fine).state is RunState.SUCCEEDED
    assert world.runs.get(late.key) == late


def test_the_list_is_filtered_and_the_latest_come_first() -> None:
    """By job, and by the instant of their end."""
    world = World()
    first, second = dead(world), dead(world)
    listed = ListDeadLetters(world.runs)
    assert [run.key for run in listed(TENANT, DeadLetterFilter(), 9, None).items] == [second.key, first.key]
    assert listed(TENANT, DeadLetterFilter(first.key.job_id), 9, None).items == (first,)
    assert listed(TENANT, DeadLetterFilter(since_ms=second.ended_at or 0), 9, None).items == (second,)
    page = listed(TENANT, DeadLetterFilter(), 1, None)
    assert page.position == position_of(second)
    assert listed(TENANT, DeadLetterFilter(), 1, page.position).items == (first,)
    assert listed("globex", DeadLetterFilter(), 9, None).items == ()
