"""Virtual time, and actors that are plain synchronous code of which exactly one runs at any moment.

Events are functions in a heap, by instant. An actor runs inside its event until it returns, or until it is suspended
in the middle of a call of a port: then its thread sleeps, and another thread goes on with the heap until the instant
of waking comes. Only one thread ever holds the baton, and who gets it next is decided by the heap alone, so a run is
the same each time. A hand-over costs some 15 µs; an actor that is never suspended costs none.

So every interleaving at the grain of port calls can be produced, with any number of frozen actors at any depth: what
cannot be is a switch between two lines without a port call between them, where no shared state is touched.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from threading import Lock, Thread
from typing import Any


class KilledError(BaseException):
    """The process that makes the call is gone: nothing after the call happens, not even error handling."""


def _closed() -> Lock:
    lock = Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class _Sleeper:
    turn: Lock = field(default_factory=_closed)


class _Carrier(Thread):
    """A thread that works the heap whenever it is given the baton."""

    idle: "list[_Carrier]" = []  # noqa: RUF012 - the pool of all kernels of this process

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.turn = _closed()
        self.kernel: Kernel | None = None

    def run(self) -> None:
        while True:
            self.turn.acquire()
            kernel, self.kernel = self.kernel, None
            if kernel is not None:
                kernel.lead(self)


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
    _done: Lock = field(default_factory=_closed)
    _broken: BaseException | None = None

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
        self._hand_over()
        self._done.acquire()
        if self._broken is None and not self._heap:
            return True
        self.aborting = True
        self._hand_over()
        self._done.acquire()
        if self._broken is not None:
            raise self._broken
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
        sleeper, current = _Sleeper(), self.current
        self._pushed += 1
        heappush(heap, (wake_at, self._pushed, sleeper))
        self.asleep += 1
        self._hand_over()
        sleeper.turn.acquire()
        self.asleep -= 1
        self.current = current
        if self.aborting:
            raise KilledError

    def lead(self, carrier: _Carrier) -> None:
        """Work the heap as the holder of the baton, until another has it or nothing is left."""
        try:
            while self._heap and (self.aborting or self._heap[0][0] <= self.limit):
                at_ms, _, act = heappop(self._heap)
                self.now = max(self.now, at_ms)
                if type(act) is _Sleeper:
                    _Carrier.idle.append(carrier)
                    act.turn.release()
                    return
                if not self.aborting:
                    act()
        except BaseException as error:  # noqa: BLE001 - handed to whoever called `run`
            self._broken = self._broken or error
        _Carrier.idle.append(carrier)
        self._done.release()

    def _hand_over(self) -> None:
        if _Carrier.idle:
            carrier = _Carrier.idle.pop()
        else:
            carrier = _Carrier()
            carrier.start()
        carrier.kernel = self
        carrier.turn.release()
