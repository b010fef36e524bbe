"""What became of a tenant's runs, and what waits in the queues of the stage."""

from collections.abc import Mapping
from dataclasses import dataclass

from carillon.domain.statistics import Tally, Window, total_of, window_of
from carillon.ports.statistics import QueueFigures, QueueGauges, StatisticsStore

NOTHING = Tally()


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of a window: together, and of each of its hours by its beginning (epoch ms), oldest first."""

    window: Window
    total: Tally
    hours: Mapping[int, Tally]
    queues: Mapping[str, QueueFigures]


@dataclass(frozen=True, slots=True)
class ReadStatistics:
    """Reads statistics."""

    store: StatisticsStore
    gauges: QueueGauges

    def __call__(self, tenant: str, since_ms: int | None, until_ms: int | None, now_ms: int) -> Statistics:
        """A tenant's counts in the whole hours around a window, with the queues' figures as they are now.

        Raises:
            BadWindowError: there are no statistics of it.
            UnavailableError: nobody answered.
        """
        window = window_of(since_ms, until_ms, now_ms)
        counted = self.store.between(tenant, window)
        hours = {hour: counted.get(hour, NOTHING) for hour in window.hours}
        return Statistics(window, total_of(counted.values()), hours, self.gauges.read())
