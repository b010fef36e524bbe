"""The parts of the scale model by themselves, against formulas and against the code that they stand for."""

from collections import Counter
from statistics import mean

import pytest

from bench.scale import bill, facts, work
from bench.scale.calls import Calls, batch_seconds
from bench.scale.dispatchers import Backlog, throughput
from bench.scale.dynamodb import Stored, partition_of, partitions
from bench.scale.pacing import Slots
from bench.scale.settings import DEFAULT, SPIKE, Settings, of_stage
from bench.scale.simulation import Distribution
from carillon.domain.identity import is_job_id, shard_of
from infra.stages import SMALL
from tests.unit.docs.pages import page
from tests.unit.docs.test_costs import column


@pytest.mark.parametrize("elsewhere", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("customers", [1, 2, 8, 50])
def test_throughput_stays_within_its_bounds(customers: int, elsewhere: float) -> None:
    """No more than one server gives, and than customers who never wait would ask for."""
    rate = throughput(customers, 0.1, elsewhere)
    assert rate <= min(1 / 0.1, customers / (0.1 + elsewhere)) + 1e-9
    assert rate >= customers / (customers * 0.1 + elsewhere) - 1e-9


def test_throughput_of_one_customer() -> None:
    """Whoever is alone never waits."""
    assert throughput(1, 0.2, 0.3) == pytest.approx(2.0)


def test_throughput_of_many_is_the_servers() -> None:
    """With enough customers the server never idles."""
    assert throughput(500, 0.1, 3.0) == pytest.approx(10.0)


def test_calls_have_their_mean() -> None:
    """The points of a single call average to the mean that was asked for, but for the last tail."""
    assert mean(Calls(hanging=0.0).slowest_of(1)) == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize("number", [2, 10, 40])
def test_the_slowest_of_several(number: int) -> None:
    """So many independent calls all stay below a duration with the power of the probability that one does."""
    calls = Calls()
    points = calls.slowest_of(number)
    assert list(points) == sorted(points)
    assert points[9] < calls.quantile(0.5 ** (1 / number)) < points[10]


def test_hanging_calls_last_until_their_time_out() -> None:
    """One in ten that hangs is nearly always among ten."""
    assert Calls(hanging=0.5).slowest_of(10)[1:] == (15.0,) * 19


def test_a_batch_takes_longer_than_its_calls() -> None:
    """Reads, writes and the processor come on top: a second or so for ten calls of 0.3 s, as the bill reckons."""
    assert mean(batch_seconds(Calls(), DEFAULT)) == pytest.approx(0.9, abs=0.15)


def test_quantiles_of_a_distribution() -> None:
    """The place that a share does not exceed, weighed by how many are at each."""
    found = Distribution([(3.0, 1.0), (1.0, 98.0), (2.0, 1.0)])
    assert [found.quantile(share) for share in (0.5, 0.98, 0.985, 1.0)] == [1.0, 1.0, 2.0, 3.0]
    assert found.most_per_second == 98.0


def test_ids_are_those_of_jobs_and_hash_as_such() -> None:
    """Shards are those of real ids; all shares together are all jobs."""
    ids = [work.job_id(number) for number in range(2_000)]
    assert all(map(is_job_id, ids))
    assert len(set(ids)) == 2_000
    counted = Counter(shard_of(each, 64) for each in ids)
    assert work.shares(64, 2_000) == tuple(counted[shard] / 2_000 for shard in range(64))
    assert sum(work.shares(48, 2_000)) == pytest.approx(1)


def test_the_decision_says_what_a_dispatch_costs() -> None:
    """A recurring job moves in the index, a one-off leaves it; each is sent once, on time and after an outage."""
    for decided_at in (work.DUE_MS - 60_000, work.DUE_MS + 7_200_000):
        assert work.cost_of(work.DAILY, decided_at, 60_000) == work.Cost(1, 2, 2)
        assert work.cost_of(work.ONCE, decided_at, 60_000) == work.Cost(1, 2, 1)


def test_sizes_are_small() -> None:
    """A job stays below a kilobyte, an entry is one write, a message fits ten times into one billed request."""
    sizes = work.sizes()
    assert sizes.job < 1024
    assert sizes.entry < 1024
    assert work.queue_chunks() == 1


@pytest.mark.parametrize(
    ("stored_bytes", "warm", "count"),
    [(0, 4_000, 4), (facts.PARTITION_BYTES * 7, 4_000, 7), (facts.PARTITION_BYTES * 7 + 1, 9_001, 10)],
)
def test_partitions_come_of_size_or_of_preparation(stored_bytes: int, warm: int, count: int) -> None:
    """Whichever asks for more."""
    assert partitions(stored_bytes, warm) == count


def test_shards_are_scattered_over_partitions() -> None:
    """Every shard has a partition; some share one, as hashes do."""
    places = Counter(partition_of(shard, 64) for shard in range(64))
    assert set(places) <= set(range(64))
    assert 2 <= max(places.values()) <= 6


def test_what_is_stored_takes_room() -> None:
    """200 million jobs are hundreds of gigabytes, and a tenth of them an index."""
    stored = Stored()
    assert 300e9 < stored.table_bytes < 600e9
    assert 50e9 < stored.index_bytes < 100e9


def test_a_backlog_gives_the_oldest_first() -> None:
    """Entries leave in the order of their times, and none twice."""
    backlog = Backlog()
    backlog.add(1.0, 5.0)
    backlog.add(2.0, 5.0)
    assert backlog.take(7.0) == [(1.0, 5.0), (2.0, 2.0)]
    assert backlog.take(9.0) == [(2.0, 3.0)]
    assert (backlog.count, backlog.take(1.0)) == (0.0, [])


def test_slots_follow_each_other() -> None:
    """Ten tenants of five a second have fifty slots a second, none before the present."""
    slots = Slots(Settings(name="paced", shards=1, groups=1, catch_up_rate=5), tenants=10)
    assert slots.give(100, 7.0) == [(7.0, 50.0), (8.0, 50.0)]
    assert slots.give(25, 7.0) == [(9.0, 25.0)]
    assert slots.give(1, 20.0) == [(20.0, 1)]
    assert slots.is_asked(-61.0, 0.0)
    assert not slots.is_asked(-59.0, 0.0)


@pytest.mark.parametrize(("settings", "table"), [(DEFAULT, 0), (of_stage(SMALL), 1)], ids=["prod", "small"])
def test_the_idle_bill_is_that_of_the_page_of_costs(settings: Settings, table: int) -> None:
    """The model's arithmetic is that of docs/costs.md, but for the rounding of its durations."""
    told = column(page("docs/costs.md").tables("Idle")[table], 2)[1]
    assert sum(bill.idle_month(settings).values()) == pytest.approx(float(told), abs=0.15)


def test_the_price_of_runs_is_that_of_the_page_of_costs() -> None:
    """A million runs cost what docs/costs.md says, but for the longer batches that the model reckons with."""
    told = column(page("docs/costs.md").tables("A million runs of recurring jobs, under load")[0], 2)[1]
    cost = work.cost_of(work.DAILY, work.DUE_MS - 60_000, 60_000)
    assert sum(bill.million_runs(DEFAULT, Calls(), cost).values()) == pytest.approx(float(told), rel=0.03)


def test_the_settings_of_the_spike_are_ones_that_lambda_takes() -> None:
    """As many pollers as may be asked for."""
    assert SPIKE.pollers is not None
    assert SPIKE.pollers[0] <= facts.MOST_MINIMUM_POLLERS
    assert SPIKE.pollers[1] <= facts.MOST_POLLERS
