"""The table and its due index: partitions, and how much of what is asked for they let through."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import md5
from math import ceil

from bench.scale import facts
from bench.scale.settings import Settings
from bench.scale.work import sizes

KEPT_RUN_BYTES = 750
"""A record of an ordinary run, at the most (`tests/contract/test_capacity.py`)."""


@dataclass(frozen=True)
class Stored:
    """What lies in the table: jobs, and records of runs that are kept."""

    jobs: int = 200_000_000
    runs: int = 186_000_000

    @property
    def table_bytes(self) -> int:
        """The table: two items a job, one a run."""
        of_job = sizes().job + sizes().spec + 2 * facts.INDEX_ENTRY_OVERHEAD_BYTES
        return self.jobs * of_job + self.runs * (KEPT_RUN_BYTES + facts.INDEX_ENTRY_OVERHEAD_BYTES)

    @property
    def index_bytes(self) -> int:
        """The due index: an entry a job."""
        return self.jobs * (sizes().entry + facts.INDEX_ENTRY_OVERHEAD_BYTES)


def partitions(stored_bytes: int, warm_writes: int) -> int:
    """Into how many partitions size and preparation have split a table or an index."""
    return max(ceil(stored_bytes / facts.PARTITION_BYTES), ceil(warm_writes / facts.PARTITION_WRITES_PER_SECOND))


def partition_of(shard: int, count: int) -> int:
    """The partition of a shard. DynamoDB's own hash is not public: this one stands for any that scatters well."""
    return int.from_bytes(md5(str(shard).encode(), usedforsecurity=False).digest()[:8], "big") * count >> 64


class Index:
    """The due index: each shard is a partition key, several of which may share a partition."""

    def __init__(self, settings: Settings, stored: Stored) -> None:
        self.partitions = partitions(stored.index_bytes, settings.index_warm)
        self._of_shard = [partition_of(shard, self.partitions) for shard in range(settings.shards)]
        self._quota = settings.table_quota
        self.busiest_per_second = 0.0

    def admitted(self, wanted: Iterable[Mapping[int, float]], step: float) -> list[tuple[float, str]]:
        """Which share of its wish each dispatcher gets in a step, and what held it.

        A dispatcher waits for all writes of a slice: the partition that is slowest decides for the slice.

        Args:
            wanted: for each dispatcher, write units by shard.
            step: seconds.
        """
        wanted = list(wanted)
        by_partition: defaultdict[int, float] = defaultdict(float)
        for units_by_shard in wanted:
            for shard, units in units_by_shard.items():
                by_partition[self._of_shard[shard]] += units
        most = facts.PARTITION_WRITES_PER_SECOND * step
        open_to = {partition: min(1.0, most / units) for partition, units in by_partition.items() if units}
        shares = [
            min((open_to[self._of_shard[shard]] for shard, units in each.items() if units), default=1.0)
            for each in wanted
        ]
        through = sum(share * sum(each.values()) for share, each in zip(shares, wanted, strict=True))
        of_quota = min(1.0, self._quota * step / through) if through else 1.0
        self._note(wanted, [share * of_quota for share in shares], step)
        if of_quota < 1:
            return [(share * of_quota, "quota of the index") for share in shares]
        return [(share, "partition of the index" if share < 1 else "") for share in shares]

    def _note(self, wanted: list[Mapping[int, float]], shares: list[float], step: float) -> None:
        used: defaultdict[int, float] = defaultdict(float)
        for share, each in zip(shares, wanted, strict=True):
            for shard, units in each.items():
                used[self._of_shard[shard]] += share * units
        self.busiest_per_second = max(self.busiest_per_second, max(used.values(), default=0.0) / step)


class Table:
    """The table itself: items are spread by the job's id, so all partitions are equally warm."""

    def __init__(self, settings: Settings, stored: Stored) -> None:
        self.partitions = partitions(stored.table_bytes, settings.table_warm)
        self._by_partitions = self.partitions * facts.PARTITION_WRITES_PER_SECOND
        self._quota = settings.table_quota
        self.most_per_second = 0.0

    @property
    def writes_per_second(self) -> int:
        """What it takes, write units."""
        return min(self._by_partitions, self._quota)

    def admitted(self, units: float, step: float) -> tuple[float, str]:
        """Which share of these write units it takes in a step, and what held it."""
        share = min(1.0, self.writes_per_second * step / units) if units else 1.0
        self.most_per_second = max(self.most_per_second, share * units / step)
        if share == 1:
            return 1.0, ""
        return share, "quota of the table" if self._quota < self._by_partitions else "partitions of the table"
