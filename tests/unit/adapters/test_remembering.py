"""A remembered shard count is asked for again in time, also when the clock is set back."""

import pytest

from carillon.adapters.memory.world import MemoryWorld
from carillon.adapters.remembering import RememberingShardLedger


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
