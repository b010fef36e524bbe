"""Queues in memory that behave as SQS does: delays, visibility, receipts that go stale, deliveries more than once."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock

from carillon.adapters.sqs.routing import (
    QueueName,
    delay_seconds,
    invisible_seconds,
    queue_name,
    tick_delay_seconds,
)
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import Tick, WorkMessage
from carillon.ports.edges import Clock


@dataclass(slots=True)
class _Stored:
    message_id: str
    body: str
    group: str
    visible_at: int
    receives: int = 0


@dataclass(frozen=True, slots=True)
class MemoryDelivery:
    """One receipt of a message. Once the message has been received again, this receipt can do nothing any more."""

    queue: "MemoryQueue"
    message_id: str
    body: str
    group: str
    receives: int

    def come_again_after(self, after_ms: int) -> None:
        """Let the message stay invisible for so long from now."""
        self.queue.hide(self, invisible_seconds(after_ms) * 1000)

    def delete(self) -> None:
        """The message is done with."""
        self.queue.delete(self)


class MemoryQueue:
    """A standard queue. What has been received more than `most_receives` times goes to `dead` instead."""

    def __init__(self, name: str, clock: Clock, *, most_receives: int = 1000) -> None:
        self.name = name
        self.dead: list[str] = []
        self._clock = clock
        self._most_receives = most_receives
        self._stored: dict[str, _Stored] = {}
        self._sent = 0
        self._lock = RLock()

    def __len__(self) -> int:
        """How many messages are in the queue, visible or not."""
        return len(self._stored)

    def send(self, body: str, *, delay_ms: int = 0, group: str = "") -> str:
        """Put a message in; returns its id."""
        with self._lock:
            self._sent += 1
            message_id = f"{self.name}-{self._sent}"
            self._stored[message_id] = _Stored(message_id, body, group, self._clock.now_ms() + delay_ms)
            return message_id

    def receive(self, limit: int = 10, visibility_ms: int = 30_000) -> list[MemoryDelivery]:
        """Take up to so many visible messages, the longest visible first; they come again after the time given."""
        with self._lock:
            now_ms = self._clock.now_ms()
            visible = sorted((m for m in self._stored.values() if m.visible_at <= now_ms), key=lambda m: m.visible_at)
            deliveries = (self._receive_one(message, now_ms + visibility_ms) for message in visible[:limit])
            return [delivery for delivery in deliveries if delivery is not None]

    def next_visible_at(self) -> int | None:
        """When the next message becomes visible (epoch ms, maybe past), or None when the queue is empty."""
        with self._lock:
            return min((message.visible_at for message in self._stored.values()), default=None)

    def hide(self, delivery: MemoryDelivery, duration_ms: int) -> None:
        """Keep a received message out of sight for so long from now, if the receipt is its newest."""
        with self._lock:
            if message := self._current(delivery):
                message.visible_at = self._clock.now_ms() + duration_ms

    def delete(self, delivery: MemoryDelivery) -> None:
        """Remove a received message, if the receipt is its newest."""
        with self._lock:
            if self._current(delivery):
                del self._stored[delivery.message_id]

    def _receive_one(self, message: _Stored, visible_at: int) -> MemoryDelivery | None:
        message.receives += 1
        if message.receives > self._most_receives:
            self.dead.append(self._stored.pop(message.message_id).body)
            return None
        message.visible_at = visible_at
        return MemoryDelivery(self, message.message_id, message.body, message.group, message.receives)

    def _current(self, delivery: MemoryDelivery) -> _Stored | None:
        message = self._stored.get(delivery.message_id)
        return message if message and message.receives == delivery.receives else None


class MemoryWorkQueues:
    """The four work queues. Delays are computed by the sender's clock and count by the queues' own."""

    def __init__(self, clock: Clock, *, most_receives: int = 1000) -> None:
        self.queues = {name: MemoryQueue(name, clock, most_receives=most_receives) for name in QueueName}

    def send(self, messages: Sequence[tuple[WorkMessage, Lane, Priority]], clock: Clock) -> list[bool]:
        """Send each to the queue of its lane and priority; all are accepted."""
        for message, lane, priority in messages:
            delay_ms = delay_seconds(priority, message.due_ms, clock.now_ms()) * 1000
            self.queue(lane, priority).send(message.encode(), delay_ms=delay_ms, group=message.tenant)
        return [True] * len(messages)

    def queue(self, lane: Lane, priority: Priority) -> MemoryQueue:
        """The queue that a lane and a priority take."""
        return self.queues[queue_name(lane, priority)]


class MemoryTickQueue:
    """The queue of ticks."""

    def __init__(self, clock: Clock) -> None:
        self.queue = MemoryQueue("tick", clock)

    def send(self, ticks: Sequence[Tick], now_ms: int) -> list[bool]:
        """Send each so that it arrives in its second; all are accepted."""
        for tick in ticks:
            self.queue.send(tick.encode(), delay_ms=tick_delay_seconds(tick.second, now_ms) * 1000)
        return [True] * len(ticks)
