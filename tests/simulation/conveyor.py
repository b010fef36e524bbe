"""The queues between dispatchers and workers, and who takes what from them when."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from carillon.adapters.memory.queues import MemoryDelivery, MemoryQueue, MemoryWorkQueues
from carillon.adapters.sqs.routing import QueueName, delay_seconds, queue_name
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.ports.edges import Clock

from .actors import LIMITED
from .batches import Batch

if TYPE_CHECKING:
    from .machines import Worker
    from .world import World

Addressed = tuple[WorkMessage, Lane, Priority]
VISIBILITY_MS = 120_000
LONG_VISIBILITY_MS = 930_000
WORKER_LASTS_MS = 90_000
LONG_WORKER_LASTS_MS = 900_000


class Conveyor:
    """The work queues, their dead letters, and the polling of both."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._queues = MemoryWorkQueues(world.kernel, most_receives=world.plan.most_receives)
        self._dead = MemoryQueue("dead", world.kernel)
        self._polls: dict[str, int] = {}
        self._sent: list[Addressed] = []
        self.workers: list[Worker] = []

    def left(self) -> list[str]:
        """What is still in the queues."""
        queues = [*self._queues.queues.values(), self._dead]
        return [f"message in {queue.name}" for queue in queues for _ in range(len(queue))]

    # ---------------------------------------------------------------------------------------------------------- sending

    def send(self, messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        """Send for a dispatcher, by its clock."""
        accepted = self._queues.send(messages, clock)
        now_ms, own_ms = self._world.kernel.now, clock.now_ms()
        earliest: dict[str, int] = {}
        for message, lane, priority in messages:
            self._note(message, lane, priority)
            name = queue_name(lane, priority)
            delay_ms = delay_seconds(priority, message.due_ms, own_ms) * 1000
            earliest[name] = min(delay_ms, earliest.get(name, delay_ms))
        for name, delay_ms in earliest.items():
            self._poll_by(name, now_ms + delay_ms)
        return accepted

    def _note(self, message: WorkMessage, lane: Lane, priority: Priority) -> None:
        if self._world.plan.redeliveries_ms:
            self._sent.append((message, lane, priority))
        if message.tenant == LIMITED:
            key = (message.key.job_id, message.key.name, message.wait)
            self._world.history.slots.setdefault(key, max(message.due_ms, self._world.kernel.now))
        if message.kind is MessageKind.FIRST:
            decided_at = self._world.jobs.decided_at[message.claim_id]
            story = self._world.history.stories[message.key.job_id]
            story.decided.setdefault(message.key.scheduled_for, (decided_at, message.due_ms))

    def redeliver(self) -> None:
        """Deliver an old message again."""
        if self._sent:
            message, lane, priority = self._world.draw.choice(self._sent)
            self._queues.queue(lane, priority).send(message.encode())
            self._poll_by(queue_name(lane, priority), self._world.kernel.now)

    def hide(self, delivery: MemoryDelivery, after_ms: int) -> None:
        """Let a message come again later."""
        delivery.come_again_after(after_ms)
        self._poll_by(delivery.queue.name, self._world.kernel.now + after_ms)

    # ---------------------------------------------------------------------------------------------------------- polling

    def _poll_by(self, name: str, visible_at: int | None) -> None:
        """See that a queue is looked at as soon as something in it is visible."""
        if visible_at is None:
            return
        kernel = self._world.kernel
        poll_at = max(visible_at, kernel.now) + self._world.draw.randrange(self._world.plan.poll_ms)
        if self._polls.get(name, poll_at + 1) > poll_at:
            self._polls[name] = poll_at
            kernel.at(poll_at, partial(self._poll, name, poll_at))

    def _poll(self, name: str, poll_at: int) -> None:
        """Take what is visible, and see that the queue is looked at again."""
        if self._polls.get(name) != poll_at:
            return
        del self._polls[name]
        if "workers" in self._world.down:
            self._poll_by(name, self._world.kernel.now + 1_000)
            return
        queue = self._dead if name == self._dead.name else self._queues.queues[QueueName(name)]
        self._receive(queue)
        self._poll_by(name, queue.next_visible_at())

    def _receive(self, queue: MemoryQueue) -> None:
        """Hand what is visible to workers, in any order."""
        world = self._world
        received = queue.receive(1_000, LONG_VISIBILITY_MS if queue.name == QueueName.LONG else VISIBILITY_MS)
        self._collect_dead(queue)
        if not world.plan.is_calm:
            world.draw.shuffle(received)
        size = world.plan.batch if queue.name in (QueueName.HIGH, QueueName.NORMAL, QueueName.LOW) else 1
        for start in range(0, len(received), size):
            world.kernel.at(world.kernel.now, self._batch(queue.name, received[start : start + size]).go_on)

    def _batch(self, name: str, deliveries: Sequence[MemoryDelivery]) -> Batch:
        world, worker = self._world, self._world.draw.choice(self.workers)
        lasts_ms = LONG_WORKER_LASTS_MS if name == QueueName.LONG else WORKER_LASTS_MS
        return Batch(
            world=world,
            name=f"worker {worker.clock.skew_ms:+} {name}",
            handle={QueueName.LONG: worker.long, self._dead.name: worker.bury}.get(name, worker.short),
            deliveries=deliveries,
            stop_by_ms=worker.clock.now_ms() + lasts_ms,
            dies_at=world.dies_at(lasts_ms),
        )

    def _collect_dead(self, queue: MemoryQueue) -> None:
        for body in queue.dead:
            self._dead.send(body)
            self._poll_by(self._dead.name, self._world.kernel.now)
        queue.dead.clear()
