"""Groups have one owner at a time, with a rising epoch; the ledgers only rise."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from carillon.ports.dispatch import GroupLease
from contract.backends import Stores
from contract.samples import NOW_MS

LEASE_MS = 10_000


def test_a_free_group_is_taken_with_the_present_as_epoch(stores: Stores) -> None:
    """The first owner's epoch is the instant of the taking."""
    assert stores.leases.take(3, "a", NOW_MS, LEASE_MS) == GroupLease(3, "a", NOW_MS, NOW_MS + LEASE_MS)


def test_b121_a_held_group_is_not_taken(stores: Stores) -> None:
    """B121: another owner gets the group when the lease has run out, not a moment before; other groups are free."""
    stores.leases.take(0, "a", NOW_MS, LEASE_MS)
    assert stores.leases.take(0, "b", NOW_MS + LEASE_MS - 1, LEASE_MS) is None
    assert stores.leases.take(1, "b", NOW_MS, LEASE_MS) is not None
    taken = stores.leases.take(0, "b", NOW_MS + LEASE_MS, LEASE_MS)
    assert taken == GroupLease(0, "b", NOW_MS + LEASE_MS, NOW_MS + 2 * LEASE_MS)


def test_the_epoch_rises_also_against_a_clock_that_is_ahead(stores: Stores) -> None:
    """An owner whose clock is behind gets a higher epoch all the same."""
    ahead = stores.leases.take(0, "a", NOW_MS + 60_000, LEASE_MS)
    assert ahead is not None
    stores.leases.release(ahead)
    behind = stores.leases.take(0, "b", NOW_MS, LEASE_MS)
    assert behind == GroupLease(0, "b", ahead.epoch + 1, NOW_MS + LEASE_MS)


def test_an_owner_may_take_its_own_group_again(stores: Stores) -> None:
    """Taking what is ours gives a newer epoch."""
    first = stores.leases.take(0, "a", NOW_MS, LEASE_MS)
    second = stores.leases.take(0, "a", NOW_MS + 1, LEASE_MS)
    assert first is not None
    assert second is not None
    assert second.epoch > first.epoch
    assert stores.leases.renew(first, NOW_MS + 2, LEASE_MS) is None


def test_b097_a_lease_is_renewed_by_its_owner_only(stores: Stores) -> None:
    """B097: who has lost the group cannot renew; who has it can, again and again."""
    first = stores.leases.take(0, "a", NOW_MS, LEASE_MS)
    assert first is not None
    renewed = stores.leases.renew(first, NOW_MS + 5_000, LEASE_MS)
    assert renewed == GroupLease(0, "a", first.epoch, NOW_MS + 15_000)
    assert stores.leases.renew(first, NOW_MS + 5_000, LEASE_MS) == renewed, "a repeat has succeeded"
    assert stores.leases.take(0, "b", NOW_MS + LEASE_MS, LEASE_MS) is None
    second = stores.leases.take(0, "b", NOW_MS + 15_000, LEASE_MS)
    assert second is not None
    assert stores.leases.renew(renewed, NOW_MS + 15_001, LEASE_MS) is None
    stores.leases.release(renewed)
    assert stores.leases.take(0, "c", NOW_MS + 15_002, LEASE_MS) is None, "a late release frees nothing"


def test_a_released_group_is_free_at_once(stores: Stores) -> None:
    """After a release another owner gets the group, and the former one can do nothing with its lease."""
    first = stores.leases.take(0, "a", NOW_MS, LEASE_MS)
    assert first is not None
    stores.leases.release(first)
    stores.leases.release(first)
    assert stores.leases.renew(first, NOW_MS, LEASE_MS) is None
    assert stores.leases.take(0, "b", NOW_MS + 1, LEASE_MS) is not None


def test_of_many_racing_owners_one_gets_the_group(stores: Stores) -> None:
    """Owners that start together: one takes the group."""
    start = Barrier(6)

    def take(owner: int) -> GroupLease | None:
        start.wait(timeout=30)
        return stores.leases.take(0, f"owner {owner}", NOW_MS, LEASE_MS)

    with ThreadPoolExecutor(6) as pool:
        leases = [lease for lease in pool.map(take, range(6)) if lease]
    assert len(leases) == 1


def test_the_shard_count_only_rises(stores: Stores) -> None:
    """Lowering is without effect, and the answer is the count in force."""
    assert stores.shards.highest() == 0
    assert [stores.shards.raise_to(count) for count in (8, 64, 8, 64)] == [8, 64, 64, 64]
    assert stores.shards.highest() == 64


def test_the_covered_range_is_extended_by_one_at_a_time(stores: Stores) -> None:
    """While one is at it others wait; what it covered is where the next one begins."""
    assert stores.ticks.begin("a", NOW_MS, LEASE_MS) == 0
    assert stores.ticks.begin("a", NOW_MS, LEASE_MS) == 0, "a repeat has succeeded"
    assert stores.ticks.begin("b", NOW_MS + 1, LEASE_MS) is None
    assert not stores.ticks.extend("b", 500)
    assert stores.ticks.extend("a", 120)
    assert stores.ticks.extend("a", 120), "a repeat has succeeded"
    stores.ticks.end("b")
    assert stores.ticks.begin("b", NOW_MS + 2, LEASE_MS) is None
    stores.ticks.end("a")
    assert not stores.ticks.extend("a", 900), "who has ended is no longer the owner"
    assert stores.ticks.begin("b", NOW_MS + 2, LEASE_MS) == 120


def test_a_dead_extender_is_replaced(stores: Stores) -> None:
    """When the lease has run out another one goes on where the first one stopped; the first is refused."""
    stores.ticks.begin("a", NOW_MS, LEASE_MS)
    stores.ticks.extend("a", 60)
    assert stores.ticks.begin("b", NOW_MS + LEASE_MS, LEASE_MS) == 60
    assert not stores.ticks.extend("a", 120)
    assert stores.ticks.extend("b", 180)


def test_the_covered_range_never_shrinks(stores: Stores) -> None:
    """An owner that knows of less changes nothing."""
    stores.ticks.begin("a", NOW_MS, LEASE_MS)
    stores.ticks.extend("a", 100)
    assert stores.ticks.extend("a", 50)
    stores.ticks.end("a")
    assert stores.ticks.begin("b", NOW_MS, LEASE_MS) == 100
