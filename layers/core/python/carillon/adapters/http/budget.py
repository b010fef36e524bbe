"""The time that one call has, shared by everything that waits in it."""

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from carillon.domain.outcomes import Failure

_SHORTEST_WAIT_SECONDS = 0.001  # a socket timeout of 0 would mean not to wait at all
T = TypeVar("T")


class CallFailedError(Exception):
    """The call ends here without an answer; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class Budget:
    """One deadline over all waits of a call, and the heartbeat that is due meanwhile.

    Every wait is cut into turns that end at the next beat, so the heart beats in the calling thread and a call that
    was cancelled ends within one beat. Time is the monotonic clock's: setting the system's clock changes nothing.
    """

    def __init__(self, budget_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> None:
        """Begin the call.

        Args:
            budget_ms: how long the call may take from now, ms; nothing is left if it is not positive.
            beat: says that the call is alive; False breaks it off. What it raises ends the call and is raised on.
            beat_every_ms: how long after the beginning, and after each beat, the next beat is due.
        """
        now = monotonic()
        self._began = now
        self._ends = now + budget_ms / 1000
        self._beat = beat
        self._beat_every = beat_every_ms / 1000
        self._next_beat = now + self._beat_every

    def elapsed_ms(self) -> int:
        """How long the call has taken so far."""
        return round((monotonic() - self._began) * 1000)

    def patiently(
        self, wait: Callable[[float], T], *, within_seconds: float | None = None, otherwise: Failure = Failure.TIMEOUT
    ) -> T:
        """The result of a wait that may need several turns.

        Args:
            wait: waits at most so many seconds, raises TimeoutError when they are over, and can be asked again.
            within_seconds: a bound of its own for this wait, inside what is left of the call.
            otherwise: what has failed when the time is over.

        Raises:
            CallFailedError: the time is over, or the call was cancelled.
        """
        ends = self._ends if within_seconds is None else min(self._ends, monotonic() + within_seconds)
        while True:
            turn_ends = min(self._keep_alive(), ends)
            seconds = turn_ends - monotonic()
            if seconds <= 0 and turn_ends == ends:
                raise CallFailedError(otherwise)
            try:
                return wait(max(seconds, _SHORTEST_WAIT_SECONDS))
            except TimeoutError:
                continue

    def _keep_alive(self) -> float:
        """Beat if that is due; when the next beat is."""
        if monotonic() >= self._next_beat:
            if not self._beat():
                raise CallFailedError(Failure.CANCELLED)
            self._next_beat = monotonic() + self._beat_every
        return self._next_beat
