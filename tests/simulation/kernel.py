"""Virtual time, and actors that are plain synchronous code of which exactly one runs at any moment.

Events are functions in a heap, by instant. An actor runs inside its event until it returns, or until it is suspended
in the middle of a call of a port: then its greenlet keeps its stack, and another one goes on with the heap until the
instant of waking comes. Who goes on next is decided by the heap alone, so a run is the same each time. An actor that is
never suspended costs no switch at all.

So every interleaving at the grain of port calls can be produced, with any number of frozen actors at any depth: what
cannot be is a switch between two lines without a port call between them, where no shared state is touched.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from greenlet import getcurrent, greenlet


class KilledError(BaseException):
    """The process that makes the call is gone: nothing after the call happens, not even error handling."""


@dataclass(slots=True)
class Kernel:
    """The heap of events and the only true clock, epoch ms.

    Attributes:
        now: the present.
        limit: what lies later than this does not happen any more.
        current: whoever acts now: kept across suspensions.
        asleep: how many actors are suspended.
    """

    now: int
    limit: float = math.inf
    current: Any = None
    asleep: int = 0
    aborting: bool = False
    _heap: list[tuple[int, int, Any]] = field(default_factory=list)
    _pushed: int = 0
    _root: greenlet = field(default_factory=getcurrent)
    _idle: list[greenlet] = field(default_factory=list)
    _lacks_leader: bool = False

    def now_ms(self) -> int:
        """The present: the clock of stores and queues."""
        return self.now

    def sleep_ms(self, duration_ms: int) -> None:
        """Let time pass."""
        self.suspend(duration_ms)

    def at(self, at_ms: int, act: Callable[[], None]) -> None:
        """Let something happen at an instant."""
        self._pushed += 1
        heappush(self._heap, (at_ms, self._pushed, act))

    def next_at(self) -> int | None:
        """When the next thing happens."""
        return self._heap[0][0] if self._heap else None

    def run(self) -> bool:
        """Work until nothing is left; False when the limit was reached first, and whoever was suspended is gone."""
        self._root = getcurrent()
        self._work_off()
        if not self._heap:
            return True
        self.aborting = True
        self._work_off()
        return False

    def suspend(self, duration_ms: int) -> None:
        """Let the others act for so long.

        Raises:
            KilledError: the world has ended meanwhile.
        """
        if self.aborting:
            raise KilledError
        wake_at, heap = self.now + duration_ms, self._heap
        if not heap or heap[0][0] > wake_at:
            self.now = wake_at
            return
        current = self.current
        self._pushed += 1
        heappush(heap, (wake_at, self._pushed, getcurrent()))
        self.asleep += 1
        self._step_aside()
        self.asleep -= 1
        self.current = current
        if self.aborting:
            raise KilledError

    def _work_off(self) -> None:
        """Let greenlets work the heap to its end. New ones begin here, for their stacks to begin at the bottom, too."""
        self._lacks_leader = True
        while self._lacks_leader:
            self._lacks_leader = False
            (self._idle.pop() if self._idle else greenlet(self._lead)).switch()

    def _step_aside(self) -> None:
        """Let another greenlet work the heap until this one's instant of waking comes."""
        if self._idle:
            self._idle.pop().switch()
            return
        self._lacks_leader = True
        self._root.switch()

    def _lead(self) -> None:
        while True:
            next_one = self._work()
            self._idle.append(getcurrent())
            next_one.switch()

    def _work(self) -> greenlet:
        """Work the heap until a suspended actor wakes up, or nothing is left; who goes on then."""
        heap = self._heap
        while heap and (self.aborting or heap[0][0] <= self.limit):
            at_ms, _, act = heappop(heap)
            self.now = max(self.now, at_ms)
            if type(act) is greenlet:
                return act
            if not self.aborting:
                act()
        return self._root
