"""Ports of statistics: counts of runs that have ended, and what waits in the queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from carillon.domain.statistics import Tally, Told, Window


class StatisticsStore(Protocol):
    """Counts of a tenant's runs by the hour in which they ended."""

    def count(self, told: Sequence[Told]) -> None:
        """Count endings, each once however often it is told of.

        What is told again may come in other portions, but in the same order, and from where an earlier portion began
        or ended: as a stream tells that is gone through by one reader.

        Args:
            told: in the order of the stream.

        Raises:
            UnavailableError: nobody answered, or others kept coming first: a part may be counted, and is not again.
        """
        ...

    def between(self, tenant: str, window: Window) -> Mapping[int, Tally]:
        """A tenant's counts by the beginnings of the hours (epoch ms); hours in which nothing ended are left out."""
        ...


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """What waits in a queue of the stage, about; None: that cannot be known now.

    Attributes:
        waiting: messages that a worker may take.
        delayed: messages that are not due yet.
        in_flight: messages that a worker has taken.
        oldest_age_seconds: for how long the oldest of all has been in the queue.
    """

    waiting: int | None = None
    delayed: int | None = None
    in_flight: int | None = None
    oldest_age_seconds: int | None = None


class QueueGauges(Protocol):
    """What waits in the work queues."""

    def read(self) -> Mapping[str, QueueFigures]:
        """The figures of each work queue by its name. What is not known is None; it raises nothing."""
        ...
