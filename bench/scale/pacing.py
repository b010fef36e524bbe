"""Slots: when overdue runs may start, so that a recovery is no spike of its own.

Each tenant's overdue runs get one slot after another at the stage's catch-up rate. With equally many for each tenant,
all tenants together are one row of slots that is as many times as dense.
"""

from bench.scale.settings import Settings

LATE_AFTER_SECONDS = 60
"""What is later than this when it is found is paced."""


class Slots:
    """The slots of all tenants. Times in seconds."""

    def __init__(self, settings: Settings, tenants: int) -> None:
        self._rate = None if settings.catch_up_rate is None else float(settings.catch_up_rate * tenants)
        self._look_ahead = settings.look_ahead_seconds
        self._free_from = float("-inf")

    def is_asked(self, due: float, now: float) -> bool:
        """Whether what is due then has to ask for slots now."""
        return self._rate is not None and due < now - LATE_AFTER_SECONDS

    def first_free(self, now: float) -> float:
        """The first slot that can still be given."""
        return max(self._free_from, now)

    def are_beyond_look_ahead(self, now: float) -> bool:
        """Whether all that asks now has to be moved to its slot."""
        return self.first_free(now) > now + self._look_ahead

    def give(self, count: float, now: float) -> list[tuple[float, float]]:
        """Give slots to so many; returns how many of them start when, by the second."""
        assert self._rate is not None
        given: list[tuple[float, float]] = []
        while count > 0:
            at = self.first_free(now)
            piece = min(count, self._rate)
            self._free_from = at + piece / self._rate
            given.append((at, piece))
            count -= piece
        return given
