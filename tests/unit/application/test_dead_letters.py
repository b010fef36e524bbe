"""Messages that no worker could finish: the worker's rules first, then a visible end."""

import pytest

from carillon.adapters.memory.queues import MemoryDelivery
from carillon.domain.job import Lane, Priority
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from support.world import START_MS, World, dies, status

DUE_MS = START_MS + 1_000


def undelivered(world: World) -> tuple[str, MemoryDelivery]:
    """A job whose message was received and never handled."""
    job_id = world.create(OneOff(DUE_MS))
    world.dispatch()
    world.clock.set(DUE_MS + 10_000)
    (delivery,) = world.receive()
    return job_id, delivery


def test_what_would_still_have_to_start_becomes_a_dead_letter() -> None:
    """A message that was received too often without a start ends its run visibly (B125)."""
    world = World()
    job_id, delivery = undelivered(world)
    assert world.burier()(delivery)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "undeliverable")


def test_b187_a_dead_letter_of_an_ended_run_changes_nothing() -> None:
    """B187: a run that has since succeeded stays as it is."""
    world = World()
    job_id, delivery = undelivered(world)
    world.handle(delivery)
    assert world.burier()(delivery)
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED


def test_b187_a_dead_letter_past_its_deadline_says_so() -> None:
    """B187: the rules of the job come first: past its deadline the run is skipped for that reason."""
    world = World()
    job_id = world.create(OneOff(DUE_MS), deadline_ms=5_000)
    world.dispatch()
    world.clock.set(DUE_MS + 86_400_000)
    (delivery,) = world.receive()
    assert world.burier()(delivery)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.SKIPPED, "deadline")


def test_a_dead_letter_of_a_living_attempt_is_looked_at_later() -> None:
    """While the attempt's lease runs, its message is its safety net."""
    world = World()
    world.caller.script = [dies]
    job_id, delivery = undelivered(world)
    world.handle(delivery)
    assert not world.burier()(delivery)
    assert world.run_of(job_id, DUE_MS).state is RunState.RUNNING
    world.clock.advance(61_000)
    assert world.burier()(delivery)
    assert world.run_of(job_id, DUE_MS).state is RunState.RETRYING


def test_a_stale_wait_is_dropped() -> None:
    """A dead letter of a wait that is over says nothing about the run as it is now."""
    world = World()
    world.caller.script = [status(503)]
    job_id = world.create(OneOff(DUE_MS))
    world.run_until(DUE_MS + 1_000)
    world.dispatch()
    world.clock.advance(5_000)
    (delivery,) = world.receive()
    world.handle(delivery)
    assert world.burier()(delivery)
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED


@pytest.mark.parametrize("body", ["not json", '{"v":1}', '{"v":9}', "\x00"])
def test_what_nobody_can_read_is_kept_for_a_person(body: str) -> None:
    """The message leaves the queue and is kept with its reason, and is counted for the alarm."""
    world = World()
    queue = world.queues.queue(Lane.SHORT, Priority.NORMAL)
    queue.send(body)
    (delivery,) = world.receive()
    assert world.burier()(delivery)
    assert [kept.body for kept in world.state.set_aside] == [body]
    assert world.meter.counts["unparsable_message"] == 1
