"""Which destinations were verified: by tenant and destination, the last time counts."""

from carillon.domain.destinations import Verification
from contract.backends import Stores
from contract.samples import NOW_MS

FIRST, SECOND = Verification(NOW_MS, NOW_MS + 5), Verification(NOW_MS + 9, NOW_MS + 12)


def test_what_is_recorded_is_read_by_its_tenant_alone(stores: Stores) -> None:
    """Nothing at first; then each with its times."""
    assert stores.verifications.of("acme") == {}
    stores.verifications.save("acme", "dst_1", FIRST)
    stores.verifications.save("acme", "dst_2", SECOND)
    assert stores.verifications.of("acme") == {"dst_1": FIRST, "dst_2": SECOND}
    assert stores.verifications.of("globex") == {}


def test_a_repeat_changes_nothing_and_a_later_one_counts(stores: Stores) -> None:
    """Whoever dies after it asks once more."""
    for verification in (FIRST, FIRST, SECOND):
        stores.verifications.save("acme", "dst_1", verification)
    assert stores.verifications.of("acme") == {"dst_1": SECOND}
