"""A tenant's dispatch rate: what waits for its slot waits in the due index, is no misfire, and is never lost."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from carillon.application.edit_job import Edit, EditJob
from carillon.application.trigger_run import TriggerRun
from carillon.domain.editing import Edited, cancel, change, pause
from carillon.domain.job import Definition, JobState, MisfirePolicy, PlanningRules
from carillon.domain.limits import NO_LIMITS, DispatchLimit, Limits
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, OneOff, encode
from carillon.domain.settling import Moment
from carillon.domain.slots import LONGEST_INTERVAL_US, Pace
from carillon.ports.errors import UnavailableError
from tests.support.world import DAY_MS, START_MS, TENANT, Fault, World, status

SECOND_MS, MINUTE_MS = 1_000, 60_000
ONE_A_SECOND = DispatchLimit(1_000, 1)
SKIP = PlanningRules(misfire=MisfirePolicy.SKIP, misfire_grace_ms=SECOND_MS)


def limited(limit: DispatchLimit = ONE_A_SECOND, **world: int) -> World:
    """A world in which the tenant has a limit."""
    made = World(**world)  # type: ignore[arg-type]  # numbers only
    made.limits.set(TENANT, Limits(dispatch=limit))
    return made


def starts_of(world: World) -> list[int]:
    """When calls began, in ms from the start."""
    return [at_ms - START_MS for _, at_ms in world.caller.calls]


def jobs_at(world: World, count: int, after_ms: int, rules: PlanningRules = SKIP) -> list[str]:
    """So many jobs that are due once, together."""
    return [world.create(OneOff(START_MS + after_ms), rules=rules) for _ in range(count)]


def edit(world: World, job_id: str, wish: Edit) -> None:
    """Edit a job now."""
    EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, world.clock.now_ms(), wish)


def test_a_spike_is_spread_at_the_rate() -> None:
    """Of 200 runs due in one second, one starts each second; none is skipped, lost or doubled for having to wait."""
    world = limited()
    jobs = jobs_at(world, 200, MINUTE_MS)
    world.run_until(START_MS + 5 * MINUTE_MS)
    assert starts_of(world) == [MINUTE_MS + number * SECOND_MS for number in range(200)]
    assert max(world.caller.run_ids().values()) == 1
    assert {run.state for job_id in jobs for run in world.history(job_id)} == {RunState.SUCCEEDED}


def test_a_rested_tenant_may_start_its_burst_at_once() -> None:
    """The burst starts when due, what is beyond it at the rate; a queue delays by whole seconds."""
    world = limited(DispatchLimit(2_000, 5))
    jobs_at(world, 8, 10 * SECOND_MS)
    world.run_until(START_MS + MINUTE_MS, step_ms=500)
    assert starts_of(world) == [10_000] * 5 + [11_000, 11_000, 12_000]


def test_dispatchers_that_know_different_limits_do_not_forget_each_others_slots() -> None:
    """While a changed limit has not got about, no more start than by the old rate and the new one together."""
    world = limited(groups=2, shards=2)
    for _ in range(20):
        for group, limit in enumerate((ONE_A_SECOND, DispatchLimit(2_000, 1))):
            for _ in range(5):
                world.create(OneOff(world.clock.now_ms()), shard=group)
            world.limits.set(TENANT, Limits(dispatch=limit))
            world.dispatcher()(group)
        world.work()
        world.clock.advance(SECOND_MS)
    assert 50 <= len(starts_of(world)) <= 20 * (1 + 2)


def test_who_stays_below_the_rate_notices_nothing() -> None:
    """Runs start when they are due, also those created after others that are due later were claimed."""
    world = limited()
    jobs_at(world, 1, MINUTE_MS)
    world.run_until(START_MS + 5 * SECOND_MS)
    jobs_at(world, 1, 7 * SECOND_MS)
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert starts_of(world) == [7 * SECOND_MS, MINUTE_MS]


def test_the_wait_for_a_slot_is_a_move_in_the_due_index() -> None:
    """A run beyond the look-ahead is neither claimed nor in a queue until its slot; it asks once."""
    world = limited()
    jobs = jobs_at(world, 90, 0)
    counts = world.dispatch()
    assert counts is not None
    assert (counts.sent, counts.claimed, counts.deferred) == (61, 61, 29)
    waiting = [world.state.jobs[job_id] for job_id in jobs if world.state.jobs[job_id].granted]
    assert sorted(job.next_fire_time for job in waiting if job.next_fire_time) == [
        START_MS + number * SECOND_MS for number in range(61, 90)
    ]
    assert {(job.scheduled_for, job.lease.claim_id) for job in waiting} == {(START_MS, "")}
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert world.calls_made["slots.reserve"] == 1
    assert starts_of(world) == [number * SECOND_MS for number in range(90)]


def test_a_job_that_outruns_its_tenant_is_thinned_by_its_own_policy() -> None:
    """A job of every second under a fifth of that: what waits for its slot runs, what is missed behind it is not."""
    world = limited(DispatchLimit(200, 1), look_ahead_ms=0)
    job_id = world.create(
        Every(SECOND_MS, START_MS), rules=PlanningRules(misfire=MisfirePolicy.SKIP, misfire_grace_ms=0)
    )
    world.run_until(START_MS + MINUTE_MS, step_ms=500)
    assert all(after - before >= 4_000 for before, after in pairwise(starts_of(world)))
    assert len(starts_of(world)) >= 8
    run_for = [run.scheduled_for for run in world.history(job_id)]
    assert run_for == [START_MS + number * SECOND_MS for number in range(len(run_for))], "each has its record"
    reasons = {(run.state, run.reason) for run in world.history(job_id)}
    assert reasons == {(RunState.SUCCEEDED, None), (RunState.SKIPPED, "misfire")}


def test_retries_take_slots() -> None:
    """A limit that retries get round is no limit: they wait their turn, beyond the look-ahead in the due index."""
    world = limited(DispatchLimit(500, 1), look_ahead_ms=0)
    world.caller.script = [status(503)] * 10
    for _ in range(10):
        world.create(OneOff(START_MS), retry=RetryPolicy(base_ms=SECOND_MS, factor=1.0, jitter=Jitter.NONE))
    world.run_until(START_MS + MINUTE_MS, step_ms=500)
    starts = starts_of(world)
    assert len(starts) == 20
    assert all(after - before >= 2 * SECOND_MS for before, after in pairwise(starts))


@pytest.mark.parametrize("look_ahead_ms", [0, MINUTE_MS])
def test_runs_by_hand_take_slots(look_ahead_ms: int) -> None:
    """So do they, beyond the look-ahead and within it: a person with a script is no exception."""
    world = limited(look_ahead_ms=look_ahead_ms)
    job_id = world.create(Every(DAY_MS, START_MS + DAY_MS))
    trigger = TriggerRun(world.jobs, world.runs, world.ids, DAY_MS)
    for _ in range(5):
        trigger(TENANT, job_id, START_MS)
    world.run_until(START_MS + 10 * SECOND_MS)
    assert starts_of(world) == [0, 1_000, 2_000, 3_000, 4_000]


def test_the_deadline_counts_from_the_nominal_time() -> None:
    """A run whose slot comes after its deadline is skipped with that reason, at its slot."""
    world = limited()
    for _ in range(90):
        world.create(OneOff(START_MS), deadline_ms=30 * SECOND_MS)
    world.run_until(START_MS + 2 * MINUTE_MS)
    runs = [run for job_id in world.state.jobs for run in world.history(job_id)]
    assert [run.state for run in runs].count(RunState.SUCCEEDED) == 31
    assert {run.reason for run in runs if run.state is RunState.SKIPPED} == {"deadline"}
    assert len(runs) == 90


@pytest.mark.parametrize(
    ("wish", "state", "reason"),
    [
        pytest.param(pause, RunState.SKIPPED, "paused", id="pause"),
        pytest.param(cancel, RunState.CANCELLED, "job_cancelled", id="cancel"),
    ],
)
def test_an_edit_holds_for_what_waits_for_its_slot(wish: Edit, state: RunState, reason: str) -> None:
    """The occurrence was due and nobody had begun it: its record says what the edit made of it, at once."""
    world = limited()
    jobs = jobs_at(world, 100, 0)
    world.dispatch()
    waiting = [job_id for job_id in jobs if world.state.jobs[job_id].granted]
    for job_id in waiting:
        edit(world, job_id, wish)
        assert [(run.state, run.reason) for run in world.history(job_id)] == [(state, reason)]
    world.run_until(START_MS + 3 * MINUTE_MS)
    assert len(starts_of(world)) == len(jobs) - len(waiting)


def test_a_new_schedule_leaves_what_waits_to_its_slot() -> None:
    """What was due of the old schedule keeps its slot as a segment; the new one asks for its own."""
    world = limited(DispatchLimit(10, 1))
    first = world.create(Every(DAY_MS, START_MS))
    second = world.create(Every(DAY_MS, START_MS))
    world.dispatch()
    assert world.state.jobs[second].granted
    world.clock.advance(SECOND_MS)
    job = world.state.jobs[second]
    moved = Every(DAY_MS, START_MS + 2 * MINUTE_MS)
    edit(world, second, partial(_with_schedule, schedule=moved))
    assert not world.state.jobs[second].granted
    assert [segment.granted for segment in world.state.segments.values()] == [True]
    world.run_until(START_MS + 5 * MINUTE_MS, step_ms=10_000)
    assert [run.scheduled_for for run in world.history(first)] == [START_MS]
    assert [run.scheduled_for for run in world.history(second)] == [START_MS, START_MS + 2 * MINUTE_MS]
    assert starts_of(world)[1] >= (job.next_fire_time or 0) - START_MS


def _with_schedule(seen: Definition, at: Moment, *, schedule: Every) -> Edited:
    return change(seen, replace(seen, job=replace(seen.job, schedule=encode(schedule))), at)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "method", ["slots.reserve", "jobs.defer_many", "jobs.claim_many", "queues.send", "jobs.confirm_many"]
)
def test_a_dispatcher_that_dies_with_slots_in_hand_loses_no_run(method: str, *, after: bool) -> None:
    """The slots are wasted at most; every run starts once, and none faster than the rate but what was sent twice."""
    world = limited()
    world.fault = Fault(method, 1, after)
    jobs = jobs_at(world, 70, MINUTE_MS)
    world.run_until(START_MS + 10 * MINUTE_MS)
    assert max(world.caller.run_ids().values()) == 1
    assert len(world.caller.calls) == 70
    assert {run.state for job_id in jobs for run in world.history(job_id)} == {RunState.SUCCEEDED}


def test_a_claim_is_taken_over_although_its_next_slot_is_far_away() -> None:
    """Its dispatcher died with a slot in hand. The next lies beyond the look-ahead; claimed jobs do not move there."""
    world = World()
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(1, 1)))  # one slot in 1,000 s
    job_id = world.create(OneOff(START_MS + 1_000))
    world.fault = Fault("jobs.claim_many", 1, after=True)
    assert world.dispatch() is None
    world.fault = None
    world.clock.advance(45_000)
    world.run_until(START_MS + 5 * MINUTE_MS)
    (run,) = world.state.runs[job_id].values()
    assert (run.state, len(world.caller.calls)) == (RunState.SUCCEEDED, 1)


def test_where_nobody_gives_slots_the_tenant_waits_and_no_other() -> None:
    """A calendar that cannot be written holds up its own tenant only; when it can, all goes on."""
    world = limited()
    own, other = world.create(OneOff(START_MS)), world.create(OneOff(START_MS), tenant="umbrella")
    dispatcher = world.dispatcher()
    real = world.slots.reserve

    def refuse(*_: object) -> object:
        raise UnavailableError("down")

    world.slots.reserve = refuse  # type: ignore[assignment,method-assign]  # a store that does not answer
    counts = dispatcher(0)
    assert (counts.sent, counts.left) == (1, 1)
    assert world.state.jobs[other].state is JobState.DISPATCHED
    assert world.meter.counts["slots_unavailable"] == 1
    world.slots.reserve = real  # type: ignore[method-assign]  # it answers again
    world.dispatch()
    assert world.state.jobs[own].state is JobState.DISPATCHED


def test_a_changed_limit_counts_for_what_has_no_slot_yet() -> None:
    """A limit that is taken away lets go what is due from then on; what has its slot keeps it."""
    world = limited()
    jobs_at(world, 70, 0)
    world.dispatch()
    world.limits.set(TENANT, NO_LIMITS)
    jobs_at(world, 30, SECOND_MS)
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert starts_of(world).count(SECOND_MS) >= 30
    assert max(starts_of(world)) == 69 * SECOND_MS


def test_what_the_queue_refuses_keeps_its_slot() -> None:
    """Sent again, it does not ask a second time: the tenant would lose a slot for our trouble."""
    world = limited()
    jobs_at(world, 3, 10 * SECOND_MS)
    send = world.queues.send
    world.queues.send = lambda messages, _clock: [False] * len(messages)  # type: ignore[method-assign]
    assert world.dispatch()
    world.queues.send = send  # type: ignore[method-assign]
    world.run_until(START_MS + MINUTE_MS)
    assert starts_of(world) == [10_000, 11_000, 12_000]
    assert world.calls_made["slots.reserve"] == 1


def test_the_late_have_a_calendar_of_their_own_at_the_lowest_rate_too() -> None:
    """There half of the rate is the rate itself: the late still take no slot from what is due now."""
    world = World(catch_up=Pace(1_000_000, 1))
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(1, 1)))  # one start in 1,000 s
    for _ in range(2):
        world.create(OneOff(START_MS))
    world.clock.advance(DAY_MS)
    world.create(OneOff(world.clock.now_ms()))
    names: list[str] = []
    reserve = world.slots.reserve

    def noted(name: str, *others: Any) -> Any:
        names.append(name)
        return reserve(name, *others)

    world.slots.reserve = noted  # type: ignore[method-assign]
    world.dispatch()
    assert names == [f"{TENANT}#late@{LONGEST_INTERVAL_US}", f"{TENANT}@{LONGEST_INTERVAL_US}"]
