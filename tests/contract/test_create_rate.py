"""The rate of creating, which is counted with the jobs."""

from dataclasses import replace
from decimal import Decimal

import pytest

from carillon.domain import editing
from carillon.domain.counting import SLICES
from carillon.domain.due import DueJob
from carillon.domain.job import JobState
from carillon.domain.limits import CreateLimit, Limits
from carillon.ports.errors import TooFastError
from carillon.ports.jobs import Claim, Confirmation
from contract.counting import TWO_HOURLY, Counted, outcome_of
from contract.samples import NOW_MS, TENANT


def test_as_many_are_created_in_a_stretch_of_time_as_may(counted: Counted) -> None:
    """Then none until the next begins; what is refused says how long that takes, and uses nothing."""
    counted.limit(create=CreateLimit.per_second(Decimal("0.5"), 3))
    begin = NOW_MS - NOW_MS % 6_000
    assert [outcome_of(lambda: counted.create(created_at=begin + 1_000)) for _ in range(5)] == [
        *["created"] * 3,
        *["create_rate"] * 2,
    ]
    with pytest.raises(TooFastError) as refused:
        counted.create(created_at=begin + 1_500)
    assert refused.value.wait_ms == 4_500
    assert [outcome_of(lambda: counted.create(created_at=begin + 6_000)) for _ in range(4)][2:] == [
        "created",
        "create_rate",
    ]
    assert counted.used == 6


def test_a_fast_rate_is_used_up_in_all_slices(counted: Counted) -> None:
    """Also by processes that know nothing of each other's turns."""
    counted.limit(create=CreateLimit.per_second(Decimal(40), 40))
    outcomes = []
    for _ in range(45):
        outcomes.append(outcome_of(counted.create))
        if counted.stores.database is not None:  # another process
            counted.stores.jobs.__init__(counted.stores.database)  # type: ignore[misc]
    assert (outcomes.count("created"), outcomes.count("create_rate")) == (40, 5)


def test_both_limits_hold_at_once(counted: Counted) -> None:
    """The one that is reached first is named."""
    counted.limit(jobs=2, create=CreateLimit.per_second(Decimal(1), 3))
    assert counted.creates(3) == ["created", "created", "jobs"]
    counted.limit(jobs=9, create=CreateLimit.per_second(Decimal(1), 3))
    assert counted.creates(2) == ["created", "create_rate"]


def test_no_item_is_hot(counted: Counted) -> None:
    """Without a limit, jobs are counted all over the slices; a small limit is not scattered."""
    if counted.stores.database is None:
        pytest.skip("memory keeps no count")
    counted.creates(100)
    assert sum(each.used > 0 for each in counted.stores.counts.slices(TENANT)) == SLICES
    for tenant, most, slices in (("small", 50, 1), ("large", 400, 4)):
        counted.stores.limits.set(tenant, Limits(jobs=most))
        shares = [each.share for each in counted.stores.counts.slices(tenant)]
        assert (sum(share or 0 for share in shares), sum(bool(share) for share in shares)) == (most, slices)


def test_a_segment_does_not_count(counted: Counted) -> None:
    """What a new schedule leaves of the old one frees nothing when it is drained."""
    job = counted.create()
    counted.edit(
        job,
        lambda seen, at: editing.change(seen, replace(seen, job=replace(seen.job, schedule=TWO_HOURLY)), at),
        NOW_MS + 120_000,
    )
    left = [entry for entry in counted.stores.due_entries() if isinstance(entry, DueJob) and entry.segment is not None]
    claim = Claim(left[0], 1, "claim", NOW_MS + 150_000, NOW_MS + 120_000)
    counted.stores.jobs.claim_many([claim])
    assert counted.stores.jobs.confirm_many([Confirmation(claim, None, 1, JobState.SCHEDULED, None)]) == [True]
    assert counted.used == counted.stored == 1
