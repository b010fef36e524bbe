"""How many slices of due entries go side by side: fewer while the stores and queues ask for less.

Additive increase, multiplicative decrease: half as many after a wave in which somebody asked for less, one more after
one in which nobody did. That is how senders who know nothing of each other come to share what there is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


def never() -> int:
    """The pressure of stores and queues that take everything."""
    return 0


@dataclass(slots=True)
class Width:
    """The width of a process. It outlives an invocation: the next one begins where the last one was slowed down.

    Attributes:
        most: the width while nobody asks for less.
        pressure: how often somebody has asked for less, ever.
        present: the width now.
    """

    most: int = 1
    pressure: Callable[[], int] = never
    present: int = 0
    _known: int = 0

    def __post_init__(self) -> None:
        self.present = self.present or self.most
        self._known = self.pressure()

    def waves(self, slices: Sequence[T]) -> Iterator[Sequence[T]]:
        """The slices in waves, each to be done before the next one; at full width all that are left go together."""
        start = 0
        while start < len(slices):
            size = len(slices) if self.present == self.most else self.present
            yield slices[start : start + size]
            start += size
            self._adapt()

    def _adapt(self) -> None:
        known, self._known = self._known, self.pressure()
        self.present = max(self.present // 2, 1) if self._known > known else min(self.present + 1, self.most)
