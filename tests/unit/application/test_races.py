"""Races that the simulation has found, each as the shortest story that shows it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from carillon.application.claim_send_confirm import Addressed
from carillon.application.edit_job import Edit, EditJob
from carillon.domain import editing
from carillon.domain.editing import Edited
from carillon.domain.job import Definition, JobState, MisfirePolicy, PlanningRules
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.run import RunState, SkippedBlock
from carillon.domain.schedule import Every, OneOff, Schedule, encode
from carillon.domain.settling import Moment
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError
from support.world import DAY_MS, START_MS, TENANT, Fault, KilledError, World

RESUME: Edit = partial(editing.resume, catch_up=False)


def edit(world: World, job_id: str, change: Edit, *, now_ms: int | None = None) -> Definition:
    """Edit a job by the use case, now or at what another server takes for now."""
    at_ms = world.clock.now_ms() if now_ms is None else now_ms
    return EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, at_ms, change)


def to_schedule(schedule: Schedule) -> Edit:
    """The edit that gives a job another schedule."""

    def change(seen: Definition, at: Moment) -> Edited:
        return editing.change(seen, replace(seen, job=replace(seen.job, schedule=encode(schedule))), at)

    return change


def after_the_read(world: World, act: Callable[[], Any]) -> None:
    """Let something happen right after the next worker has read its job."""
    get = world.jobs.get

    def read(job_id: str) -> Definition | None:
        world.jobs.get = get  # type: ignore[method-assign]
        seen = get(job_id)
        act()
        return seen

    world.jobs.get = read  # type: ignore[method-assign]


def test_a_beat_whose_answer_is_lost_does_not_break_the_call_off() -> None:
    """The record is one write further than the worker knows, and still the worker's own: the call goes on."""
    world = World()
    heard: list[bool] = []

    def slow(_request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        save = world.runs.save

        def unanswered(*args: Any, **options: Any) -> Any:
            world.runs.save = save  # type: ignore[method-assign]
            save(*args, **options)
            raise UnavailableError

        world.runs.save = unanswered  # type: ignore[method-assign]
        for _ in range(3):
            world.clock.advance(20_000)
            heard.append(beat())
        return answered(status=200, started_ms=0, duration_ms=1)

    world.caller.script = [slow]
    job_id = world.create(OneOff(START_MS + 1_000))
    world.run_until(START_MS + 5_000)
    assert heard == [True, True, True]
    assert world.run_of(job_id, START_MS + 1_000).state is RunState.SUCCEEDED


@pytest.mark.parametrize("buried", [False, True], ids=["redelivered", "dead-lettered"])
def test_a_run_begun_before_an_edit_is_not_abandoned(*, buried: bool) -> None:
    """The worker had read the old definition, and dies: the message of its attempt is no stale one."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000))
    world.clock.set(START_MS + 59_900)

    def dies(_request: CallRequest, _beat: object) -> Outcome:
        raise KilledError

    world.caller.script = [dies]
    world.clock.set(START_MS + 60_000)
    world.dispatch()
    (delivery,) = world.receive()
    change = to_schedule(Every(3_600_000, START_MS + 3_600_000))
    after_the_read(world, lambda: edit(world, job_id, change, now_ms=START_MS + 59_900))
    assert not world.handle(delivery)
    assert world.run_of(job_id, START_MS + 60_000).state is RunState.RUNNING
    world.clock.advance(120_000)
    if buried:
        (delivery,) = world.receive()
        assert world.burier()(delivery)
    world.run_until(world.clock.now_ms() + 10_000)
    run = world.run_of(job_id, START_MS + 60_000)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)


def test_nothing_older_is_called_in_a_pause_either() -> None:
    """What an earlier edit left to the definition before it is skipped, too, when the job is paused."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000))
    world.clock.set(START_MS + 60_500)
    edit(world, job_id, to_schedule(Every(3_600_000, START_MS + 3_600_000)))
    edit(world, job_id, editing.pause)
    world.run_until(START_MS + 70_000)
    run = world.run_of(job_id, START_MS + 60_000)
    assert (run.state, run.reason) == (RunState.SKIPPED, "paused")
    assert not world.caller.calls


def test_edits_are_in_order_whatever_the_clocks_say() -> None:
    """A second edit, by a server whose clock is behind, governs from behind the first one."""
    world = World()
    job_id = world.create(Every(60_000, START_MS + 60_000))
    first = edit(world, job_id, to_schedule(Every(10_000, START_MS + 65_000)), now_ms=START_MS + 30_000)
    second = edit(world, job_id, to_schedule(Every(10_000, START_MS)), now_ms=START_MS + 1_000)
    assert first.spec.revisions[-1].since < second.spec.revisions[-1].since
    assert second.job.scheduled_for == START_MS + 40_000


def test_an_edit_governs_from_behind_what_has_begun() -> None:
    """By a slow clock a run may have begun before its time: the new schedule does not run that time again."""
    world = World()
    job_id = world.create(Every(60_000, START_MS + 60_000))
    world.run_until(START_MS + 61_000)
    edited = edit(world, job_id, to_schedule(Every(30_000, START_MS)), now_ms=START_MS + 55_000)
    assert edited.job.scheduled_for == START_MS + 90_000


def test_what_ran_in_a_pause_is_not_counted_as_skipped() -> None:
    """A worker had read the job before the pause, and ran an occurrence behind it: the summary leaves it out."""
    world = World(look_ahead_ms=5_000)
    job_id = world.create(Every(10_000, START_MS + 10_000))
    world.clock.set(START_MS + 10_000)
    world.dispatch()
    (delivery,) = world.receive()
    after_the_read(world, lambda: edit(world, job_id, editing.pause, now_ms=START_MS + 9_990))
    assert world.handle(delivery)
    world.clock.set(START_MS + 45_000)
    edit(world, job_id, RESUME)
    ran, summary = world.history(job_id)
    assert (ran.scheduled_for, ran.state) == (START_MS + 10_000, RunState.SUCCEEDED)
    assert summary.block is not None
    assert (summary.block.count, summary.block.first, summary.block.last) == (3, START_MS + 20_000, START_MS + 40_000)
    assert world.state.jobs[job_id].state is JobState.SCHEDULED


def test_runs_ahead_by_an_older_schedule_are_given_back_once() -> None:
    """Of two edits in a row, the second gives nothing back that the first has given back already."""
    world = World(look_ahead_ms=300_000)
    job_id = world.create(Every(1_000, START_MS), rules=PlanningRules(max_runs=20, window_ms=30_000))
    world.dispatch()
    world.clock.set(START_MS + 9_500)
    edit(world, job_id, to_schedule(Every(5_000, START_MS + 2_500)))
    world.clock.set(START_MS + 12_600)
    edit(world, job_id, to_schedule(Every(1_000, START_MS)))
    world.run_until(START_MS + 120_000)
    assert len(world.caller.run_ids()) == 20


def overdue(world: World, policy: MisfirePolicy) -> str:
    """A job of each second with fifteen occurrences due, that are missed if they are decided five seconds from now."""
    rules = PlanningRules(misfire=policy, misfire_grace_ms=16_000)
    job_id = world.create(Every(1_000, START_MS), rules=rules)
    world.clock.set(START_MS + 14_500)
    return job_id


def within_the_send(world: World, act: Callable[[], Any]) -> None:
    """Let something happen when the next dispatcher has sent and not confirmed."""
    send = world.queues.send

    def sent(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        world.queues.send = send  # type: ignore[method-assign]
        answers = send(messages, clock)
        act()
        return answers

    world.queues.send = sent  # type: ignore[method-assign]


def test_what_a_dispatcher_may_have_sent_is_not_summed_up() -> None:
    """Many are due and claimed when the job is paused: those that begin meanwhile stand, and the others are skipped."""
    world = World(look_ahead_ms=0)
    job_id = overdue(world, MisfirePolicy.SKIP)

    def pause_while_two_begin() -> None:
        replaced = world.jobs.replace

        def replace_late(*args: Any, **options: Any) -> bool:
            world.jobs.replace = replaced  # type: ignore[method-assign]
            for delivery in world.receive(2):
                world.handle(delivery)
            return replaced(*args, **options)

        world.jobs.replace = replace_late  # type: ignore[method-assign]
        edit(world, job_id, editing.pause)

    within_the_send(world, pause_while_two_begin)
    world.dispatch()
    world.run_until(START_MS + 90_000)
    states = [run.state for run in world.history(job_id)]
    assert (states.count(RunState.SUCCEEDED), states.count(RunState.SKIPPED)) == (2, 13)
    assert not [run.block for run in world.history(job_id) if run.block]
    assert not world.state.segments


def test_a_claim_between_the_read_and_the_write_of_an_edit_is_seen() -> None:
    """A dispatcher sends what the pause is about to sum up: the pause looks again."""
    world = World(look_ahead_ms=0)
    job_id = overdue(world, MisfirePolicy.FIRE_ALL)
    replaced = world.jobs.replace

    def replace_late(*args: Any, **options: Any) -> bool:
        world.jobs.replace = replaced  # type: ignore[method-assign]
        world.fault = Fault("jobs.confirm_many", 1, after=False)
        world.dispatch()
        for delivery in world.receive(2):
            world.handle(delivery)
        return replaced(*args, **options)

    world.jobs.replace = replace_late  # type: ignore[method-assign]
    edit(world, job_id, editing.pause)
    world.run_until(START_MS + 90_000)
    states = [run.state for run in world.history(job_id)]
    assert (states.count(RunState.SUCCEEDED), states.count(RunState.SKIPPED)) == (2, 13)


def test_what_came_behind_a_refused_message_is_not_decided_anew() -> None:
    """The queue refuses the first of many: later it may be missed, but those behind it were sent, and were not."""
    world = World(look_ahead_ms=0)
    job_id = overdue(world, MisfirePolicy.SKIP)
    send = world.queues.send

    def all_but_the_first(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        world.queues.send = send  # type: ignore[method-assign]
        return [False, *send(messages[1:], clock)]

    world.queues.send = all_but_the_first  # type: ignore[method-assign]
    world.dispatch()
    world.clock.advance(60_000)
    edit(world, job_id, to_schedule(Every(3_600_000, START_MS)))
    world.run_until(START_MS + 100_000)
    assert [run.state for run in world.history(job_id)][:15] == [RunState.SUCCEEDED] * 15


def test_the_time_of_a_pause_that_ends_in_a_cancel_is_recorded() -> None:
    """What a paused job would have run until it is cancelled is one record of skipped occurrences."""
    world = World()
    job_id = world.create(Every(10_000, START_MS + 10_000))
    world.run_until(START_MS + 15_000)
    edit(world, job_id, editing.pause)
    world.clock.set(START_MS + 45_000)
    edit(world, job_id, editing.cancel)
    _ran, summary = world.history(job_id)
    assert (summary.state, summary.reason) == (RunState.SKIPPED, "paused")
    assert summary.block is not None
    assert (summary.block.count, summary.block.last) == (3, START_MS + 40_000)


def test_a_catch_up_does_not_plan_again_what_ran_in_the_pause() -> None:
    """A worker had read the job before the pause, and ran an occurrence behind it: the others are caught up, once."""
    world = World(look_ahead_ms=5_000)
    rules = PlanningRules(misfire=MisfirePolicy.FIRE_ONCE, misfire_grace_ms=1_000)
    job_id = world.create(Every(1_000, START_MS), rules=rules)
    world.clock.set(START_MS + 2_000)
    world.dispatch()
    world.clock.set(START_MS + 3_000)
    (delivery,) = [one for one in world.receive() if "T141323" in one.body]
    after_the_read(world, lambda: edit(world, job_id, editing.pause, now_ms=START_MS + 1_990))
    assert world.handle(delivery)
    world.clock.set(START_MS + 30_500)
    edit(world, job_id, partial(editing.resume, catch_up=True))
    world.run_until(START_MS + 31_000)
    (skipped, ran, summary) = world.history(job_id)[:3]
    assert (skipped.scheduled_for, skipped.reason) == (START_MS + 2_000, "paused")
    assert (ran.scheduled_for, ran.state) == (START_MS + 3_000, RunState.SUCCEEDED)
    assert summary.block == SkippedBlock(25, START_MS + 4_000, START_MS + 28_000)


def test_a_limited_job_is_settled_as_its_dispatcher_has_decided() -> None:
    """The dispatcher skips what it has missed and sends what comes behind, within the limit: so does the segment."""
    world = World(look_ahead_ms=0)
    rules = PlanningRules(misfire=MisfirePolicy.SKIP, misfire_grace_ms=2_000, max_runs=3)
    job_id = world.create(Every(1_000, START_MS), rules=rules)
    world.clock.set(START_MS + 6_500)
    within_the_send(world, lambda: (world.work(), edit(world, job_id, editing.pause)))
    world.dispatch()
    world.run_until(START_MS + 60_000)
    ends = [((run.scheduled_for - START_MS) // 1_000, run.state) for run in world.history(job_id)]
    assert ends == [(at, RunState.SKIPPED) for at in range(5)] + [(5, RunState.SUCCEEDED), (6, RunState.SUCCEEDED)]
