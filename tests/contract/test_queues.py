"""Messages arrive in the queue of their lane and priority, and not before they are due."""

import pytest

from carillon.domain.identity import RunKey
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import MessageKind, Tick, WorkMessage
from contract.backends import Queues
from contract.samples import NOW_MS, new_job_id


def a_message(due_ms: int) -> WorkMessage:
    """A message of a first run."""
    return WorkMessage(MessageKind.FIRST, RunKey.of(new_job_id(), NOW_MS), "acme", due_ms, 1, 0, "C" * 26)


@pytest.mark.parametrize(
    ("lane", "priority", "queue"),
    [
        (Lane.SHORT, Priority.HIGH, "high"),
        (Lane.SHORT, Priority.NORMAL, "normal"),
        (Lane.SHORT, Priority.LOW, "low"),
        (Lane.LONG, Priority.HIGH, "long"),
        (Lane.LONG, Priority.LOW, "long"),
    ],
)
def test_a_message_takes_the_queue_of_its_lane_and_priority(
    queues: Queues, lane: Lane, priority: Priority, queue: str
) -> None:
    """Long calls go by their own queue, all others by priority; the body is the message."""
    message = a_message(queues.clock.now_ms())
    assert queues.work.send([(message, lane, priority)], queues.clock) == [True]
    arrived = {name: queues.bodies(name) for name in ("high", "normal", "low", "long")}
    assert arrived == {name: [message.encode()] if name == queue else [] for name in arrived}


def test_many_messages_all_arrive(queues: Queues) -> None:
    """More messages than a batch holds, over several queues: each is accepted and arrives once."""
    now_ms = queues.clock.now_ms()
    priorities = [Priority.HIGH, Priority.NORMAL] * 12
    messages = [(a_message(now_ms), Lane.SHORT, priority) for priority in priorities]
    assert queues.work.send(messages, queues.clock) == [True] * 24
    arrived = [body for name in ("high", "normal") for _ in range(4) for body in queues.bodies(name)]
    assert sorted(arrived) == sorted(message.encode() for message, _, _ in messages)


def test_a_message_that_is_not_due_is_not_seen(queues: Queues) -> None:
    """What is due later stays out of sight."""
    message = a_message(queues.clock.now_ms() + 600_000)
    assert queues.work.send([(message, Lane.SHORT, Priority.NORMAL)], queues.clock) == [True]
    assert queues.bodies("normal") == []


def test_nothing_sent_is_no_work(queues: Queues) -> None:
    """No messages, no answers."""
    assert queues.work.send([], queues.clock) == []
    assert queues.ticks.send([], queues.clock.now_ms()) == []


def test_ticks_arrive_in_their_second(queues: Queues) -> None:
    """A tick of this second is there at once, later ones are not seen yet."""
    now_ms = queues.clock.now_ms()
    ticks = [Tick(0, now_ms // 1000 + offset) for offset in range(0, 1_200, 60)]
    assert queues.ticks.send(ticks, now_ms) == [True] * 20
    assert [Tick.decode(body) for body in queues.bodies("tick")] == ticks[:1]
