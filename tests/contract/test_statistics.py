"""Counts of runs by the hour: each end counts once, whatever the stream tells twice, and in whatever portions."""

from collections.abc import Sequence
from itertools import count

import pytest

from carillon.adapters.dynamodb import statistics as adapter
from carillon.domain.instants import HOUR_MS
from carillon.domain.run import RunState
from carillon.domain.statistics import Ending, Tally, Told, Window, hour_of, tally
from carillon.ports.statistics import StatisticsStore
from contract.backends import Stores
from contract.samples import NOW_MS

THIS_HOUR = hour_of(NOW_MS)
DAY = Window(THIS_HOUR - 23 * HOUR_MS, THIS_HOUR + HOUR_MS)
NO_REASON = None
_events = count(1)


def told(many: int = 1, **fields: object) -> list[Told]:
    """So many endings, each told of by an event of its own."""
    ending = {"tenant": "acme", "state": RunState.SUCCEEDED, "reason": NO_REASON, "ended_at": NOW_MS, **fields}
    return [Told(f"event-{next(_events):06}", Ending(**ending)) for _ in range(many)]  # type: ignore[arg-type]


def counted(store: StatisticsStore, tenant: str = "acme") -> int:
    """How many runs of a tenant are counted."""
    return sum(hour.total for hour in store.between(tenant, DAY).values())


def test_nothing_is_counted_at_first(stores: Stores) -> None:
    """There are no hours; and nothing told is nothing counted."""
    stores.statistics.count([])
    assert stores.statistics.between("acme", DAY) == {}


def test_all_of_an_ending_is_counted(stores: Stores) -> None:
    """State, reason, attempts, lateness and how many occurrences share the record; over several portions."""
    portions = [
        told(3, attempts=1, lateness_ms=40),
        told(1, attempts=5, lateness_ms=2_000, state=RunState.DEAD_LETTERED, reason="attempts_exhausted"),
        told(1, runs=40, state=RunState.SKIPPED, reason="misfire"),
        told(2, attempts=2, lateness_ms=45),
        told(1, state=RunState.CANCELLED, reason="job_cancelled"),
    ]
    for portion in portions:
        stores.statistics.count(portion)
    whole = tally(one.ending for portion in portions for one in portion)
    assert stores.statistics.between("acme", DAY) == {THIS_HOUR: whole}


def test_hours_and_tenants_are_apart(stores: Stores) -> None:
    """A portion may be of several; each is read by itself, and only those within the window."""
    ends = [NOW_MS - hours * HOUR_MS for hours in (0, 1, 1, 23, 24)]
    stores.statistics.count([one for end in ends for one in told(ended_at=end)] + told(2, tenant="globex"))
    found = stores.statistics.between("acme", DAY)
    assert {hour: each.total for hour, each in found.items()} == {
        THIS_HOUR: 1,
        THIS_HOUR - HOUR_MS: 2,
        THIS_HOUR - 23 * HOUR_MS: 1,
    }
    assert counted(stores.statistics, "globex") == 2
    assert stores.statistics.between("acm", DAY) == {}


@pytest.mark.parametrize(
    "portions",
    [
        pytest.param([(0, 10), (0, 10)], id="again"),
        pytest.param([(0, 10), (0, 25), (25, 30)], id="again-and-longer"),
        pytest.param([(0, 10), (0, 5), (5, 25)], id="again-and-shorter"),
        pytest.param([(0, 10), (0, 5), (5, 8), (8, 25)], id="again-in-parts"),
        pytest.param([(0, 10), (0, 5), (0, 5), (5, 25)], id="a-part-twice"),
        pytest.param([(0, 10), (0, 25), (0, 25)], id="longer-twice"),
        pytest.param([(0, 10), (0, 25), (0, 15), (15, 30)], id="longer-then-shorter"),
        pytest.param([(0, 10), (0, 4), (4, 6), (6, 25), (6, 25)], id="parts-then-longer-twice"),
    ],
)
def test_what_is_told_again_is_not_counted_again(stores: Stores, portions: Sequence[tuple[int, int]]) -> None:
    """When an answer was lost the stream tells all of it again, from where that portion began, in other portions."""
    stream = told(30)
    for start, end in portions:
        stores.statistics.count(stream[start:end])
    assert counted(stores.statistics) == max(end for _, end in portions)


def test_a_portion_that_is_more_than_a_transaction(stores: Stores) -> None:
    """Many tenants in one portion: all are counted, once, though told twice."""
    many = adapter.MOST_HOURS_AT_ONCE + 10
    stream = [one for number in range(many) for one in told(tenant=f"tenant-{number}")]
    for _ in range(2):
        stores.statistics.count(stream)
    assert [counted(stores.statistics, f"tenant-{number}") for number in range(many)] == [1] * many


def test_full_batches_add_up(stores: Stores) -> None:
    """Large portions of one hour may be kept apart, and are read as one."""
    for _ in range(4):
        stores.statistics.count(told(adapter.SPREAD_FROM, lateness_ms=10))
    assert stores.statistics.between("acme", DAY) == {
        THIS_HOUR: Tally({(RunState.SUCCEEDED, None): 4 * adapter.SPREAD_FROM}, 0, {10: 4 * adapter.SPREAD_FROM})
    }


def test_what_is_kept_goes_by_itself(stores: Stores) -> None:
    """Counts after eight days, and what remembers events after the stream has forgotten them."""
    stores.statistics.count(told())
    if stores.database is None:
        assert stores.state is not None, "memory keeps all"
        return
    items = stores.database.client.scan(TableName=stores.database.control)["Items"]
    ends = {item["pk"]["S"].partition("#")[0]: int(item["expires_at"]["N"]) * 1000 for item in items}
    assert ends["STATISTICS"] == THIS_HOUR + 8 * 24 * HOUR_MS
    assert ends["TOLD"] > NOW_MS + 24 * HOUR_MS
