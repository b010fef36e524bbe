"""The dispatchers: how fast one works, what it finds in its shards, and when it works at all."""

from collections import deque
from dataclasses import dataclass, field
from math import ceil, inf

from bench.scale import facts
from bench.scale.settings import Settings, Sweep
from bench.scale.work import sizes
from carillon.adapters.dynamodb.fenced import MOST_STATEMENTS
from carillon.adapters.sqs.batches import MOST_ENTRIES
from carillon.application.claim_send_confirm import DispatchRules
from carillon.application.dispatch_group import SLICE_ENTRIES
from carillon.bootstrap import DISPATCH_THREADS

TICK_SECONDS = 0.5
"""How late within its second a tick arrives."""

BUDGET_SECONDS = DispatchRules(groups=1, shards=1, look_ahead_ms=0, retention_ms=0).budget_ms / 1000


def throughput(customers: int, service: float, elsewhere: float) -> float:
    """Rounds a second of so many customers that each take turns: a queue for one server, then a time elsewhere.

    Exact mean value analysis of a closed network. Source: Reiser and Lavenberg, Journal of the ACM 27 (1980).
    """
    waiting = rate = 0.0
    for number in range(1, customers + 1):
        response = service * (1 + waiting)
        rate = number / (elsewhere + response)
        waiting = rate * response
    return rate


def slices_per_second(settings: Settings) -> float:
    """Slices that the threads of one dispatcher get through: they share a processor, and wait for answers."""
    processor = SLICE_ENTRIES * settings.dispatcher_ms / 1000 / settings.dispatcher_processor
    answers = (
        2 * ceil(SLICE_ENTRIES / MOST_STATEMENTS) * facts.BATCH_STATEMENTS_SECONDS
        + ceil(SLICE_ENTRIES / MOST_ENTRIES) * facts.BATCH_SEND_SECONDS
    )
    return throughput(DISPATCH_THREADS, processor, answers)


def occurrences_per_second(settings: Settings) -> float:
    """What one dispatcher gets through when nothing holds it: pages are read between slices, never beside them."""
    page = sizes().entries_of_a_page
    slices = page / SLICE_ENTRIES
    rate = slices_per_second(settings)
    last_round = DISPATCH_THREADS / rate / 2  # threads that have nothing left wait for those that have
    return page / (slices / rate + last_round + facts.PAGE_SECONDS)


NOTHING = 1e-9
"""Amounts are real numbers: what is less is left over by rounding."""

Portion = tuple[float, float]
"""When entries are due (seconds), and how many they are."""


@dataclass
class Backlog:
    """The entries of one shard that may be claimed, oldest first."""

    portions: deque[Portion] = field(default_factory=deque)
    count: float = 0.0

    def add(self, due: float, count: float) -> None:
        """Let entries become claimable."""
        self.portions.append((due, count))
        self.count += count

    def take(self, count: float) -> list[Portion]:
        """Remove the oldest ones."""
        if count >= self.count - NOTHING:
            taken, self.portions, self.count = list(self.portions), deque(), 0.0
            return taken
        taken = []
        self.count = max(self.count - count, NOTHING)
        while self.portions and count > NOTHING:
            due, there = self.portions.popleft()
            now = min(there, count)
            taken.append((due, now))
            count -= now
            if there - now > NOTHING:
                self.portions.appendleft((due, there - now))
        return taken


class Dispatcher:
    """The shards of one group, and the invocation that owns them."""

    def __init__(self, settings: Settings, group: int) -> None:
        self.shards = {shard: Backlog() for shard in range(group, settings.shards, settings.groups)}
        self._sweep = settings.sweep
        self._rate = occurrences_per_second(settings)
        self._works_from: float | None = None
        self.busy_seconds = 0.0

    @property
    def oldest(self) -> float:
        """When the oldest of them is due."""
        return min((backlog.portions[0][0] for backlog in self.shards.values() if backlog.count), default=inf)

    def wishes(self, now: float, step: float, speed: float = 1.0) -> dict[int, float]:
        """How many entries of which shards it would get through in a step that begins now.

        Args:
            now: seconds.
            step: seconds.
            speed: how much faster than a dispatch it does what is to be done.
        """
        if not self._is_at_work(now):
            return {}
        self.busy_seconds += step
        most = self._rate * step * speed
        return self._one_by_one(most) if self._sweep is Sweep.ONE_BY_ONE else self._together(most)

    def _is_at_work(self, now: float) -> bool:
        """It works from a tick on while there is something, and stops at the end of its budget until the next tick."""
        if not any(backlog.count for backlog in self.shards.values()):
            self._works_from = None
            return False
        if self._works_from is None or now >= self._works_from + BUDGET_SECONDS:
            self._works_from = ceil(now) + TICK_SECONDS
        return now >= self._works_from

    def _one_by_one(self, most: float) -> dict[int, float]:
        filled = ((shard, backlog.count) for shard, backlog in self.shards.items() if backlog.count)
        shard, count = next(filled)
        return {shard: min(most, count)}

    def _together(self, most: float) -> dict[int, float]:
        wishes: dict[int, float] = {}
        filled = sorted((backlog.count, shard) for shard, backlog in self.shards.items() if backlog.count)
        for position, (count, shard) in enumerate(filled):
            wishes[shard] = min(count, most / (len(filled) - position))
            most -= wishes[shard]
        return wishes
