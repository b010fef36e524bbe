"""What went wrong in other schedulers between planning, sending and recording, told as stories of ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, Every, OneOff
from carillon.ports.errors import UnavailableError
from support.world import DAY_MS, START_MS, Fault, World

HOUR_MS = 3_600_000
MINUTE_MS = 60_000


@contextmanager
def unavailable(*stores: object, methods: tuple[str, ...]) -> Iterator[None]:
    """Let these methods of the stores fail, before they do anything."""

    def fails(*_: Any, **__: Any) -> Any:
        raise UnavailableError("throttled")

    patches = [patch.object(store, method, fails) for store in stores for method in methods if hasattr(store, method)]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


def step(world: World) -> None:
    """One tick, and one look at the queues; whoever meets a store that fails leaves things as they are."""
    with suppress(UnavailableError):
        world.dispatch()
    for delivery in world.receive():
        with suppress(UnavailableError):
            world.handle(delivery)


def ends(world: World, job_id: str) -> list[tuple[int, RunState, int]]:
    """What became of a job's occurrences: minutes from the start, state, attempts."""
    return [((r.scheduled_for - START_MS) // MINUTE_MS, r.state, r.attempt) for r in world.history(job_id)]


def test_b100_a_message_that_is_sent_again_much_later_starts_nothing() -> None:
    """The queue may have forgotten that it had the message; the record of the run has not."""
    world = World()
    job_id = world.create(OneOff(START_MS + 1_000))
    world.dispatch()
    world.clock.advance(1_000)
    (message,) = [one.body for queue in world.queues.queues.values() for one in queue.receive(1, 0)]
    world.run_until(START_MS + 5_000)
    before = world.history(job_id)
    for after_ms in (301_000, 13 * DAY_MS):
        world.clock.set(START_MS + after_ms)
        world.queues.queues["normal"].send(message)  # type: ignore[index] - a name is its text
        world.work()
    assert len(world.caller.calls) == 1
    assert world.history(job_id) == before
    assert not any(len(queue) for queue in world.queues.queues.values())


def test_b103_a_crash_between_the_run_and_the_next_plan_repeats_nothing() -> None:
    """The run is done and the plan still shows it: whoever comes twelve hours later sees that, and plans next week."""
    world = World(look_ahead_ms=0, fault=Fault("jobs.confirm_many", nth=1, after=False))
    schedule = CronSchedule("0 8 * * 1", "UTC")
    job_id = world.create(schedule)
    monday_ms = world.state.jobs[job_id].scheduled_for or 0
    world.clock.set(monday_ms)
    assert world.dispatch() is None
    world.work()
    assert world.run_of(job_id, monday_ms).state is RunState.SUCCEEDED
    assert world.state.jobs[job_id].scheduled_for == monday_ms
    world.clock.set(monday_ms + 12 * HOUR_MS + MINUTE_MS)
    world.run_until(world.clock.now_ms() + MINUTE_MS)
    assert len(world.caller.calls) == 1
    assert world.state.jobs[job_id].scheduled_for == monday_ms + 7 * DAY_MS
    assert [run.scheduled_for for run in world.history(job_id)] == [monday_ms]


def test_b110_an_instant_that_is_looked_at_twice_runs_once() -> None:
    """The dispatcher's clock is corrected by 30 ms, to before its last look."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(MINUTE_MS, START_MS))
    for at_ms in (50, 20, 80):
        world.clock.set(START_MS + at_ms)
        world.dispatch()
        world.work()
    assert ends(world, job_id) == [(0, RunState.SUCCEEDED, 1)]
    assert world.state.jobs[job_id].scheduled_for == START_MS + MINUTE_MS


def test_b119_a_weekly_job_fires_weekly_though_every_process_is_new() -> None:
    """No process lives for a week: what is due is in the table and nowhere else."""
    world = World()
    job_id = world.create(Every(7 * DAY_MS, START_MS + 3 * DAY_MS))
    world.run_until(START_MS + 28 * DAY_MS, step_ms=HOUR_MS)
    weekly = [START_MS + day * DAY_MS for day in (3, 10, 17, 24)]
    assert [run.scheduled_for for run in world.history(job_id)] == weekly
    assert [at_ms for _, at_ms in world.caller.calls] == weekly


def test_b128_a_result_that_cannot_be_written_leaves_no_run_going_on_for_ever() -> None:
    """The table throttles from the answer on: the run is taken up after its lease, as the next attempt."""
    world = World(look_ahead_ms=0)
    job_id = world.create(OneOff(START_MS))
    outage = unavailable(world.runs, methods=("save",))
    world.caller.script = [_answers_then(outage.__enter__)]
    step(world)
    assert world.run_of(job_id, START_MS).state is RunState.RUNNING
    for _ in range(5):
        world.clock.advance(MINUTE_MS)
        step(world)
    assert world.run_of(job_id, START_MS).state is RunState.RUNNING
    outage.__exit__(None, None, None)
    world.run_until(world.clock.now_ms() + 5 * MINUTE_MS)
    run = world.run_of(job_id, START_MS)
    assert (run.state, [attempt.error for attempt in run.attempts]) == (RunState.SUCCEEDED, ["worker_lost", None])
    assert world.caller.run_ids() == {run.key.run_id: 2}


def test_b130_the_next_occurrence_does_not_wait_for_the_last_result() -> None:
    """No store answers for two minutes: what was due meanwhile runs, the run without a result is tried once more."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(MINUTE_MS, START_MS, end_ms=START_MS + 4 * MINUTE_MS))
    everything = ("get", "save", "pages", "claim_many", "confirm_many", "leave_index", "take")
    outage = unavailable(world.jobs, world.runs, world.index, world.leases, methods=everything)
    world.caller.script = [_answers_then(outage.__enter__)]
    step(world)
    for _ in range(120):
        world.clock.advance(1_000)
        step(world)
    outage.__exit__(None, None, None)
    world.run_until(START_MS + 10 * MINUTE_MS)
    first, *others = ends(world, job_id)
    assert first == (0, RunState.SUCCEEDED, 2)
    assert others == [(minute, RunState.SUCCEEDED, 1) for minute in (1, 2, 3, 4)]


def _answers_then(act: Callable[[], Any]) -> Callable[[CallRequest, Callable[[], bool]], Outcome]:
    def answer(_request: CallRequest, _beat: Callable[[], bool]) -> Outcome:
        act()
        return answered(status=200, started_ms=0, duration_ms=1)

    return answer
