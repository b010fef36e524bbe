"""Counts of runs, and the figures of queues, in memory."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from carillon.adapters.memory.state import MemoryState
from carillon.domain.statistics import Ending, Tally, Told, Window, tally
from carillon.ports.statistics import QueueFigures


class MemoryStatistics:
    """Counts of runs that have ended."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def count(self, told: Sequence[Told]) -> None:
        """Count endings, each once however often it is told of."""
        with self._state.lock:
            for one in told:
                self._state.endings.setdefault(one.event, one.ending)

    def between(self, tenant: str, window: Window) -> Mapping[int, Tally]:
        """A tenant's counts by the beginnings of the hours."""
        found: defaultdict[int, list[Ending]] = defaultdict(list)
        with self._state.lock:
            for each in self._state.endings.values():
                if each.tenant == tenant and each.hour in window.hours:
                    found[each.hour].append(each)
        return {hour: tally(endings) for hour, endings in found.items()}


class MemoryGauges:
    """Figures of queues, as they are set."""

    def __init__(self) -> None:
        self.figures: dict[str, QueueFigures] = {}

    def read(self) -> Mapping[str, QueueFigures]:
        """The figures."""
        return dict(self.figures)
