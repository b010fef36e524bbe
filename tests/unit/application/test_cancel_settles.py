"""Cancelling a job with occurrences that are due and unconfirmed: each ends in exactly one record."""

from dataclasses import replace

import pytest

from carillon.adapters.memory.world import MemoryWorld
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.application.edit_job import MOST_RACES, EditJob, RevisionMismatchError
from carillon.application.read_jobs import JobNotFoundError
from carillon.domain import editing
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition, HttpTarget, JobState, PlanningRules, RevisionKind
from carillon.domain.run import Run, RunState, SkippedBlock
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import Claim, Confirmation

START_MS = 1_790_000_000_000
SECOND_MS = 1_000
RETENTION_MS = 30 * 24 * 3600 * SECOND_MS


def created(world: MemoryWorld, schedule: Schedule, max_runs: int | None = None) -> Definition:
    """A job of acme's."""
    create = CreateJob(world.jobs, world.ids, ShardCount(world.shards, 4))
    new = NewJob(
        schedule=schedule, target=HttpTarget("https://svc.carillon.dev/"), rules=PlanningRules(max_runs=max_runs)
    )
    return create("acme", new, world.clock.now_ms())


def cancel(world: MemoryWorld, definition: Definition, **options: frozenset[int]) -> None:
    """Cancel a job as acme, now."""
    EditJob(world.jobs, world.runs, RETENTION_MS)(
        "acme", definition.job.id, world.clock.now_ms(), editing.cancel, **options
    )


def records(world: MemoryWorld, definition: Definition) -> list[Run]:
    """The records of a job's runs, oldest first."""
    return list(world.runs.list_newest(definition.job.id, 1_000, None).runs[::-1])


def begun(definition: Definition, scheduled_for: int) -> Run:
    """The record of a run that a worker has begun."""
    job = definition.job
    key = RunKey.of(job.id, scheduled_for)
    return Run(
        key, job.tenant, RunState.RUNNING, scheduled_for, 1, job.priority, job.lane, job.shard, scheduled_for, attempt=1
    )


@pytest.mark.parametrize("count", [0, 1, 10])
def test_few_due_occurrences_get_a_record_each(count: int) -> None:
    """Up to ten due occurrences are recorded singly, the one due at the very instant of the cancel included."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    world.clock.advance(count * SECOND_MS)
    cancel(world, definition)
    found = records(world, definition)
    assert [run.scheduled_for for run in found] == [START_MS + n * SECOND_MS for n in range(1, count + 1)]
    assert all((run.state, run.reason, run.block) == (RunState.CANCELLED, "job_cancelled", None) for run in found)
    assert all(run.ended_at == world.clock.now_ms() and run.expires_at for run in found)


def test_many_due_occurrences_share_a_record() -> None:
    """More than ten are one record that says how many, from which to which; a long outage costs no more."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    world.clock.advance(365 * 24 * 3600 * SECOND_MS)
    cancel(world, definition)
    (run,) = records(world, definition)
    assert run.block == SkippedBlock(365 * 24 * 3600, START_MS + SECOND_MS, world.clock.now_ms())
    assert run.scheduled_for == world.clock.now_ms()


def test_what_is_recorded_already_is_left_alone() -> None:
    """Runs that a worker has begun before the dispatcher's confirm keep their records, and are not counted again."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    running = [begun(definition, START_MS + n * SECOND_MS) for n in (2, 3)]
    for run in running:
        world.runs.save(run, seen=None)
    world.clock.advance(4 * SECOND_MS)
    cancel(world, definition)
    assert [(run.scheduled_for - START_MS, run.state) for run in records(world, definition)] == [
        (1_000, RunState.CANCELLED),
        (2_000, RunState.RUNNING),
        (3_000, RunState.RUNNING),
        (4_000, RunState.CANCELLED),
    ]


def test_a_shared_record_is_not_filed_where_one_stands() -> None:
    """When the newest of many has a record already, the shared one stands under the newest that has none."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    world.clock.advance(20 * SECOND_MS)
    newest = begun(definition, world.clock.now_ms())
    world.runs.save(newest, seen=None)
    cancel(world, definition)
    shared, kept = records(world, definition)
    assert kept == newest
    assert shared.block == SkippedBlock(19, START_MS + SECOND_MS, START_MS + 19 * SECOND_MS)


def test_no_more_than_the_runs_that_were_left() -> None:
    """A job with two runs left has no third occurrence to be recorded."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS), max_runs=2)
    world.clock.advance(5 * SECOND_MS)
    cancel(world, definition)
    assert [run.scheduled_for - START_MS for run in records(world, definition)] == [1_000, 2_000]


def test_a_single_run_that_was_due() -> None:
    """A one-off that was due and not yet handed over ends as cancelled."""
    world = MemoryWorld()
    definition = created(world, OneOff(START_MS + 1))
    world.clock.advance(1)
    cancel(world, definition)
    assert [run.state for run in records(world, definition)] == [RunState.CANCELLED]


def test_the_cancelled_job() -> None:
    """It leaves the due index, gets a revision that governs only what comes later, and an expiry."""
    world = MemoryWorld()
    definition = created(world, CronSchedule("* * * * *"))
    cancel(world, definition)
    stored = world.jobs.get(definition.job.id)
    assert stored is not None
    assert (stored.job.state, stored.job.next_fire_time, stored.job.version) == (JobState.CANCELLED, None, 2)
    assert stored.spec.revisions[-1].kind is RevisionKind.CANCELLED
    assert stored.spec.revisions[-1].since == START_MS + 1
    assert stored.job.expires_at == (START_MS + RETENTION_MS) // SECOND_MS + 14 * 24 * 3600


def test_a_dispatcher_that_was_deciding_loses() -> None:
    """A claim taken before the cancel can neither be confirmed nor leave a second record."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    world.clock.advance(SECOND_MS)
    (entry,) = [entry for page in world.due.pages(definition.job.shard, world.clock.now_ms()) for entry in page]
    claim = Claim(entry, 1, "claim", world.clock.now_ms() + 30_000, world.clock.now_ms())
    world.jobs.claim_many([claim])
    cancel(world, definition)
    assert world.jobs.confirm_many([Confirmation(claim, None, 1, JobState.COMPLETED, None)]) == [False]
    assert [run.state for run in records(world, definition)] == [RunState.CANCELLED]


class Changing:
    """A store in which a dispatcher confirms just before each of the first replacements."""

    def __init__(self, world: MemoryWorld, races: int) -> None:
        self._world = world
        self._races = races

    def get(self, job_id: str) -> Definition | None:
        """Read."""
        return self._world.jobs.get(job_id)

    def replace(self, definition: Definition, **conditions: object) -> bool:
        """Lose the race so many times, then write."""
        if self._races:
            self._races -= 1
            stored = self._world.state.jobs[definition.job.id]
            self._world.state.put_job(replace(stored, version=stored.version + 1))
        return self._world.jobs.replace(definition, **conditions)


def test_lost_races_are_run_again() -> None:
    """A cancel that loses to a dispatcher reads anew and tries again."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    EditJob(Changing(world, 3), world.runs, RETENTION_MS)("acme", definition.job.id, START_MS, editing.cancel)
    assert world.state.jobs[definition.job.id].state is JobState.CANCELLED


def test_lost_races_have_an_end() -> None:
    """After so many lost races the cancel gives up and says that it may be tried again."""
    world = MemoryWorld()
    definition = created(world, Every.anchored(SECOND_MS, START_MS))
    with pytest.raises(UnavailableError):
        EditJob(Changing(world, MOST_RACES), world.runs, RETENTION_MS)(
            "acme", definition.job.id, START_MS, editing.cancel
        )
    assert world.state.jobs[definition.job.id].state is JobState.SCHEDULED


def test_only_in_the_revision_that_was_seen() -> None:
    """A cancel bound to another revision changes nothing."""
    world = MemoryWorld()
    definition = created(world, OneOff(START_MS + 1))
    with pytest.raises(RevisionMismatchError):
        cancel(world, definition, only_revisions=frozenset({2}))
    cancel(world, definition, only_revisions=frozenset({1}))


def test_another_tenants_job_is_unknown() -> None:
    """A tenant cannot cancel what is another's."""
    world = MemoryWorld()
    definition = created(world, OneOff(START_MS + 1))
    with pytest.raises(JobNotFoundError):
        EditJob(world.jobs, world.runs, RETENTION_MS)("globex", definition.job.id, START_MS, editing.cancel)
