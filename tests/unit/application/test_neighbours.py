"""What one tenant has waiting costs the others nothing: no reads, no writes, no lateness. Nor does a recovery."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from carillon.domain.job import PlanningRules, Priority
from carillon.domain.limits import DispatchLimit, Limits
from carillon.domain.planning import DueEntry
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, OneOff
from carillon.domain.slots import Pace
from tests.support.world import NEIGHBOUR, START_MS, TENANT, World

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000
BACKLOG = 3_000
"""A hundredth of the 300,000 that we think of: so is the rate."""

TEN_A_SECOND = Pace(100_000, 10)


@dataclass
class CountedIndex:
    """The due index, with a count of what is read from it."""

    index: Any
    read: int = 0

    def pages(self, shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        """The pages of a shard."""
        for page in self.index.pages(shard, until_ms):
            self.read += len(page)
            yield page


@dataclass
class Costs:
    """What a minute of dispatching has used, and how late its runs began."""

    read: int
    calls: Counter[str]
    lateness_ms: list[int] = field(default_factory=list)


def a_minute_of_the_neighbour(backlog: int) -> Costs:
    """Dispatch a minute in which the neighbour has a run each second, beside a tenant that has so many waiting."""
    world = World()
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(1, 1)))  # none of its slots comes within the test
    for _ in range(backlog):
        world.create(OneOff(START_MS))
    world.dispatch()
    world.work()
    world.clock.advance(5 * MINUTE_MS)
    from_ms = world.clock.now_ms()
    jobs = [world.create(OneOff(from_ms + at * SECOND_MS), tenant=NEIGHBOUR) for at in range(60)]
    world.index = CountedIndex(world.index)  # type: ignore[assignment]  # it is one
    world.calls_made.clear()
    world.run_until(from_ms + MINUTE_MS)
    runs = [run for job_id in jobs for run in world.history(job_id)]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    return Costs(world.index.read, world.calls_made, [run.lateness_ms or 0 for run in runs])  # type: ignore[attr-defined]


def test_entries_that_wait_for_their_slots_cost_the_neighbours_nothing() -> None:
    """Beside three thousand of them a dispatcher reads and writes for the others what it does beside none."""
    alone, beside = a_minute_of_the_neighbour(0), a_minute_of_the_neighbour(BACKLOG)
    assert beside.read == alone.read
    assert beside.calls == alone.calls
    assert beside.lateness_ms == alone.lateness_ms == [0] * 60


def test_the_spike_of_one_tenant_delays_no_other() -> None:
    """While thousands of one tenant fall due and get their slots, the neighbours' runs start when they are due."""
    world = World()
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(5_000, 5)))
    for _ in range(BACKLOG):
        world.create(OneOff(START_MS + 30 * SECOND_MS))
    others = [world.create(OneOff(START_MS + at * SECOND_MS), tenant=NEIGHBOUR) for at in range(90)]
    world.run_until(START_MS + 2 * MINUTE_MS)
    assert [run.lateness_ms for job_id in others for run in world.history(job_id)] == [0] * 90
    own = [at_ms for request, at_ms in world.caller.calls if at_ms >= START_MS + 30 * SECOND_MS]
    assert max(Counter(own).values()) <= 5 * 2 + 1 + 1, "the burst with a second's rate, and a neighbour's"


@pytest.mark.parametrize("tenant", [TENANT, NEIGHBOUR], ids=["own", "another tenant's"])
def test_what_is_due_now_is_not_behind_the_backlog_of_an_outage(tenant: str) -> None:
    """The late runs of two hours start at the pace of catch-up; those that are due meanwhile start on the second."""
    world = World(catch_up=TEN_A_SECOND)
    for _ in range(1_000):
        world.create(OneOff(START_MS))
    world.clock.advance(2 * HOUR_MS)
    back_ms = world.clock.now_ms()
    punctual = [world.create(OneOff(back_ms + at * SECOND_MS), tenant=tenant) for at in range(120)]
    counts = world.dispatch()
    assert counts is not None
    assert (counts.paced, counts.deferred) == (1_000 - 10 * 61, 0)
    assert counts.lag_ms == 2 * HOUR_MS, "slots do not hide that they are late"
    world.run_until(back_ms + 3 * MINUTE_MS)
    assert [run.lateness_ms for job_id in punctual for run in world.history(job_id)] == [0] * 120
    late = Counter(at_ms for request, at_ms in world.caller.calls if _run_of(request) not in set(punctual))
    assert sum(late.values()) == 1_000
    assert max(late.values()) <= 2 * TEN_A_SECOND.burst, "the burst at first, then ten a second"


def test_a_recovery_is_spread_within_a_job_too() -> None:
    """The missed occurrences of one job that has to run them all start at the pace, oldest first, none lost."""
    world = World(catch_up=Pace(1_000_000, 1))
    job_id = world.create(Every(MINUTE_MS, START_MS), rules=PlanningRules.decode("fire_all:60000:100::0"))
    world.clock.advance(90 * MINUTE_MS)
    back_ms = world.clock.now_ms()
    world.run_until(back_ms + 5 * MINUTE_MS)
    starts = [at_ms - back_ms for _, at_ms in world.caller.calls]
    assert sorted(set(starts))[:90] == [number * SECOND_MS for number in range(90)]
    assert max(Counter(starts).values()) <= 2, "with one that is due then"
    nominal = [run.scheduled_for for run in world.history(job_id)]
    assert nominal == [START_MS + number * MINUTE_MS for number in range(len(nominal))]
    assert len(nominal) >= 95


def test_under_a_rate_the_late_get_half_of_it() -> None:
    """What is due now finds a free slot behind a backlog of its own tenant."""
    world = World(catch_up=TEN_A_SECOND)
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(1_000, 1)))
    for _ in range(200):
        world.create(OneOff(START_MS))
    world.clock.advance(HOUR_MS)
    back_ms = world.clock.now_ms()
    punctual = [world.create(OneOff(back_ms + 30 * SECOND_MS + at * 10 * SECOND_MS)) for at in range(20)]
    world.run_until(back_ms + 8 * MINUTE_MS)
    lateness = [run.lateness_ms or 0 for job_id in punctual for run in world.history(job_id)]
    assert len(lateness) == 20
    assert max(lateness) <= 2 * SECOND_MS
    starts = [at_ms for _, at_ms in world.caller.calls]
    assert len(starts) == 220
    assert max(Counter(starts).values()) <= 2, "a slot begins in its second or at the end of the one before"


def test_of_what_is_due_together_high_priority_gets_its_slot_first() -> None:
    """Bulk of one's own does not stand before what is urgent in the same look."""
    world = World()
    world.limits.set(TENANT, Limits(dispatch=DispatchLimit(1_000, 1)))
    low = [world.create(OneOff(START_MS), priority=Priority.LOW) for _ in range(20)]
    high = world.create(OneOff(START_MS), priority=Priority.HIGH)
    world.run_until(START_MS + 30 * SECOND_MS)
    (run,) = world.history(high)
    assert run.lateness_ms == 0
    assert len([run for job_id in low for run in world.history(job_id)]) == 20


def _run_of(request: Any) -> str:
    job_id, _, _ = dict(request.headers)["webhook-id"].partition("@")
    return str(job_id)
