"""An invocation of a worker, over a batch of messages, as the handler of SQS batches makes one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from carillon.adapters.memory.queues import MemoryDelivery

from .actors import Actor, guarded

if TYPE_CHECKING:
    from .world import World


@dataclass(slots=True)
class Delivery:
    """A receipt of a message, through the gate."""

    message_id: str
    body: str
    come_again_after: Callable[[int], None]


@dataclass(slots=True)
class Batch:
    """An invocation of a worker: its messages are handled side by side, and deleted together when all are done."""

    world: "World"
    name: str
    handle: Callable[[Any, int], bool]
    deliveries: Sequence[MemoryDelivery]
    stop_by_ms: int
    dies_at: int | None
    is_dead: bool = False
    _begun: int = 0
    _open: int = 0
    _done: list[MemoryDelivery] = field(default_factory=list)

    def go_on(self) -> None:
        """Handle what is not begun yet. Whenever one message's handling is suspended, the next one is taken up."""
        while self._begun < len(self.deliveries) and not self.is_dead:
            delivery = self.deliveries[self._begun]
            self._begun += 1
            self._open += 1
            self._handle(delivery)
            self._open -= 1
        if self._begun == len(self.deliveries) and not self._open and not self.is_dead:
            self._delete()

    def step_aside(self) -> None:
        """One message's handling is about to be suspended: the others do not wait for it."""
        if self._begun < len(self.deliveries) and not self.is_dead:
            self.world.kernel.at(self.world.kernel.now, self.go_on)

    def _delete(self) -> None:
        poller = Actor("poller")
        done, self._done = self._done, []
        for delivery in done:
            guarded(self.world, poller, self.world.gate.gated("delivery", "delete", delivery.delete))

    def _handle(self, delivery: MemoryDelivery) -> None:
        world = self.world
        actor = Actor(self.name, self.dies_at, batch=self)
        hide = world.gate.gated("delivery", "come_again_after", partial(world.conveyor.hide, delivery))
        gated = Delivery(delivery.message_id, delivery.body, hide)
        if world.trace:
            world.trace("message", self.name, delivery.body)
        if guarded(world, actor, partial(self.handle, gated, self.stop_by_ms)):
            self._done.append(delivery)
