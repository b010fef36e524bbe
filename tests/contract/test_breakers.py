"""The stored breakers: by tenant and target, each written on the condition of the one that was seen."""

from carillon.domain.breaker import Breaker, BreakerRules, first_opened
from contract.backends import Stores
from contract.samples import NOW_MS

RULES = BreakerRules()


def opened(tenant: str = "acme", target: str = "hooks.example.com:443") -> Breaker:
    """A breaker that has just opened."""
    return first_opened(tenant, target, NOW_MS, RULES)


def test_a_tenant_begins_without_any(stores: Stores) -> None:
    """No target has failed yet."""
    assert dict(stores.breakers.of("acme")) == {}


def test_what_is_stored_is_read_by_its_tenant_alone(stores: Stores) -> None:
    """Every member stays, and each target has its own."""
    first, second, foreign = opened(), opened(target="other.example.com:8443"), opened("globex")
    for breaker in (first, second, foreign):
        assert stores.breakers.save(breaker)
    moved = first.probed(NOW_MS + 10_000, 15_000, "p1")
    assert stores.breakers.save(moved)
    assert dict(stores.breakers.of("acme")) == {first.target: moved, second.target: second}
    assert dict(stores.breakers.of("globex")) == {foreign.target: foreign}
    closed = moved.closed(NOW_MS + 12_000)
    assert stores.breakers.save(closed)
    assert stores.breakers.of("acme")[first.target] == closed


def test_of_two_who_move_the_same_one_loses(stores: Stores) -> None:
    """So of many runs one is the probe, also of two in the same millisecond. A repeat after a lost answer succeeds."""
    seen = opened()
    assert stores.breakers.save(seen)
    ours, theirs = (seen.probed(NOW_MS + 10_000, 15_000, each) for each in ("p1", "p2"))
    assert stores.breakers.save(ours)
    assert not stores.breakers.save(theirs)
    assert stores.breakers.save(ours)
    assert not stores.breakers.save(seen.opened(NOW_MS, RULES))


def test_what_time_has_removed_is_no_obstacle(stores: Stores) -> None:
    """A breaker that was seen and is gone, because nothing happened for a day, can be moved on."""
    later = opened().closed(NOW_MS)
    assert stores.breakers.save(later)
    assert stores.breakers.of("acme")[later.target] == later
