"""Two endpoints of one tenant are down, one hangs and one refuses: what others and their workers notice of it.

Under a virtual clock, with the real dispatcher and workers over the memory stores. The event source mapping is a model:
it begins with five invocations, adds five a second while all are busy, hands over ten messages each, and takes first
what belongs to whoever has the fewest in flight, as fair queues do. Each environment keeps what it knows of breakers.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from carillon.adapters.memory.queues import MemoryDelivery
from carillon.adapters.memory.tenants import MemoryBreakers
from carillon.adapters.remembering import RememberingBreakers
from carillon.application.breakers import Breakers
from carillon.application.execute_run import ExecuteRun
from carillon.domain.breaker import BreakerRules
from carillon.domain.job import HttpTarget
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered, failed
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import Every, OneOff
from simulation.kernel import Kernel
from tests.support.world import NEIGHBOUR, START_MS, World

SECOND_MS = 1_000
BAD_RUNS = 2_000
"""More than what is called before the breakers open: ten thousand make no difference but to the test's own time."""

MOST_INVOCATIONS, FIRST_INVOCATIONS, MORE_A_SECOND = 250, 5, 5
"""Of the normal queue in `prod`: its cap, and the ramp of a mapping in standard mode."""

BATCH = 10
POLL_MS = 50
ANSWER_MS = 100
LENGTH_MS = 180 * SECOND_MS
HANGS, REFUSES, WELL = (HttpTarget(f"https://{name}.example.net/") for name in ("hangs", "refuses", "well"))
NEVER = BreakerRules(failures=1_000_000)


@dataclass
class SlowWorld(World):
    """The system under virtual time in which calls take time."""

    kernel: Kernel = field(default_factory=lambda: Kernel(START_MS))

    def make_clock(self) -> Any:
        """The kernel's."""
        return self.kernel


@dataclass
class Targets:
    """One hangs, one refuses, all others answer. Every call is noted."""

    kernel: Kernel
    calls: Counter[str] = field(default_factory=Counter)

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """Take the time that the target takes."""
        del beat, beat_every_ms
        self.calls[request.url] += 1
        if request.url == HANGS.url:
            self.kernel.suspend(deadline_ms - self.kernel.now)
            return failed(Failure.TIMEOUT, started_ms=0, duration_ms=0)
        self.kernel.suspend(ANSWER_MS)
        if request.url == REFUSES.url:
            return failed(Failure.CONNECT_ERROR, started_ms=0, duration_ms=0)
        return answered(status=200, started_ms=0, duration_ms=ANSWER_MS)


class Mapping:
    """The event source mapping and the environments that it invokes."""

    def __init__(self, world: SlowWorld, targets: Targets, rules: BreakerRules) -> None:
        self._world, self._targets = world, targets
        self._idle = [self._environment(rules) for _ in range(MOST_INVOCATIONS)]
        self._in_flight: Counter[str] = Counter()
        self._busy = 0
        self._may_run = FIRST_INVOCATIONS
        self.invocation_ms = 0
        self.most_busy = 0

    def _environment(self, rules: BreakerRules) -> ExecuteRun:
        world = self._world
        store = RememberingBreakers(MemoryBreakers(world.state), world.kernel)
        breakers = Breakers(store, world.meter, world.ids, rules)
        return world.worker(self._targets, breakers)

    def poll(self) -> None:
        """Hand over what is visible, as far as there are invocations for it."""
        while self._busy < self._may_run and (batch := self._receive()):
            self._invoke(batch)

    def grow(self) -> None:
        """Once a second: more invocations, if all are busy."""
        if self._busy == self._may_run:
            self._may_run = min(MOST_INVOCATIONS, self._may_run + MORE_A_SECOND)

    def _receive(self) -> list[MemoryDelivery]:
        visible = [d for queue in self._world.queues.queues.values() for d in queue.receive(100_000, 120_000)]
        by_group: defaultdict[str, list[MemoryDelivery]] = defaultdict(list)
        for delivery in visible:
            by_group[delivery.group].append(delivery)
        chosen: list[MemoryDelivery] = []
        while by_group and len(chosen) < BATCH:
            group = min(by_group, key=lambda name: self._in_flight[name])
            chosen.append(by_group[group].pop(0))
            self._in_flight[group] += 1
            if not by_group[group]:
                del by_group[group]
        for left in by_group.values():
            for delivery in left:
                delivery.come_again_after(0)
        return chosen

    def _invoke(self, batch: Sequence[MemoryDelivery]) -> None:
        kernel, execute, begun = self._world.kernel, self._idle.pop(), self._world.kernel.now
        self._busy += 1
        self.most_busy = max(self.most_busy, self._busy)
        open_ones = [len(batch)]

        def handle(delivery: MemoryDelivery) -> None:
            if execute(delivery, begun + 90 * SECOND_MS):
                delivery.delete()
            self._in_flight[delivery.group] -= 1
            open_ones[0] -= 1
            if not open_ones[0]:
                self._busy -= 1
                self._idle.append(execute)
                self.invocation_ms += kernel.now - begun

        for delivery in batch:
            kernel.at(kernel.now, partial(handle, delivery))


@dataclass
class Seen:
    """What came of a run of the model."""

    lateness_ms: list[int]
    neighbours: int
    calls: Counter[str]
    attempts: int
    invocation_ms: int
    most_busy: int


def a_while(*, bad_runs: int, rules: BreakerRules) -> Seen:
    """Three minutes of a neighbour with two runs a second, beside a tenant with runs to endpoints that are down."""
    world = SlowWorld()
    kernel, targets = world.kernel, Targets(world.kernel)
    mapping = Mapping(world, targets, rules)
    for _ in range(2):
        world.create(Every(SECOND_MS, START_MS, end_ms=START_MS + LENGTH_MS), target=WELL, tenant=NEIGHBOUR)
    retry = RetryPolicy(max_attempts=5)
    bad = [
        world.create(OneOff(START_MS + 10 * SECOND_MS), target=(HANGS, REFUSES)[number % 2], retry=retry)
        for number in range(bad_runs)
    ]
    for at_ms in range(START_MS, START_MS + LENGTH_MS, SECOND_MS):
        kernel.at(at_ms, lambda: world.dispatch() and None)
        kernel.at(at_ms, mapping.grow)
    for at_ms in range(START_MS, START_MS + LENGTH_MS + 5 * SECOND_MS, POLL_MS):
        kernel.at(at_ms, mapping.poll)
    kernel.run()
    runs = {job_id: list(world.state.runs[job_id].values()) for job_id in world.state.jobs}
    neighbours = [run for job_id, own in runs.items() if world.state.jobs[job_id].tenant == NEIGHBOUR for run in own]
    return Seen(
        lateness_ms=sorted(run.lateness_ms or 0 for run in neighbours),
        neighbours=len(neighbours),
        calls=targets.calls,
        attempts=max((run.attempt for job_id in bad for run in runs[job_id]), default=0),
        invocation_ms=mapping.invocation_ms,
        most_busy=mapping.most_busy,
    )


def p99(lateness_ms: Sequence[int]) -> int:
    """The 99th percentile; what is late by less than one look of the mapping counts as one look."""
    return max(lateness_ms[len(lateness_ms) * 99 // 100], POLL_MS)


def bad_calls(seen: Seen) -> int:
    """How often the endpoints that are down were called."""
    return seen.calls[HANGS.url] + seen.calls[REFUSES.url]


def test_endpoints_that_are_down_cost_neighbours_and_workers_little() -> None:
    """Neighbours are as punctual as alone; attempts and invocations are a small part of those without breakers."""
    alone = a_while(bad_runs=0, rules=BreakerRules())
    beside = a_while(bad_runs=BAD_RUNS, rules=BreakerRules())
    unprotected = a_while(bad_runs=BAD_RUNS, rules=NEVER)
    assert alone.neighbours == beside.neighbours == unprotected.neighbours > 2 * LENGTH_MS // SECOND_MS
    assert p99(beside.lateness_ms) <= 1.2 * p99(alone.lateness_ms)
    assert bad_calls(unprotected) == 5 * BAD_RUNS, "without breakers all attempts are spent"
    assert bad_calls(beside) <= bad_calls(unprotected) // 20
    assert beside.attempts < unprotected.attempts == 5, "no run has spent all of its attempts on probes"
    assert beside.invocation_ms <= unprotected.invocation_ms // 8
    assert beside.most_busy <= unprotected.most_busy // 2
