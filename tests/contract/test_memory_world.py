"""What the world in memory can do beyond the contract: stand still, lag, and deliver more than once."""

import pytest

from carillon.adapters.memory.queues import MemoryQueue
from carillon.adapters.memory.world import MemoryWorld
from carillon.domain.planning import UnreadableEntry
from contract.samples import NOW_MS, a_claim, a_confirmation, a_definition, as_due, confirm_one


@pytest.fixture
def world() -> MemoryWorld:
    """A world in memory whose clock stands at the samples' present."""
    world = MemoryWorld()
    world.clock.set(NOW_MS)
    return world


def shown(world: MemoryWorld) -> list[object]:
    """All entries of shard 1."""
    return [entry for page in world.due.pages(1, 2**52) for entry in page]


def test_the_index_lags_by_writes(world: MemoryWorld) -> None:
    """The newest so many changes are not shown yet, and what was shown does not go back."""
    first, second, third = (a_definition() for _ in range(3))
    world.jobs.create(first)
    assert shown(world) == [as_due(first.job)]
    world.due.lag_writes = 1
    world.jobs.create(second)
    assert shown(world) == [as_due(first.job)]
    world.jobs.create(third)
    assert shown(world) == [as_due(first.job), as_due(second.job)]


def test_the_index_lags_by_time(world: MemoryWorld) -> None:
    """An old entry is shown until the change that replaced it is old enough."""
    definition = a_definition()
    world.jobs.create(definition)
    assert shown(world) == [as_due(definition.job)]
    world.due.lag_ms = 2_000
    claim = a_claim(definition.job)
    world.jobs.claim_many([claim])
    confirm_one(world.jobs, a_confirmation(claim))
    assert shown(world) == [as_due(definition.job)]
    world.clock.advance(1_999)
    assert shown(world) == [as_due(definition.job)]
    world.clock.advance(1)
    stored = world.jobs.get(definition.job.id)
    assert stored is not None
    assert shown(world) == [as_due(stored.job)]


def test_each_page_shows_the_index_as_it_is_then(world: MemoryWorld) -> None:
    """What leaves the index between two pages is not on the second, and nothing is skipped for it."""
    world.due._page_size = 2
    definitions = [a_definition() for _ in range(5)]
    for definition in definitions:
        world.jobs.create(definition)
    pages = world.due.pages(1, 2**52)
    first = next(pages)
    for definition in (definitions[0], definitions[2]):
        world.jobs.set_error(as_due(definition.job), "gone")
    rest = [entry for page in pages for entry in page]
    assert [*first, *rest] == [as_due(definitions[at].job) for at in (0, 1, 3, 4)]


def test_an_unreadable_entry_can_be_planted_and_set_aside(world: MemoryWorld) -> None:
    """It is shown in its place, once set aside it is gone from the index and kept."""
    entry = UnreadableEntry("JOB#?", "JOB", 1, "version is missing")
    world.state.plant_unreadable(entry, NOW_MS)
    assert shown(world) == [entry]
    world.due.set_aside(entry)
    world.due.set_aside(entry)
    assert shown(world) == []
    assert [kept.reason for kept in world.state.set_aside] == ["version is missing"]


def test_stored_values_cannot_be_changed_from_outside(world: MemoryWorld) -> None:
    """The labels given to the store are a copy."""
    labels = {"team": "billing"}
    definition = a_definition(spec={"labels": labels})
    world.jobs.create(definition)
    labels["team"] = "sales"
    stored = world.jobs.get(definition.job.id)
    assert stored is not None
    assert stored.spec.labels == {"team": "billing"}


@pytest.fixture
def queue(world: MemoryWorld) -> MemoryQueue:
    """A queue that gives up after three receives."""
    return MemoryQueue("q", world.clock, most_receives=3)


def test_a_delayed_message_is_seen_when_its_time_comes(world: MemoryWorld, queue: MemoryQueue) -> None:
    """Not a millisecond before."""
    queue.send("hello", delay_ms=5_000, group="acme")
    assert queue.next_visible_at() == NOW_MS + 5_000
    world.clock.advance(4_999)
    assert queue.receive() == []
    world.clock.advance(1)
    assert [(delivery.body, delivery.group) for delivery in queue.receive()] == [("hello", "acme")]


def test_b101_a_received_message_comes_again_unless_it_is_deleted(world: MemoryWorld, queue: MemoryQueue) -> None:
    """B101: after its visibility it is delivered again; an old receipt can then neither delete nor hide it."""
    queue.send("hello")
    [first] = queue.receive(visibility_ms=10_000)
    assert queue.receive() == []
    world.clock.advance(10_000)
    [second] = queue.receive(visibility_ms=10_000)
    assert (second.message_id, second.receives) == (first.message_id, 2)
    first.delete()
    first.come_again_after(3_600_000)
    world.clock.advance(10_000)
    [third] = queue.receive()
    third.delete()
    third.delete()
    assert len(queue) == 0
    assert queue.next_visible_at() is None


def test_a_message_put_back_comes_after_whole_seconds(world: MemoryWorld, queue: MemoryQueue) -> None:
    """The time is rounded up, as SQS takes whole seconds."""
    queue.send("hello")
    [delivery] = queue.receive()
    delivery.come_again_after(1_001)
    world.clock.advance(1_999)
    assert queue.receive() == []
    world.clock.advance(1)
    assert len(queue.receive()) == 1


def test_b125_a_message_received_too_often_is_dead(world: MemoryWorld, queue: MemoryQueue) -> None:
    """B125: what comes back more often than the queue allows goes to the dead letters, and only that."""
    queue.send("poison")
    for _ in range(3):
        assert len(queue.receive(visibility_ms=1_000)) == 1
        world.clock.advance(1_000)
    queue.send("healthy")
    assert [delivery.body for delivery in queue.receive()] == ["healthy"]
    assert queue.dead == ["poison"]
