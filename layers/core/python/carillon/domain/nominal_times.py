"""The one interface of all schedules: what plans, previews and fires them asks nothing else."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from carillon.domain.instants import FIRST_INSTANT_MS, LAST_INSTANT_MS
from carillon.domain.schedule_error import ScheduleError


@dataclass(frozen=True, slots=True)
class Missed:
    """The nominal times of an outage: how many, the first and the last, and the newest of them, oldest first."""

    count: int
    first_ms: int
    last_ms: int
    newest_ms: tuple[int, ...]


class Schedule(ABC):
    """A sequence of nominal times, each a UTC instant in epoch milliseconds, none twice."""

    __slots__ = ()

    @abstractmethod
    def next_after(self, after_ms: int) -> int | None:
        """The first nominal time strictly later than `after_ms`, or None when there is none."""

    @abstractmethod
    def previous_before(self, before_ms: int) -> int | None:
        """The last nominal time strictly earlier than `before_ms`, or None when there is none."""

    @abstractmethod
    def count(self, after_ms: int, until_ms: int) -> int:
        """How many nominal times lie in (after, until], without listing them."""

    def between(self, after_ms: int, until_ms: int, limit: int | None = None) -> Iterator[int]:
        """The nominal times in (after, until], ascending, at most `limit` of them."""
        return islice(self._ascending(after_ms, until_ms), limit)

    def newest(self, after_ms: int, until_ms: int, limit: int) -> tuple[int, ...]:
        """The last `limit` nominal times in (after, until], ascending."""
        return tuple(islice(self._descending(after_ms, until_ms), limit))[::-1]

    def missed(self, after_ms: int, until_ms: int, newest: int) -> Missed | None:
        """What lies in (after, until], with the last `newest` listed; None when nothing does."""
        first, last = self.next_after(after_ms), self.previous_before(until_ms + 1)
        if first is None or last is None or first > until_ms:
            return None
        return Missed(self.count(after_ms, until_ms), first, last, self.newest(after_ms, until_ms, newest))

    def _ascending(self, after_ms: int, until_ms: int) -> Iterator[int]:
        nominal = self.next_after(after_ms)
        while nominal is not None and nominal <= until_ms:
            yield nominal
            nominal = self.next_after(nominal)

    def _descending(self, after_ms: int, until_ms: int) -> Iterator[int]:
        nominal = self.previous_before(until_ms + 1)
        while nominal is not None and nominal > after_ms:
            yield nominal
            nominal = self.previous_before(nominal)


def start_or_first(start_ms: int | None) -> int:
    """The start of a schedule; without one, the first instant there is."""
    return FIRST_INSTANT_MS if start_ms is None else start_ms


def end_or_last(end_ms: int | None) -> int:
    """The end of a schedule; without one, the last instant there is."""
    return LAST_INSTANT_MS if end_ms is None else end_ms


def check_instant(instant_ms: int, field: str) -> None:
    """Refuse what lies outside the years 1970 to 9999.

    Raises:
        ScheduleError: At `field`.
    """
    if not FIRST_INSTANT_MS <= instant_ms <= LAST_INSTANT_MS:
        raise ScheduleError(field, "outside the years 1970 to 9999", "an instant from 1970 to 9999")


def check_bounds(start_ms: int | None, end_ms: int | None) -> None:
    """Refuse a start or an end that is no instant, and an end before the start.

    Raises:
        ScheduleError: At `start_at` or `end_at`.
    """
    check_instant(start_or_first(start_ms), "start_at")
    check_instant(end_or_last(end_ms), "end_at")
    if end_or_last(end_ms) < start_or_first(start_ms):
        raise ScheduleError("end_at", "earlier than start_at", "an instant that is not earlier than start_at")
