"""A stage under a load, step by step: what is due is claimed, sent, waits in its queue, and is started.

Amounts are real numbers: a fluid, not single runs. What a step cannot do, the next one finds. Times are seconds from an
origin that the load chooses; the sizes of groups, partitions and ramps are those of the other modules.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.scale import facts
from bench.scale.calls import Calls, start_seconds
from bench.scale.dispatchers import NOTHING, Dispatcher
from bench.scale.dynamodb import Index, Stored, Table
from bench.scale.pacing import Slots
from bench.scale.settings import Settings
from bench.scale.work import DAILY, DUE_MS, Cost, cost_of, shares
from bench.scale.workers import Workers
from carillon.adapters.sqs.routing import delay_seconds
from carillon.application.dispatch_group import MOST_PRESENT, PORTION_ENTRIES, PRESENT_EVERY_MS
from carillon.domain.instants import SECOND_MS
from carillon.domain.job import Priority

RUN_WRITES = 2
"""Start and finish, a write unit each."""

DEFERRAL_WRITES = 1.0
"""Write units in the table of an overdue entry that is moved to its slot, beside the move in the index."""

DEFERRAL_SHARE = 0.5
"""Of a dispatcher's work for an occurrence, what moving it to its slot takes. Assumed: one write instead of two."""

HALF_A_RUN = 0.5
UNCOUNTED = 1e-6
"""Of runs: what rounding may leave over of a sum."""

GIVE_UP_SECONDS = 8 * 3600


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is due.

    Attributes:
        arrivals: (when due, how many), oldest first; seconds.
        begins: when the stage begins to work: at the first look-ahead, or when an outage ends.
        schedule: the stored schedule of all jobs.
        stored: what lies in the table.
        calls: how long targets take.
        step: seconds of a step.
        tenants: to how many tenants the jobs belong; each has slots of its own.
        warmed_up: whether a load like this has been there for long.
        counted_from: runs due earlier do not count for the lateness.
    """

    name: str
    arrivals: Sequence[tuple[float, float]]
    begins: float
    schedule: str = DAILY
    stored: Stored = field(default_factory=Stored)
    calls: Calls = field(default_factory=Calls)
    step: float = 0.1
    tenants: int = 10
    warmed_up: bool = False
    counted_from: float = float("-inf")

    @property
    def count(self) -> float:
        """All that is due."""
        return sum(count for _, count in self.arrivals)


@dataclass
class Distribution:
    """Of runs, over seconds: when, or how late they start."""

    starts: list[tuple[float, float]] = field(default_factory=list)

    @property
    def most_per_second(self) -> float:
        """The most of them within one second of the clock."""
        by_second: defaultdict[int, float] = defaultdict(float)
        for seconds, count in self.starts:
            by_second[int(seconds)] += count
        return max(by_second.values())

    def note(self, seconds: float, count: float) -> None:
        """So many runs are at this place."""
        self.starts.append((seconds, count))

    def quantile(self, share: float) -> float:
        """The place that this share of the runs does not exceed, seconds."""
        ordered = sorted(self.starts)
        left = share * sum(count for _, count in ordered)
        for seconds, count in ordered:
            left -= count
            if left <= UNCOUNTED:
                return seconds
        return ordered[-1][0]


@dataclass
class Result:
    """What a stage made of a load. Times in seconds from the load's origin."""

    settings: Settings
    load: Load
    cost: Cost
    lateness: Distribution = field(default_factory=Distribution)
    starts: Distribution = field(default_factory=Distribution)
    sent: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    deferred: float = 0.0
    found_through_at: float = 0.0
    all_sent_at: float = 0.0
    all_started_at: float = 0.0
    dispatch_seconds: float = 0.0
    table_writes: float = 0.0
    index_writes: float = 0.0
    busiest_partition: float = 0.0
    most_table_writes: float = 0.0
    most_batches: float = 0.0
    worker_seconds: float = 0.0
    index_partitions: int = 0
    table_partitions: int = 0
    held: Counter[str] = field(default_factory=Counter)

    @property
    def neighbours_wait(self) -> float:
        """How long a job that is created meanwhile, to run at once, may wait until it is sent, seconds.

        A long sweep looks at what is due at the present once a second, but only behind a portion; and it may have to
        work through as much as it looks up in each shard.
        """
        entries = PORTION_ENTRIES + MOST_PRESENT * self.settings.shards / self.settings.groups
        of_a_group = self.load.count / self.settings.groups / (self.found_through_at - self.load.begins)
        return PRESENT_EVERY_MS / SECOND_MS + entries / of_a_group

    def dispatch_held_by(self) -> str:
        """What held the dispatchers most of their time; `dispatchers` if nothing but themselves."""
        return self._most({"dispatchers", "partition of the index", "quota of the index", *_TABLE})

    def workers_held_by(self) -> str:
        """What held the workers most of the time in which messages waited."""
        return self._most({"pollers", "concurrency of the account", "new environments", "messages in flight", *_STARTS})

    def _most(self, names: Iterable[str]) -> str:
        return max(sorted(names), key=lambda name: self.held[name])


_TABLE = ("quota of the table", "partitions of the table")
_STARTS = tuple(f"{name}, at the start" for name in _TABLE)


class Simulation:
    """One stage, one load."""

    def __init__(self, settings: Settings, load: Load) -> None:
        look_ahead_ms = settings.look_ahead_seconds * 1000
        overdue_ms = round(max(0.0, load.begins - load.arrivals[0][0]) * 1000)
        decided_at = DUE_MS + overdue_ms if overdue_ms else DUE_MS - look_ahead_ms
        self.result = Result(settings, load, cost_of(load.schedule, decided_at, look_ahead_ms))
        self._load, self._step = load, load.step
        self._look_ahead = settings.look_ahead_seconds
        self._index, self._table = Index(settings, load.stored), Table(settings, load.stored)
        self._dispatchers = [Dispatcher(settings, group) for group in range(settings.groups)]
        self._workers = Workers(settings, load.calls, load.step, warmed_up=load.warmed_up)
        self._batch = settings.batch
        self._start_seconds = start_seconds(settings)
        self._shares = shares(settings.shards)
        self._slots = Slots(settings, load.tenants)
        self._to_come = deque(load.arrivals)
        self._delayed: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        self._visible: list[list[float]] = []
        self._oldest = 0
        self._hidden = 0.0
        self._number = 0

    def run(self) -> Result:
        """Work until all is done.

        Raises:
            RuntimeError: it would take more than eight hours.
        """
        while self._is_unfinished():
            self._pass_step()
            if self._number * self._step > GIVE_UP_SECONDS:
                raise RuntimeError(f"{self._load.name} is not done after {GIVE_UP_SECONDS} s")
        result = self.result
        result.busiest_partition = self._index.busiest_per_second
        result.most_table_writes = self._table.most_per_second
        result.most_batches = self._workers.most_busy
        result.worker_seconds = self._workers.busy_seconds
        result.index_partitions, result.table_partitions = self._index.partitions, self._table.partitions
        result.dispatch_seconds = sum(each.busy_seconds for each in self._dispatchers)
        return result

    @property
    def _now(self) -> float:
        return self._load.begins + self._number * self._step

    def _is_unfinished(self) -> bool:
        return self.result.ended < self._load.count - HALF_A_RUN

    def _pass_step(self) -> None:
        self._let_become_claimable()
        self._let_become_visible()
        ended = self._workers.pass_step(has_work=self._waiting > HALF_A_RUN)
        self.result.ended += ended * self._batch
        is_deferring = self._is_deferring()
        speed = 1 / DEFERRAL_SHARE if is_deferring else 1.0
        wishes = self._index_admits([each.wishes(self._now, self._step, speed) for each in self._dispatchers])
        room = self._workers.room()
        batches = max(0.0, min(room.batches, self._waiting / self._batch))
        share, held_by = self._table_admits(
            wishes, batches, DEFERRAL_WRITES if is_deferring else self.result.cost.table_writes
        )
        if batches and batches == room.batches:
            self.result.held[room.held_by] += 1
        if held_by and batches:
            self.result.held[f"{held_by}, at the start"] += 1
        self._send(wishes, share)
        self._begin(batches * share)
        self._number += 1

    def _let_become_claimable(self) -> None:
        while self._to_come and self._to_come[0][0] - self._look_ahead <= self._now:
            due, count = self._to_come.popleft()
            for group, dispatcher in enumerate(self._dispatchers):
                for shard, backlog in dispatcher.shards.items():
                    assert shard % len(self._dispatchers) == group
                    backlog.add(due, count * self._shares[shard])

    def _is_deferring(self) -> bool:
        if not self._slots.are_beyond_look_ahead(self._now):
            return False
        return self._slots.is_asked(min(each.oldest for each in self._dispatchers), self._now)

    def _let_become_visible(self) -> None:
        for due, count in self._delayed.pop(self._number, ()):
            self._visible.append([due, count])
            self._hidden -= count

    @property
    def _waiting(self) -> float:
        """Messages that a worker may receive."""
        return self.result.sent - self.result.started - self._hidden

    def _index_admits(self, wishes: list[dict[int, float]]) -> list[dict[int, float]]:
        writes = self.result.cost.index_writes
        asked = [{shard: count * writes for shard, count in each.items()} for each in wishes]
        admitted = self._index.admitted(asked, self._step)
        for each, (_, held_by) in zip(wishes, admitted, strict=True):
            if each:
                self.result.held[held_by or "dispatchers"] += 1
        return [
            {shard: count * share for shard, count in each.items()}
            for each, (share, _) in zip(wishes, admitted, strict=True)
        ]

    def _table_admits(self, wishes: list[dict[int, float]], batches: float, writes: float) -> tuple[float, str]:
        jobs = sum(sum(each.values()) for each in wishes)
        units = jobs * writes + batches * self._batch * RUN_WRITES
        share, held_by = self._table.admitted(units, self._step)
        self.result.table_writes += units * share
        self.result.index_writes += jobs * share * self.result.cost.index_writes
        if held_by and jobs:
            self.result.held[held_by] += len(self._dispatchers)
        return share, held_by

    def _send(self, wishes: list[dict[int, float]], share: float) -> None:
        by_due: defaultdict[float, float] = defaultdict(float)
        for dispatcher, each in zip(self._dispatchers, wishes, strict=True):
            for shard, count in each.items():
                for due, taken in dispatcher.shards[shard].take(count * share):
                    by_due[due] += taken
        for due, count in sorted(by_due.items()):
            self._send_or_defer(due, count)
        if by_due and min(by_due) <= self._load.arrivals[-1][0]:
            self.result.found_through_at = self._now + self._step

    def _send_or_defer(self, due: float, count: float) -> None:
        if not self._slots.is_asked(due, self._now):
            self._send_at(due, due, count)
            return
        for at, given in self._slots.give(count, self._now):
            if at > self._now + self._look_ahead:
                self.result.deferred += given
                self._let_come_at(at, given)
            else:
                self._send_at(at, due, given)

    def _let_come_at(self, at: float, count: float) -> None:
        """Have entries due again; those of one second go together."""
        if self._to_come and at - self._to_come[-1][0] < 1:
            at, there = self._to_come.pop()
            count += there
        self._to_come.append((at, count))

    def _send_at(self, at: float, due: float, count: float) -> None:
        count *= self.result.cost.sends
        delay = delay_seconds(Priority.NORMAL, round(at * 1000), round(self._now * 1000))
        self._delayed[self._number + max(1, round(delay / self._step))].append((due, count))
        self._hidden += count
        self.result.sent += count
        self.result.all_sent_at = self._now + self._step

    def _begin(self, batches: float) -> None:
        if batches <= 0:
            return
        cold = self._workers.begin(batches)
        runs, waiting_for_cold = batches * self._batch, cold * self._batch
        self.result.started += runs
        while runs > NOTHING and self._oldest < len(self._visible):
            portion = self._visible[self._oldest]
            taken = min(portion[1], runs)
            portion[1] -= taken
            runs -= taken
            cold_ones = min(waiting_for_cold, taken)
            waiting_for_cold -= cold_ones
            self._note(portion[0], taken - cold_ones, 0.0)
            self._note(portion[0], cold_ones, facts.COLD_START_SECONDS)
            if portion[1] <= NOTHING:
                self._oldest += 1
        self.result.all_started_at = self._now + self._start_seconds

    def _note(self, due: float, count: float, extra: float) -> None:
        if count > 0 and due >= self._load.counted_from:
            starts_at = self._now + self._start_seconds + extra
            self.result.lateness.note(max(0.0, starts_at - due), count)
            self.result.starts.note(starts_at, count)


def simulate(settings: Settings, load: Load) -> Result:
    """What a stage of these settings makes of a load."""
    return Simulation(settings, load).run()
