"""A count that is made anew by hand."""

from collections.abc import Callable

import pytest

from carillon.application.recount import Recount, TenantBusyError
from carillon.domain.tenancy import Tenant
from contract.counting import Counted
from contract.samples import NOW_MS, TENANT


class _AnyTenant:
    """A store in which every tenant is."""

    def get(self, tenant_id: str) -> Tenant:
        """The tenant."""
        return Tenant(tenant_id, NOW_MS)


def recount(counted: Counted, meanwhile: Callable[[], object] = lambda: None) -> Recount:
    """The counting anew, as the operator asks for it; something may happen while it waits for the stream."""
    stores = counted.stores
    return Recount(_AnyTenant(), stores.jobs, stores.counts, stores.limits, lambda: meanwhile() and None)  # type: ignore[arg-type]  # only `get` is asked


@pytest.mark.parametrize("limit", [None, 10], ids=["no limit", "a limit"])
@pytest.mark.parametrize("drift", [3, -1], ids=["too many", "too few"])
def test_a_count_that_has_drifted_is_made_anew(counted: Counted, world: str, drift: int, limit: int | None) -> None:
    """A trial only tells; then the count is that of the jobs, and under a limit there is room for the others alone."""
    if world == "memory":
        pytest.skip("memory keeps no count")
    counted.limit(jobs=limit)
    counted.creates(4)
    fullest = max(counted.stores.counts.slices(TENANT), key=lambda each: each.used)
    assert counted.stores.counts.correct(TENANT, fullest, fullest.used + drift)
    told = recount(counted)(TENANT, dry_run=True)
    assert (told.before, told.jobs, counted.used) == (4 + drift, 4, 4 + drift)
    recount(counted)(TENANT, dry_run=False)
    assert counted.used == 4
    if limit is not None:
        assert counted.creates(8).count("created") == limit - 4


def test_a_count_is_not_made_anew_while_it_changes(counted: Counted, world: str) -> None:
    """It would count what is only half there: the operator is told, and nothing is changed."""
    if world == "memory":
        pytest.skip("memory keeps no count")
    counted.creates(2)
    with pytest.raises(TenantBusyError):
        recount(counted, counted.create)(TENANT, dry_run=False)
    assert counted.used == 3
