"""Payloads at the limit: they stay where they are until a worker sends them."""

from carillon.domain.schedule import OneOff
from support.one_offs import DUE_MS
from support.world import World

BYTES = b'"' + b"x" * 200_000 + b'"'
MOST_MESSAGE_BYTES = 1_024


def test_b200_messages_carry_ids_alone() -> None:
    """B200: ten jobs of 200 KB, due together, are all sent in one batch of small messages, and called whole."""
    world = World()
    for _ in range(10):
        world.create(OneOff(DUE_MS), payload=BYTES)
    world.dispatch()
    world.clock.advance(DUE_MS - world.clock.now_ms())
    deliveries = world.receive()
    assert [len(delivery.body) < MOST_MESSAGE_BYTES for delivery in deliveries] == [True] * 10
    assert all(world.handle(delivery) for delivery in deliveries)
    assert [request.body for request, _ in world.caller.calls] == [BYTES] * 10
