"""The ticker: no gap and no pile, however often, late or never it is called."""

from collections import Counter
from collections.abc import Sequence

import pytest

from carillon.adapters.memory.world import MemoryWorld
from carillon.application.extend_ticks import COVER_AHEAD_SECONDS, ExtendTicks
from carillon.domain.messages import Tick


class Queue:
    """A tick queue that records what it accepts; `refuse` are the positions of a call's ticks that it does not."""

    def __init__(self) -> None:
        self.sent: list[Tick] = []
        self.refuse: set[int] = set()
        self.die_after: int | None = None

    def send(self, ticks: Sequence[Tick], now_ms: int) -> list[bool]:
        """Accept, refuse, or die."""
        del now_ms
        answers = [position not in self.refuse for position in range(len(ticks))]
        self.sent += [tick for tick, accepted in zip(ticks, answers, strict=True) if accepted]
        if self.die_after is not None and len(self.sent) >= self.die_after:
            raise KeyboardInterrupt
        return answers

    def seconds(self, group: int = 0) -> Counter[int]:
        """How often each second was sent to a group."""
        return Counter(tick.second for tick in self.sent if tick.group == group)


def ticker(world: MemoryWorld, queue: Queue, groups: int = 1) -> ExtendTicks:
    """A ticker, as a new process would build it."""
    return ExtendTicks(world.ticks, queue, world.clock, world.ids, world.meter, groups)


def missing(queue: Queue, first: int, last: int, group: int = 0) -> list[int]:
    """The seconds of a range that no tick was sent for."""
    sent = queue.seconds(group)
    return [second for second in range(first, last) if not sent[second]]


@pytest.mark.parametrize(
    "calls_at",
    [
        [0, 60, 120, 180],
        [0, 119, 120, 180],
        [0, 0, 0, 60, 60, 61, 120, 180],
        [0, 60, 178, 179],
        [0, 1, 2, 3, 4, 100, 180],
    ],
    ids=["punctual", "a-minute-late", "twice", "skipped-once", "eager"],
)
def test_every_second_has_one_tick(calls_at: list[int]) -> None:
    """Whatever the scheduler does, each second of each group gets exactly one tick."""
    world, queue = MemoryWorld(), Queue()
    start = world.clock.now_ms() // 1000
    for at in calls_at:
        world.clock.set((start + at) * 1000 + 250)
        ticker(world, queue, groups=3)()
    for group in range(3):
        assert not missing(queue, start, start + 180, group)
        assert set(queue.seconds(group).values()) == {1}


def test_the_range_reaches_two_minutes_ahead() -> None:
    """One call covers now and the next two minutes, no more."""
    world, queue = MemoryWorld(), Queue()
    counts = ticker(world, queue)()
    assert (counts.sent, max(queue.seconds()) + 1) == (COVER_AHEAD_SECONDS, counts.covered_until)


def test_after_a_long_silence_nothing_past_is_sent() -> None:
    """Seconds that are over need no tick."""
    world, queue = MemoryWorld(), Queue()
    ticker(world, queue)()
    queue.sent.clear()
    world.clock.advance(3_600_000)
    ticker(world, queue)()
    assert min(queue.seconds()) == world.clock.now_ms() // 1000


def test_a_crash_repeats_at_most_one_step() -> None:
    """A ticker that dies after sending and before recording leaves no gap; the next one repeats that step only."""
    world, queue = MemoryWorld(), Queue()
    start = world.clock.now_ms() // 1000
    queue.die_after = 35
    with pytest.raises(KeyboardInterrupt):
        ticker(world, queue)()
    queue.die_after = None
    world.clock.advance(60_000)
    ticker(world, queue)()
    assert not missing(queue, start + 60, start + 180)
    assert max(queue.seconds().values()) <= 2
    assert not missing(queue, start, start + 35)


def test_two_at_once_do_not_pile_up() -> None:
    """While one extends the range, another leaves it alone."""
    world, queue = MemoryWorld(), Queue()
    assert world.ticks.begin("another", world.clock.now_ms(), 30_000) == 0
    assert ticker(world, queue)().sent == 0
    assert not queue.sent


def test_what_the_queue_refuses_is_sent_by_the_next_call() -> None:
    """A refused tick stays uncovered, and so does everything behind it."""
    world, queue = MemoryWorld(), Queue()
    start = world.clock.now_ms() // 1000
    queue.refuse = {3}
    ticker(world, queue)()
    assert world.state.ticks.covered_until == start + 3
    queue.refuse = set()
    ticker(world, queue)()
    assert not missing(queue, start, start + COVER_AHEAD_SECONDS)
    assert world.meter.counts["ticks_refused"] == 1


def test_a_clock_that_was_a_day_ahead_stops_no_ticks() -> None:
    """What it has covered is not believed by one that is right: each second has its tick, and a metric tells of it."""
    world, queue = MemoryWorld(), Queue()
    start = world.clock.now_ms() // 1000
    world.clock.set((start + 86_400) * 1000)
    ticker(world, queue)()
    queue.sent.clear()
    for minute in range(3):
        world.clock.set((start + 60 * minute) * 1000)
        ticker(world, queue)()
    assert not missing(queue, start, start + 240)
    assert world.meter.counts["ticks_far_ahead"] == 3
