"""However much of one priority waits, the others go on: each queue has the capacity of its own mapping."""

import pytest

from carillon.domain.job import Priority
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from infra.stages import DEV, Concurrency
from tests.support.world import NEIGHBOUR, START_MS, TENANT, World

SECOND_MS = 1_000
BATCH = 10
BULK = 600


def work_a_second(world: World, caps: Concurrency) -> None:
    """Let each queue's mapping take as many batches as its cap allows; a call takes a second."""
    for name, queue in world.queues.queues.items():
        for delivery in queue.receive(getattr(caps, name.value) * BATCH, 120_000):
            world.handle(delivery)


def run(world: World, seconds: int) -> None:
    """Let time pass."""
    for _ in range(seconds):
        world.dispatch()
        work_a_second(world, DEV.concurrency)
        world.clock.advance(SECOND_MS)


@pytest.mark.parametrize("bulk", [Priority.NORMAL, Priority.LOW])
def test_high_never_waits_behind_bulk(bulk: Priority) -> None:
    """While half a minute's worth of others waits in its queue, each high run starts in its second."""
    world = World()
    for _ in range(BULK):
        world.create(OneOff(START_MS), priority=bulk)
    urgent = [world.create(OneOff(START_MS + at * SECOND_MS), priority=Priority.HIGH) for at in range(20)]
    run(world, 20)
    assert [each.lateness_ms for job_id in urgent for each in world.history(job_id)] == [0] * 20
    assert len(world.caller.calls) < BULK, "the bulk is not done yet"


@pytest.mark.parametrize("flood", [Priority.HIGH, Priority.NORMAL])
def test_low_never_starves(flood: Priority) -> None:
    """Under a flood that never ends, low runs start as if there were none."""
    world = World()
    for at in range(20):
        for _ in range(BULK // 20):
            world.create(OneOff(START_MS + at * SECOND_MS), priority=flood)
    bulk = [world.create(OneOff(START_MS), priority=Priority.LOW) for _ in range(100)]
    run(world, 5)
    states = [each.state for job_id in bulk for each in world.history(job_id)]
    assert states == [RunState.SUCCEEDED] * 100


def test_messages_say_whose_they_are() -> None:
    """The tenant is the group of each message: what makes the queue fair."""
    world = World()
    for tenant in (TENANT, NEIGHBOUR):
        world.create(OneOff(START_MS), tenant=tenant)
    world.dispatch()
    assert {delivery.group for delivery in world.receive()} == {TENANT, NEIGHBOUR}
