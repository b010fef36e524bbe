"""Planning anew after the rules of zones have changed: jobs whose stored next occurrence came from older rules."""

from dataclasses import replace

import pytest

from carillon.adapters.memory.control import MemoryShardLedger
from carillon.application.edit_job import EditJob
from carillon.application.replan import Move, Replan, ReplanCounts
from carillon.domain import editing
from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.job import JobState, PlanningRules, Revision
from carillon.domain.planning import UnreadableEntry, fire_time
from carillon.domain.revisions import MOST_REVISIONS
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, Every, OneOff
from support.world import DAY_MS, TENANT, World, status

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
YEARLY = CronSchedule("0 9 1 12 *", "America/Vancouver")
STORED = parse_instant("2026-12-01T17:00:00Z")
RIGHT = parse_instant("2026-12-01T16:00:00Z")
NOW = parse_instant("2026-11-30T12:00:00Z")


def world_at(now_ms: int, **settings: int) -> World:
    """A world at an instant."""
    world = World(**settings)
    world.clock.set(now_ms)
    MemoryShardLedger(world.state).raise_to(world.shards)
    return world


def store(world: World, job_id: str, next_ms: int, **changes: object) -> None:
    """Store another next occurrence of a job, as older rules had it."""
    job = world.state.jobs[job_id]
    due_ms = fire_time(job_id, PlanningRules.decode(job.rules), next_ms)
    world.state.put_job(replace(job, scheduled_for=next_ms, next_fire_time=due_ms, **changes))  # type: ignore[arg-type]  # fields of a job


def replan(world: World, *, dry_run: bool = False) -> tuple[list[Move], ReplanCounts]:
    """Walk the due index, as the command does."""
    edit, ledger = EditJob(world.jobs, world.runs, 30 * DAY_MS), MemoryShardLedger(world.state)
    counts = ReplanCounts()
    walk = Replan(world.index, world.jobs, edit, ledger, world.clock)
    return list(walk(counts, dry_run=dry_run)), counts


def times(world: World, job_id: str) -> list[str]:
    """The nominal times of a job's runs."""
    return [format_instant(run.scheduled_for)[:16] + "Z" for run in world.history(job_id)]


def test_b077_the_job_fires_by_the_new_rules_and_once() -> None:
    """B077: stored 17:00Z, right 16:00Z: it fires at 16:00Z, not again at 17:00Z, and is planned for the next year."""
    world = world_at(NOW)
    job_id = world.create(YEARLY)
    store(world, job_id, STORED)
    moves, counts = replan(world)
    assert moves == [Move(job_id, TENANT, YEARLY, STORED, RIGHT)]
    assert counts == ReplanCounts(cron_jobs=1, moved=1)
    world.clock.set(RIGHT - MINUTE_MS)
    world.run_until(STORED + 2 * MINUTE_MS, 5_000)
    assert times(world, job_id) == ["2026-12-01T16:00Z"]
    assert world.state.jobs[job_id].scheduled_for == parse_instant("2027-12-01T16:00:00Z")
    assert len(world.caller.calls) == 1


def test_a_dry_run_tells_and_writes_nothing() -> None:
    """The same list and counts, and everything as before."""
    world = world_at(NOW)
    job_id = world.create(YEARLY)
    store(world, job_id, STORED)
    before = (dict(world.state.jobs), dict(world.state.specs), len(world.state.index_changes))
    told = replan(world, dry_run=True)
    assert (dict(world.state.jobs), dict(world.state.specs), len(world.state.index_changes)) == before
    assert told == replan(world)


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_right_is_left_alone(dry_run: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Right cron jobs, intervals, single runs, paused and finished jobs are neither moved nor rewritten."""
    world = world_at(NOW)
    world.create(YEARLY)
    world.create(CronSchedule("*/15 * * * *", "America/Vancouver"))
    world.create(Every(HOUR_MS, NOW))
    world.create(OneOff(NOW + HOUR_MS))
    paused = world.create(YEARLY)
    EditJob(world.jobs, world.runs, DAY_MS)(TENANT, paused, NOW, editing.pause)
    before = (dict(world.state.jobs), dict(world.state.specs))
    assert replan(world, dry_run=dry_run) == ([], ReplanCounts(cron_jobs=2))
    assert (dict(world.state.jobs), dict(world.state.specs)) == before


def test_walking_twice_is_walking_once() -> None:
    """The second walk finds nothing to do, also where the last run, moved by the new rules, would come again."""
    world = world_at(parse_instant("2026-12-01T15:30:00Z"))
    daily = CronSchedule("0 9 * * *", "America/Vancouver")
    job_id = world.create(daily)
    ran, next_by_old = parse_instant("2026-12-01T15:00:00Z"), parse_instant("2026-12-02T15:00:00Z")
    spec = world.state.specs[job_id]
    world.state.specs[job_id] = replace(spec, revisions=(Revision(1, ran - DAY_MS),))
    store(world, job_id, next_by_old, planned=1, planned_until=ran)
    [move], _ = replan(world)
    assert format_instant(move.to_ms) == "2026-12-02T16:00:00.000Z"
    assert replan(world) == ([], ReplanCounts(cron_jobs=1))
    world.clock.advance(5 * MINUTE_MS)
    assert replan(world)[0] == []


def test_what_was_sent_of_the_old_plan_is_void() -> None:
    """A dispatcher has claimed and sent the old occurrence when it is moved: only the new one runs."""
    world = world_at(STORED - 50_000 - HOUR_MS)
    job_id = world.create(YEARLY)
    store(world, job_id, RIGHT + 30_000)  # so that both lie within the look-ahead
    send = world.queues.send

    def moved_meanwhile(messages: object, clock: object) -> list[bool]:
        world.queues.send = send  # type: ignore[method-assign]  # once only
        answers = send(messages, clock)  # type: ignore[arg-type]  # passed through
        assert len(replan(world)[0]) == 1
        return answers

    world.queues.send = moved_meanwhile  # type: ignore[method-assign]  # the test's own seam
    world.run_until(STORED + MINUTE_MS, 5_000)
    assert times(world, job_id) == ["2026-12-01T16:00Z"]
    assert len(world.caller.calls) == 1


def test_occurrences_on_their_way_are_waited_for() -> None:
    """With something sent ahead of its time a job is left, and counted; when that has run, it is moved."""
    world = world_at(parse_instant("2026-12-01T15:59:30Z"))
    twice = CronSchedule("0 9,11 * * *", "America/Vancouver")
    job_id = world.create(twice)
    world.dispatch()
    store(world, job_id, parse_instant("2026-12-01T19:00:00Z"))
    assert replan(world) == ([], ReplanCounts(cron_jobs=1, sent_ahead=1))
    assert replan(world, dry_run=True)[1].sent_ahead == 1
    world.run_until(parse_instant("2026-12-01T16:01:00Z"), 5_000)
    [move], _ = replan(world)
    assert format_instant(move.to_ms) == "2026-12-01T18:00:00.000Z"
    world.clock.set(parse_instant("2026-12-01T17:59:00Z"))
    world.run_until(parse_instant("2026-12-01T19:05:00Z"), 5_000)
    assert times(world, job_id) == ["2026-12-01T16:00Z", "2026-12-01T18:00Z"]


def test_an_occurrence_that_is_past_by_the_new_rules_still_runs() -> None:
    """No misfire is made up, and the run that was promised is not lost: it comes at the stored time."""
    world = world_at(RIGHT + 30 * MINUTE_MS)
    job_id = world.create(YEARLY)
    store(world, job_id, STORED)
    assert replan(world) == ([], ReplanCounts(cron_jobs=1))
    world.clock.set(STORED - MINUTE_MS)
    world.run_until(STORED + MINUTE_MS, 5_000)
    [run] = world.history(job_id)
    assert (run.scheduled_for, run.state) == (STORED, RunState.SUCCEEDED)


def test_a_window_moves_along() -> None:
    """The run keeps its constant delay from the new nominal time."""
    world = world_at(NOW)
    rules = PlanningRules(window_ms=HOUR_MS)
    job_id = world.create(YEARLY, rules=rules)
    store(world, job_id, STORED)
    assert len(replan(world)[0]) == 1
    assert world.state.jobs[job_id].next_fire_time == fire_time(job_id, rules, RIGHT)


def test_the_definition_keeps_its_etag() -> None:
    """Nothing that the tenant has defined changes: the revision and the time of the last edit stay."""
    world = world_at(NOW)
    job_id = world.create(YEARLY)
    store(world, job_id, STORED)
    before = world.state.specs[job_id]
    replan(world)
    after = world.state.specs[job_id]
    assert (after.revision, after.updated_at) == (before.revision, before.updated_at)


def test_a_retry_goes_on() -> None:
    """A run that waits when its job is moved is tried again as if nothing had happened."""
    world = world_at(NOW)
    world.caller.script = [status(503)]
    job_id = world.create(CronSchedule("0 5 * * *", "America/Vancouver"))
    world.run_until(NOW + 1_000)
    store(world, job_id, parse_instant("2026-12-01T13:00:00Z"))
    assert len(replan(world)[0]) == 1
    world.run_until(NOW + MINUTE_MS)
    [run] = world.history(job_id)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)


def test_what_cannot_be_moved_is_counted() -> None:
    """Too many edits, zones that the rules no longer have, and items that nobody can read; the others are moved."""
    world = world_at(NOW)
    edited, lost, fine = (world.create(YEARLY) for _ in range(3))
    for job_id in (edited, lost, fine):
        store(world, job_id, STORED)
    young = tuple(Revision(number, NOW - 1_000 + number) for number in range(1, MOST_REVISIONS + 1))
    world.state.specs[edited] = replace(world.state.specs[edited], revisions=young)
    gone = "cron|shift|first|||Mars/Olympus|0 9 * * *"
    world.state.put_job(replace(world.state.jobs[lost], schedule=gone))
    world.state.plant_unreadable(UnreadableEntry("JOB#x", "JOB", 0, "damaged"), NOW + HOUR_MS)
    moves, counts = replan(world)
    assert [move.job_id for move in moves] == [fine]
    assert counts == ReplanCounts(cron_jobs=2, moved=1, failed=1, unreadable=2)
    assert world.state.jobs[edited].scheduled_for == STORED


def test_all_shards_and_pages_are_walked() -> None:
    """As many shards as were ever used, each to its end."""
    world = world_at(NOW, page_size=2)
    MemoryShardLedger(world.state).raise_to(3)
    ids = [world.create(YEARLY) for _ in range(12)]
    for number, job_id in enumerate(ids):
        store(world, job_id, STORED, shard=number % 3)
    moves, counts = replan(world)
    assert {move.job_id for move in moves} == set(ids)
    assert counts.moved == 12


def test_a_job_that_was_edited_meanwhile_is_left_to_its_edit() -> None:
    """The index lags: what it shows is read anew, and a job with another schedule or none ahead is left."""
    world = world_at(NOW)
    ids = [world.create(YEARLY) for _ in range(2)]
    for job_id in ids:
        store(world, job_id, STORED)
    list(world.index.pages(0, STORED))
    world.index.lag_writes = 10
    edit = EditJob(world.jobs, world.runs, DAY_MS)
    edit(TENANT, ids[0], NOW, editing.cancel)
    edit(TENANT, ids[1], NOW, editing.pause)
    assert replan(world) == ([], ReplanCounts(cron_jobs=2))
    assert [world.state.jobs[job_id].state for job_id in ids] == [JobState.CANCELLED, JobState.PAUSED]
