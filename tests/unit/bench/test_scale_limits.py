"""Each limit of the scale model binds where it should, by as much as a closed formula says, and nothing gets lost."""

from dataclasses import replace

import pytest

from bench.scale import facts
from bench.scale.calls import Calls
from bench.scale.dispatchers import occurrences_per_second
from bench.scale.dynamodb import Index, Stored
from bench.scale.loads import OUTAGE_SECONDS
from bench.scale.settings import Settings, Sweep
from bench.scale.simulation import Load, Result, simulate

RUNS = 60_000
EVEN = Calls(mean_seconds=1.0, spread=1e-6, hanging=0.0)

OPEN = Settings(
    name="open",
    shards=64,
    groups=16,
    dispatcher_mb=facts.VCPU_MB,
    worker_ms=0.0,
    pollers=(200, 10_000),
    account_concurrency=100_000,
    table_quota=10**9,
    table_warm=10_000_000,
    index_warm=1_000_000,
)
"""Nothing is near its limit."""


def load(settings: Settings = OPEN, *, runs: int = RUNS, begins: float | None = None) -> Load:
    """So many runs of calls of one second, due in one second."""
    return Load(
        name="test",
        arrivals=((0.0, runs),),
        begins=-float(settings.look_ahead_seconds) if begins is None else begins,
        stored=Stored(jobs=1_000_000, runs=0),
        calls=EVEN,
        step=0.2,
    )


def at_once(settings: Settings, *, runs: int = RUNS) -> Result:
    """What comes of a load that is due when it is found: dispatch has no time ahead."""
    settings = replace(settings, look_ahead_seconds=0)
    return simulate(settings, load(settings, runs=runs))


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_a_shard_takes_five_hundred_advances_a_second(shards: int) -> None:
    """An advance is two writes in the index, and a shard is one key of a thousand writes a second."""
    result = at_once(replace(OPEN, shards=shards, groups=shards), runs=20_000)
    assert result.all_sent_at == pytest.approx(20_000 / (500 * shards), rel=0.15)
    assert result.dispatch_held_by() == "partition of the index"
    assert result.busiest_partition == pytest.approx(facts.PARTITION_WRITES_PER_SECOND)


def test_one_shard_after_another_takes_as_long_as_one() -> None:
    """A group that works its shards off one by one has one key's writes, however many shards it has."""
    one_by_one = at_once(replace(OPEN, groups=1, sweep=Sweep.ONE_BY_ONE))
    together = at_once(replace(OPEN, groups=1))
    assert one_by_one.all_sent_at == pytest.approx(RUNS / 500, rel=0.1)
    assert together.all_sent_at < one_by_one.all_sent_at / 3


def test_fewer_partitions_take_longer() -> None:
    """Shards that share partitions share their writes, and the fullest partition is the last."""
    sixteen, eight, four = (at_once(replace(OPEN, index_warm=count * 1_000)) for count in (16, 8, 4))
    assert sixteen.all_sent_at < eight.all_sent_at < four.all_sent_at
    assert four.all_sent_at >= RUNS * 2 / 4_000
    assert four.dispatch_held_by() == "partition of the index"


@pytest.mark.parametrize(
    ("settings", "held_by"),
    [
        (replace(OPEN, table_quota=6_000), "quota of the table"),
        (replace(OPEN, table_warm=6_000), "partitions of the table"),
    ],
    ids=["quota", "partitions"],
)
def test_the_table_takes_what_its_limit_says(settings: Settings, held_by: str) -> None:
    """Two writes of dispatch, two of the worker: so many runs end as a quarter of the units allows."""
    result = at_once(settings)
    assert result.most_table_writes == pytest.approx(6_000)
    assert result.all_started_at == pytest.approx(RUNS * 4 / 6_000, rel=0.1)
    assert held_by in (result.dispatch_held_by(), result.workers_held_by().partition(",")[0])


def test_the_quota_of_the_index_binds_by_itself() -> None:
    """An index has the quota of a table, apart from the table's."""
    index = Index(replace(OPEN, table_quota=1_200), Stored(jobs=0, runs=0))
    wished = [dict.fromkeys(range(group, 64, 4), 10.0) for group in range(4)]
    assert index.admitted(wished, 0.1) == [(pytest.approx(120 / 640), "quota of the index")] * 4


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_dispatchers_take_their_time(groups: int) -> None:
    """Where nothing else binds, dispatch takes the runs divided by what the dispatchers get through."""
    settings = replace(OPEN, groups=groups)
    result = at_once(settings)
    assert result.dispatch_held_by() == "dispatchers"
    assert result.all_sent_at == pytest.approx(RUNS / (groups * occurrences_per_second(settings)), rel=0.15)


def test_the_look_ahead_hides_the_dispatch() -> None:
    """What is claimed before its time is in the queue when it is due."""
    result = simulate(OPEN, load())
    assert result.all_sent_at < 0


def test_standard_mode_ramps_as_documented() -> None:
    """Five batches at once and five more each second: 1,000 batches of a second are begun within 19 seconds."""
    result = simulate(replace(OPEN, pollers=None), load(runs=10_000))
    assert result.workers_held_by() == "pollers"
    assert result.lateness.quantile(1.0) == pytest.approx(19, abs=1.5)


def test_provisioned_pollers_are_there_at_once() -> None:
    """Two pollers have twenty batches, and get 16.7 more each second: 1,000 batches take 10 seconds."""
    result = simulate(replace(OPEN, pollers=(2, 1_000)), load(runs=10_000))
    assert result.lateness.quantile(1.0) == pytest.approx(10, abs=1.5)


def test_a_cap_of_the_mapping_holds() -> None:
    """No more batches at once than the mapping is allowed."""
    result = simulate(replace(OPEN, pollers=None, most_batches=50), load(runs=10_000))
    assert result.most_batches == pytest.approx(50)


def test_the_account_holds_what_pollers_would_do() -> None:
    """The account's concurrency, less what others use, is all there is: a batch of a second each."""
    result = simulate(replace(OPEN, account_concurrency=300, other_concurrency=100), load())
    assert result.workers_held_by() == "concurrency of the account"
    assert result.most_batches == pytest.approx(200)
    assert result.all_started_at == pytest.approx(RUNS / 10 / 200, rel=0.1)


def test_new_environments_come_by_the_thousand() -> None:
    """A thousand at once and a hundred each second, whatever pollers and account allow."""
    result = simulate(replace(OPEN, pollers=(200, 10_000)), load(runs=100_000))
    assert result.workers_held_by() == "new environments"
    assert result.most_batches < facts.ENVIRONMENTS_AT_ONCE + facts.ENVIRONMENTS_PER_SECOND * (
        result.all_started_at + 1
    )


def test_messages_in_flight_are_limited() -> None:
    """A queue hands out 120,000 messages, then none until some are done."""
    settings = replace(OPEN, batch=500)
    result = simulate(settings, load(runs=400_000))
    assert result.workers_held_by() == "messages in flight"
    assert result.most_batches * settings.batch == pytest.approx(facts.MESSAGES_IN_FLIGHT)


CASES = {
    "open": OPEN,
    "one shard": replace(OPEN, shards=1, groups=1),
    "slow workers": replace(OPEN, pollers=None, most_batches=100),
    "slow table": replace(OPEN, table_quota=5_000),
    "one by one": replace(OPEN, groups=3, sweep=Sweep.ONE_BY_ONE),
    "late and paced": replace(OPEN, catch_up_rate=100),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_gets_lost(name: str) -> None:
    """What was due is sent, started and ended once, and its writes are what single runs need."""
    settings = CASES[name]
    result = simulate(settings, load(settings, runs=20_000, begins=OUTAGE_SECONDS if "late" in name else None))
    assert [result.sent, result.started, result.ended] == pytest.approx([20_000] * 3, abs=1)
    assert sum(count for _, count in result.lateness.starts) == pytest.approx(20_000, abs=1)
    assert result.table_writes == pytest.approx(20_000 * 4 + result.deferred, rel=0.001)
    assert result.index_writes == pytest.approx((20_000 + result.deferred) * 2, rel=0.001)


TIGHT = Settings(
    name="tight",
    shards=4,
    groups=2,
    look_ahead_seconds=10,
    most_batches=300,
    account_concurrency=250,
    table_quota=20_000,
    table_warm=20_000,
    index_warm=3_000,
)
"""All limits are near but the table's: dispatchers and workers share it, so that help for one may delay the other."""


@pytest.mark.parametrize(
    "changes",
    [
        {"shards": 16},
        {"groups": 4},
        {"look_ahead_seconds": 60},
        {"dispatcher_mb": facts.VCPU_MB},
        {"pollers": (30, 1_000)},
        {"account_concurrency": 2_000},
        {"table_quota": 60_000, "table_warm": 60_000},
        {"index_warm": 64_000},
        {"worker_ms": 1.0},
    ],
    ids=", ".join,
)
def test_more_is_never_later(changes: dict[str, object]) -> None:
    """More of anything makes no run later."""
    better = replace(TIGHT, **changes)  # type: ignore[arg-type]  # names of its fields
    before, after = (simulate(each, load(each, runs=20_000)) for each in (TIGHT, better))
    for share in (0.5, 0.9, 0.99, 1.0):
        assert after.lateness.quantile(share) <= before.lateness.quantile(share) + 2 * before.load.step


def test_more_runs_are_never_earlier() -> None:
    """More to do takes longer."""
    last = [simulate(TIGHT, load(TIGHT, runs=runs)).all_started_at for runs in (5_000, 10_000, 20_000)]
    assert last == sorted(last)


def test_overdue_runs_start_at_their_pace() -> None:
    """With slots, what is overdue starts at the catch-up rate of its tenants, and costs a move in the index."""
    settings = replace(OPEN, catch_up_rate=10)
    result = simulate(settings, load(settings, runs=20_000, begins=OUTAGE_SECONDS))
    lasted = result.starts.quantile(1.0) - OUTAGE_SECONDS
    assert lasted == pytest.approx(20_000 / 100, rel=0.1)
    assert result.deferred == pytest.approx(20_000 - 100 * settings.look_ahead_seconds, rel=0.1)
    assert result.starts.most_per_second < 300
