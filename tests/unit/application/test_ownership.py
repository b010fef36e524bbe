"""Who owns a group of shards: owners that freeze and wake up, other groups than before, an old control table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from carillon.adapters.memory.control import MemoryShardLedger
from carillon.domain.job import Job
from carillon.domain.planning import DueEntry
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from support.world import START_MS, World, status

GROUP_LEASE_OVER_MS = 12_000
"""The group's lease has run out, and the claims of its owner still hold."""
CLAIM_LEASE_OVER_MS = 40_000
"""The claims have run out too."""
END_MS = START_MS + 600_000

STEPS = [
    "index.pages",
    "leases.take",
    "jobs.claim_many",
    "queues.send",
    "jobs.confirm_many",
    "runs.leave_index",
    "leases.release",
]


@dataclass(frozen=True)
class Stored:
    """What the table says of jobs and runs."""

    jobs: dict[str, Job]
    runs: dict[str, dict[str, Run]]

    @classmethod
    def of(cls, world: World) -> "Stored":
        """As it is now."""
        return cls(dict(world.state.jobs), {job_id: dict(runs) for job_id, runs in world.state.runs.items()})


def freeze(world: World, step: str, *, after: bool, meanwhile: Callable[[], None]) -> None:
    """Let the next caller of a port's method freeze before or after the call, while something happens."""
    name, _, method = step.partition(".")
    port = getattr(world, name)
    real = getattr(port, method)

    read: Callable[[Any], Any] = list if step == "index.pages" else lambda result: result

    def call(*args: Any, **options: Any) -> Any:
        setattr(port, method, real)
        if not after:
            meanwhile()
        result = read(real(*args, **options))
        if after:
            meanwhile()
        return result

    def pages(shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        yield from call(shard, until_ms)

    setattr(port, method, pages if step == "index.pages" else call)


def busy_world() -> tuple[World, list[tuple[str, int, int]]]:
    """A job that runs once, one that recurs and a run that waits, all to be sent; and each occurrence's attempts."""
    world = World()
    flaky = world.create(OneOff(START_MS + 1_000), retry=RetryPolicy(jitter=Jitter.NONE, base_ms=5_000))
    world.dispatch()
    world.clock.advance(1_000)
    world.caller.script = [status(503)]
    world.work()
    once = world.create(OneOff(START_MS + 5_000))
    every = world.create(Every(20_000, START_MS, end_ms=START_MS + 60_000))
    repeated = [(every, START_MS + at, 1) for at in (20_000, 40_000, 60_000)]
    return world, [(flaky, START_MS + 1_000, 2), (once, START_MS + 5_000, 1), *repeated]


def assert_all_ran_once(world: World, occurrences: list[tuple[str, int, int]]) -> None:
    """Every occurrence ended once, and no attempt was called twice."""
    for job_id, scheduled_for, attempts in occurrences:
        run = world.run_of(job_id, scheduled_for)
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, attempts)
    assert sum(len(runs) for runs in world.state.runs.values()) == len(occurrences)
    assert len(world.caller.calls) == sum(attempts for _, _, attempts in occurrences)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_b097_who_wakes_up_after_its_claims_are_gone_can_do_nothing(step: str, *, after: bool) -> None:
    """B097: whatever it was about to do, no job and no run changes by it; its messages are void."""
    world, occurrences = busy_world()
    seen: list[Stored] = []

    def meanwhile() -> None:
        world.clock.advance(CLAIM_LEASE_OVER_MS)
        world.dispatch()
        world.work()
        seen.append(Stored.of(world))

    freeze(world, step, after=after, meanwhile=meanwhile)
    world.dispatch()
    assert seen, f"no dispatcher came to {step}: the test would prove nothing"
    assert Stored.of(world) == seen[0]
    world.run_until(END_MS)
    assert_all_ran_once(world, occurrences)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_b097_who_wakes_up_without_its_group_finishes_its_claims_and_no_more(step: str, *, after: bool) -> None:
    """B097: while its claims hold, the new owner leaves them alone; each occurrence still ends once."""
    world, occurrences = busy_world()

    def meanwhile() -> None:
        world.clock.advance(GROUP_LEASE_OVER_MS)
        counts = world.dispatch()
        assert counts is not None
        assert counts.taken_over == 0
        world.work()

    freeze(world, step, after=after, meanwhile=meanwhile)
    world.dispatch()
    world.run_until(END_MS)
    assert_all_ran_once(world, occurrences)


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_more_groups_than_before_take_over_from_an_owner_of_all(groups: int) -> None:
    """A deployment that raises the groups overlaps with the dispatchers before it: nothing is lost, nothing twice."""
    world = World(shards=4, groups=1)
    occurrences = [
        (world.create(OneOff(START_MS + 5_000), shard=number % 4), START_MS + 5_000, 1) for number in range(8)
    ]

    def meanwhile() -> None:
        world.groups = groups
        world.dispatch()
        world.work()

    freeze(world, "queues.send", after=False, meanwhile=meanwhile)
    world.dispatch()
    world.run_until(END_MS)
    assert_all_ran_once(world, occurrences)


def test_fewer_groups_than_before_read_every_shard() -> None:
    """Groups may be lowered as well: a shard's owner is the rest of a division, so each shard has one again."""
    world = World(shards=4, groups=4)
    occurrences = [(world.create(OneOff(START_MS + 5_000), shard=shard), START_MS + 5_000, 1) for shard in range(4)]
    world.groups = 1
    world.run_until(END_MS)
    assert_all_ran_once(world, occurrences)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_fewer_shards_than_before_are_refused(shards: int) -> None:
    """A setting below the highest count ever used changes nothing: jobs of all shards run."""
    world = World(shards=4)
    MemoryShardLedger(world.state).raise_to(4)
    occurrences = [(world.create(OneOff(START_MS + 5_000), shard=shard), START_MS + 5_000, 1) for shard in range(4)]
    world.shards = shards
    assert MemoryShardLedger(world.state).raise_to(shards) == 4
    world.run_until(END_MS)
    assert_all_ran_once(world, occurrences)


@pytest.mark.parametrize("age_ms", [1, 3_600_000, None], ids=["a-moment", "an-hour", "no-lease-at-all"])
def test_a_control_table_of_before_fences_nobody_off(age_ms: int | None) -> None:
    """Epochs are instants: an owner by an older control table has a higher epoch than what is stored on the jobs."""
    world = World()
    job_id = world.create(Every(20_000, START_MS, end_ms=START_MS + 300_000))
    world.run_until(START_MS + 30_000)
    lease = world.state.leases.pop(0)
    if age_ms is not None:
        world.state.leases[0] = replace(lease, epoch=lease.epoch - age_ms, until=0)
    world.run_until(END_MS)
    assert world.state.jobs[job_id].lease.epoch > lease.epoch
    assert_all_ran_once(world, [(job_id, START_MS + at, 1) for at in range(0, 300_001, 20_000)])


def test_a_control_table_of_before_and_a_clock_behind_make_nothing_late_for_longer_than_that() -> None:
    """The new owner's epoch is older than those on the jobs until its clock has caught up; then all runs, once."""
    world = World()
    job_id = world.create(Every(20_000, START_MS, end_ms=START_MS + 300_000))
    world.run_until(START_MS + 100_000)
    world.state.leases.clear()
    world.clock.advance(-30_000)
    world.run_until(END_MS)
    assert_all_ran_once(world, [(job_id, START_MS + at, 1) for at in range(0, 300_001, 20_000)])


def test_an_idle_group_writes_nothing_however_often_it_ticks() -> None:
    """An hour of ticks that find nothing: as many reads as shards and ticks, and nothing else."""
    world = World(shards=4, groups=2)
    world.create(OneOff(START_MS + 10 * 3_600_000))
    before = Stored.of(world)
    for _ in range(3_600):
        world.dispatch()
        world.clock.advance(1_000)
    assert world.calls_made == {"index.pages": 4 * 3_600}
    assert (Stored.of(world), world.state.leases, dict(world.meter.counts)) == (before, {}, {})
