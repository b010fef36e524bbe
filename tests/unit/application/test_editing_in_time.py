"""Edits against occurrences already on their way: what is due, sent, waiting or ahead when a job is edited."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from carillon.application.claim_send_confirm import Addressed
from carillon.application.edit_job import Edit, EditJob
from carillon.domain import editing
from carillon.domain.editing import Edited
from carillon.domain.job import Definition, JobState, MisfirePolicy, PlanningRules
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, OneOff, Schedule, encode
from carillon.domain.settling import Moment
from carillon.ports.edges import Clock
from support.world import DAY_MS, START_MS, TENANT, World, status

MINUTE_MS = 60_000


def edit(world: World, job_id: str, change: Edit) -> Definition:
    """Edit a job now, by the use case."""
    return EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, world.clock.now_ms(), change)


def to_schedule(schedule: Schedule) -> Edit:
    """The edit that gives a job another schedule."""

    def change(seen: Definition, at: Moment) -> Edited:
        return editing.change(seen, replace(seen, job=replace(seen.job, schedule=encode(schedule))), at)

    return change


RESUME: Edit = partial(editing.resume, catch_up=False)
CATCH_UP: Edit = partial(editing.resume, catch_up=True)


def ends(world: World, job_id: str) -> list[tuple[int, RunState]]:
    """Each record of a job: seconds after the start, and its state."""
    return [((run.scheduled_for - START_MS) // 1000, run.state) for run in world.history(job_id)]


def test_occurrences_sent_ahead_are_revoked_by_a_pause() -> None:
    """What lies in the queue for later is not fired while paused, leaves no record, and is not counted as planned."""
    world = World()
    job_id = world.create(Every(10_000, START_MS + 5_000))
    world.run_until(START_MS + 20_000)
    edit(world, job_id, editing.pause)
    world.run_until(START_MS + 120_000)
    assert ends(world, job_id) == [(5, RunState.SUCCEEDED), (15, RunState.SUCCEEDED)]
    assert world.state.jobs[job_id].planned == 2


def test_an_edit_fires_what_was_due_by_the_old_schedule() -> None:
    """Occurrences fall due while no dispatcher runs; after an edit each fires once, then those of the new schedule."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000), rules=PlanningRules(misfire=MisfirePolicy.FIRE_ALL))
    world.clock.set(START_MS + 200_000)
    edit(world, job_id, to_schedule(Every(100_000, START_MS + 250_000)))
    world.run_until(START_MS + 360_000)
    assert ends(world, job_id) == [(at, RunState.SUCCEEDED) for at in (60, 120, 180, 250, 350)]
    assert len(world.caller.calls) == 5
    assert not world.state.segments


def test_what_two_edits_left_behind_is_drained_by_one_tick() -> None:
    """Two segments of a job begin with the same version and are not the same entry."""
    world = World(look_ahead_ms=0, page_size=1)
    job_id = world.create(Every(60_000, START_MS + 60_000), rules=PlanningRules(misfire=MisfirePolicy.FIRE_ALL))
    world.clock.set(START_MS + 70_000)
    edit(world, job_id, to_schedule(Every(60_000, START_MS + 90_000)))
    world.clock.set(START_MS + 100_000)
    edit(world, job_id, to_schedule(Every(DAY_MS, START_MS + DAY_MS)))
    assert len(world.state.segments) == 2
    world.dispatch()
    world.work()
    assert ends(world, job_id) == [(60, RunState.SUCCEEDED), (90, RunState.SUCCEEDED)]
    assert not world.state.segments


@pytest.mark.parametrize("step", ["before-send", "after-send"])
def test_an_edit_between_claim_and_confirm_loses_nothing_and_repeats_nothing(step: str) -> None:
    """The dispatcher's confirm is refused, the segment sends the occurrence again, the record swallows a duplicate."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000))
    world.clock.set(START_MS + 60_500)
    send = world.queues.send

    def edited_meanwhile(messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        world.queues.send = send  # type: ignore[method-assign]
        if step == "after-send":
            answers = send(messages, clock)
            world.work()
        edit(world, job_id, to_schedule(Every(60_000, START_MS + 90_000)))
        return answers if step == "after-send" else send(messages, clock)

    world.queues.send = edited_meanwhile  # type: ignore[method-assign]
    world.run_until(START_MS + 95_000)
    assert ends(world, job_id) == [(60, RunState.SUCCEEDED), (90, RunState.SUCCEEDED)]
    assert len(world.caller.calls) == 2
    assert not world.state.segments


def test_a_pause_over_an_outage_records_each_missed_occurrence() -> None:
    """Due, not confirmed and paused: each ends as skipped, and none of them fires after the resume."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000))
    world.clock.set(START_MS + 200_000)
    edit(world, job_id, editing.pause)
    world.clock.set(START_MS + 400_000)
    edit(world, job_id, RESUME)
    world.run_until(START_MS + 425_000)
    skipped = [(at, RunState.SKIPPED) for at in (60, 120, 180, 360)]
    assert ends(world, job_id) == [*skipped, (420, RunState.SUCCEEDED)]
    assert [run.block.count for run in world.history(job_id) if run.block] == [3]
    assert {run.reason for run in world.history(job_id)} == {"paused", None}


@pytest.mark.parametrize(
    ("policy", "fired"),
    [(MisfirePolicy.FIRE_ALL, [60, 120, 180]), (MisfirePolicy.FIRE_ONCE, [180]), (MisfirePolicy.SKIP, [])],
)
def test_catch_up_after_a_pause_follows_the_policy(policy: MisfirePolicy, fired: list[int]) -> None:
    """With catch-up the paused time is planned as an outage would be; every occurrence has its record."""
    world = World(look_ahead_ms=0)
    rules = PlanningRules(misfire=policy, misfire_grace_ms=1_000)
    job_id = world.create(Every(60_000, START_MS + 60_000), rules=rules)
    edit(world, job_id, editing.pause)
    world.clock.set(START_MS + 200_000)
    edit(world, job_id, CATCH_UP)
    world.run_until(START_MS + 230_000)
    expected = [(at, RunState.SUCCEEDED if at in fired else RunState.SKIPPED) for at in (60, 120, 180)]
    assert ends(world, job_id) == expected
    assert {run.reason for run in world.history(job_id) if run.state is RunState.SKIPPED} <= {"misfire"}


@pytest.mark.parametrize(
    ("policy", "state", "job_state"),
    [
        (MisfirePolicy.FIRE_ONCE, RunState.SUCCEEDED, JobState.DISPATCHED),
        (MisfirePolicy.SKIP, RunState.SKIPPED, JobState.COMPLETED),
    ],
)
def test_a_single_run_paused_over_its_time(policy: MisfirePolicy, state: RunState, job_state: JobState) -> None:
    """B148, B151: never fired while paused; after the resume it fires late or is recorded as missed, by its policy."""
    world = World(look_ahead_ms=0)
    job_id = world.create(OneOff(START_MS + 60_000), rules=PlanningRules(misfire=policy))
    edit(world, job_id, editing.pause)
    world.run_until(START_MS + 200_000)
    assert not world.history(job_id)
    edit(world, job_id, RESUME)
    world.run_until(START_MS + 210_000)
    assert ends(world, job_id) == [(60, state)]
    assert world.state.jobs[job_id].state is job_state


def test_a_waiting_run_waits_through_the_pause() -> None:
    """A retry of a paused job is not started; after the resume it goes on, and its attempts count on."""
    world = World()
    world.caller.script = [status(503)]
    job_id = world.create(OneOff(START_MS + 1_000))
    world.run_until(START_MS + 1_500)
    seen = world.jobs.get(job_id)
    assert seen is not None
    paused = replace(seen, job=replace(seen.job, state=JobState.PAUSED, version=seen.job.version + 1))
    assert world.jobs.replace(paused, seen_version=seen.job.version, seen_revision=1, records=())
    world.run_until(START_MS + 300_000, 5_000)
    assert len(world.caller.calls) == 1
    assert world.run_of(job_id, START_MS + 1_000).state is RunState.RETRYING
    again = replace(seen, job=replace(seen.job, version=paused.job.version + 1))
    assert world.jobs.replace(again, seen_version=paused.job.version, seen_revision=1, records=())
    world.run_until(START_MS + 4_000_000, 60_000)
    run = world.run_of(job_id, START_MS + 1_000)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)


def test_b104_b122_saving_an_unchanged_job_while_it_fires_disturbs_nothing() -> None:
    """B104, B122: twenty re-saves in ten seconds leave one planned next fire and one run a time."""
    world = World()
    job_id = world.create(Every(5_000, START_MS + 5_000, end_ms=START_MS + 20_000))
    for _ in range(20):
        world.run_until(world.clock.now_ms() + 500, 500)
        edit(world, job_id, lambda seen, at: editing.change(seen, seen, at))
    world.run_until(START_MS + 30_000)
    assert ends(world, job_id) == [(at, RunState.SUCCEEDED) for at in (5, 10, 15, 20)]
    assert len(world.caller.calls) == 4


def test_a_limit_of_runs_holds_through_edits() -> None:
    """Runs that an edit revokes are given back, so that the job still runs as often as it may."""
    world = World()
    job_id = world.create(Every(10_000, START_MS + 10_000), rules=PlanningRules(max_runs=5))
    world.run_until(START_MS + 25_000)
    edit(world, job_id, to_schedule(Every(20_000, START_MS + 30_000)))
    world.run_until(START_MS + 200_000)
    assert ends(world, job_id) == [(at, RunState.SUCCEEDED) for at in (10, 20, 30, 50, 70)]
    assert world.state.jobs[job_id].state is JobState.COMPLETED


def test_a_cancel_while_a_segment_is_drained_ends_its_occurrences() -> None:
    """What an edit left to the old schedule, and no worker has begun, ends as cancelled."""
    world = World(look_ahead_ms=0)
    job_id = world.create(Every(60_000, START_MS + 60_000), rules=PlanningRules(misfire=MisfirePolicy.FIRE_ALL))
    world.clock.set(START_MS + 200_000)
    edit(world, job_id, to_schedule(Every(3_600_000, START_MS + 3_600_000)))
    edit(world, job_id, editing.cancel)
    world.run_until(START_MS + 210_000)
    assert ends(world, job_id) == [(at, RunState.CANCELLED) for at in (60, 120, 180)]
    assert not world.caller.calls
