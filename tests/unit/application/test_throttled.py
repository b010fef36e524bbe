"""A throttled dispatcher goes on with less at a time, comes back to its width, and loses nothing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from carillon.application import dispatch_group
from carillon.application.claim_send_confirm import Addressed, DispatchCounts
from carillon.application.width import Width
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import Claim, ClaimRefused, ClaimResult
from support.world import START_MS, World

JOBS = 30


@dataclass
class Throttled:
    """A world whose stores and queue ask for less, for as long as they are told to."""

    world: World
    claims: int = 0
    """Of so many requests to claim every second claim is throttled."""
    sends: int = 0
    """Of so many requests to send every second message is throttled."""
    seen: int = 0
    waves: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._claim_many, self._send = self.world.jobs.claim_many, self.world.queues.send
        self.world.jobs.claim_many = self.claim_many  # type: ignore[method-assign]
        self.world.queues.send = self.send  # type: ignore[method-assign]

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Claim, or claim every second."""
        if not self.claims or not claims:
            return self._claim_many(claims)
        self.claims, self.seen = self.claims - 1, self.seen + 1
        answered = iter(self._claim_many(claims[::2]))
        return [next(answered) if at % 2 == 0 else ClaimRefused(claim, None) for at, claim in enumerate(claims)]

    def send(self, messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        """Send, or send every second."""
        if not self.sends or not messages:
            return self._send(messages, clock)
        self.sends, self.seen = self.sends - 1, self.seen + 1
        answered = iter(self._send(messages[::2], clock))
        return [next(answered) if at % 2 == 0 else False for at, _ in enumerate(messages)]

    def spread(self, function: Callable[[Any], Any], values: Iterable[Any]) -> Iterable[Any]:
        """One after the other, noting how many there are."""
        values = list(values)
        if values and not hasattr(values[0], "send"):  # readers of the index are generators
            self.waves.append(len(values))
        return map(function, values)

    def dispatch(self, width: Width) -> DispatchCounts:
        """One tick."""
        return replace(self.world.dispatcher(), spread=self.spread, width=width)(0)


@pytest.mark.parametrize(("claims", "sends"), [(3, 0), (0, 3), (4, 4)], ids=["table", "queue", "both"])
def test_throttling_slows_the_loop_down_and_loses_nothing(
    claims: int, sends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every job runs once; the slices side by side become fewer, and all again."""
    monkeypatch.setattr(dispatch_group, "SLICE_ENTRIES", 2)
    throttled = Throttled(World(), claims, sends)
    world = throttled.world
    jobs = [world.create(OneOff(START_MS + 5_000)) for _ in range(JOBS)]
    width = Width(8, lambda: throttled.seen)
    for _ in range(60):
        throttled.dispatch(width)
        world.work()
        world.clock.advance(1_000)
    assert throttled.waves[0] == JOBS // 2
    assert min(throttled.waves[1:]) <= 4
    assert [world.run_of(job, START_MS + 5_000).state for job in jobs] == [RunState.SUCCEEDED] * JOBS
    assert len(world.caller.calls) == JOBS
    assert sum(len(runs) for runs in world.state.runs.values()) == JOBS


@pytest.mark.parametrize(
    ("pressures", "waves"),
    [
        ([0, 0], [20]),
        ([1, 1, 1, 1, 1], [20]),
        ([1, 1, 1, 1, 1, 1, 1], [20]),
    ],
)
def test_at_full_width_all_slices_go_together(pressures: list[int], waves: list[int]) -> None:
    """Nobody waits for a wave while nobody is throttled, nor in the wave in which the first one is."""
    told = iter([0, *pressures])
    assert [len(wave) for wave in Width(8, lambda: next(told)).waves(range(20))] == waves


def test_half_as_many_after_a_throttle_one_more_after_none() -> None:
    """Eight, then four, two, one and never none; up again one by one; then all that are left."""
    told = iter([0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    width = Width(8, lambda: next(told))
    list(width.waves(range(1)))
    assert [len(wave) for wave in width.waves(range(100))] == [4, 2, 1, 1, 2, 3, 4, 5, 6, 7, 65]
    assert width.present == 8


def test_the_next_invocation_begins_where_the_last_one_was_slowed_down() -> None:
    """A process remembers its width: it does not run into the same wall each second."""
    told = iter([0, 3, 3])
    width = Width(8, lambda: next(told))
    list(width.waves(range(20)))
    assert [len(wave) for wave in width.waves(range(4))] == [4]
    assert width.present == 5


def test_an_interrupted_owner_gives_its_group_up() -> None:
    """A store that does not answer ends the tenure; the next tick may go on at once, and nothing is lost."""
    world = World()
    job_id = world.create(OneOff(START_MS + 5_000))
    send = world.queues.send

    def silent(*_: Any) -> list[bool]:
        world.queues.send = send  # type: ignore[method-assign]
        raise UnavailableError

    world.queues.send = silent  # type: ignore[method-assign]
    world.dispatch()
    assert world.meter.counts["dispatch_interrupted"] == 1
    assert world.state.leases[0].until == 0
    world.run_until(START_MS + 60_000)
    assert world.run_of(job_id, START_MS + 5_000).state is RunState.SUCCEEDED


def test_a_hot_group_is_told_by_its_number() -> None:
    """It runs out of time with work left, and sends late: both are counted, the lateness under the group."""
    world = World(shards=2, groups=2, page_size=1)
    for shard in (0, 1, 1, 1):
        world.create(OneOff(START_MS + 1_000), shard=shard)
    world.clock.advance(6_000)
    assert world.dispatcher()(0).sent == 1
    confirm = world.jobs.confirm_many

    def slow(confirmations: Any) -> list[bool]:
        world.clock.advance(25_000)
        return confirm(confirmations)

    world.jobs.confirm_many = slow  # type: ignore[method-assign]
    world.dispatcher()(1)
    assert world.meter.counts["group_overrun"] == 1
    assert world.meter.durations_ms["group_lag_ms:0"] == [5_000]
    assert world.meter.durations_ms["group_lag_ms:1"] == [30_000]


def test_a_group_in_time_writes_no_metric_of_its_own() -> None:
    """A stage in order pays for no figure of a group."""
    world = World()
    world.create(OneOff(START_MS + 1_000))
    world.dispatch()
    assert set(world.meter.durations_ms) == {"dispatch_lag_ms"}
    assert set(world.meter.counts) == {"occurrences_sent"}
