"""A remembered shard count is asked for again in time, also when the clock is set back."""

import pytest

from carillon.adapters.memory.world import MemoryWorld
from carillon.adapters.remembering import RememberingDestinations, RememberingShardLedger
from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind


@pytest.mark.parametrize(("later_ms", "seen"), [(0, 8), (9_999, 8), (10_000, 16), (-1, 16)])
def test_a_count_is_remembered_for_ten_seconds(later_ms: int, seen: int) -> None:
    """A raise by another is seen after ten seconds at the latest, and at once when the clock has gone back."""
    world = MemoryWorld()
    ledger = RememberingShardLedger(world.shards, world.clock)
    world.shards.raise_to(8)
    assert ledger.highest() == 8
    world.shards.raise_to(16)
    world.clock.advance(later_ms)
    assert ledger.highest() == seen


def test_an_own_raise_is_seen_at_once() -> None:
    """Who raises the count knows it."""
    world = MemoryWorld()
    ledger = RememberingShardLedger(world.shards, world.clock)
    assert ledger.highest() == 0
    assert (ledger.raise_to(4), ledger.highest(), world.shards.highest()) == (4, 4, 4)


def test_destinations_are_asked_for_once_a_minute_and_tenant() -> None:
    """A worker sees a change within a minute, at once if it made it itself; damage is never remembered as none."""
    world = MemoryWorld()
    clock, store = world.clock, world.destinations
    remembering = RememberingDestinations(store, clock)
    first = ANYWHERE.having(Destination(DestinationKind.HOST, "hooks.acme.com", 1))
    assert remembering.of("acme") == ANYWHERE
    store.save("acme", first)
    assert (remembering.of("acme"), remembering.of("globex")) == (ANYWHERE, ANYWHERE)
    clock.advance(60_000)
    assert remembering.of("acme") == first
    assert remembering.save("acme", first.lacking(first.entries[0].id))
    assert remembering.of("acme").entries == ()
