"""How long calls of targets take, and so how long an invocation is busy with a batch of them."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from statistics import NormalDist

from bench.scale import facts
from bench.scale.settings import Settings

POINTS = 20
"""Equally likely durations that stand for a distribution."""


@dataclass(frozen=True)
class Calls:
    """Durations of calls: lognormal, and some that hang until their time-out.

    Attributes:
        mean_seconds: of those that do not hang.
        spread: standard deviation of the duration's logarithm.
        hanging: the share of calls that hang.
        timeout_seconds: when they are given up; 15 s is what a job has that says nothing.
    """

    mean_seconds: float = 0.3
    spread: float = 0.7
    hanging: float = 0.001
    timeout_seconds: float = 15.0

    @cached_property
    def _logarithm(self) -> NormalDist:
        return NormalDist(log(self.mean_seconds) - self.spread**2 / 2, self.spread)

    def quantile(self, share: float) -> float:
        """The duration that this share of calls does not exceed."""
        if share >= 1 - self.hanging:
            return self.timeout_seconds
        return min(exp(self._logarithm.inv_cdf(share / (1 - self.hanging))), self.timeout_seconds)

    def slowest_of(self, number: int) -> tuple[float, ...]:
        """Equally likely durations of the slowest of so many calls: all stay below what its root of a share does."""
        return tuple(self.quantile(((point + 0.5) / POINTS) ** (1 / number)) for point in range(POINTS))


def batch_seconds(calls: Calls, settings: Settings) -> tuple[float, ...]:
    """Equally likely durations of an invocation of the worker with a full batch, all side by side.

    The slowest call decides, beside the reads and writes around it and the processor's share in all of them.
    """
    around = 3 * facts.ITEM_SECONDS + settings.batch * settings.worker_ms / 1000 / settings.worker_processor
    return tuple(around + slowest for slowest in calls.slowest_of(settings.batch))


def start_seconds(settings: Settings) -> float:
    """From the receipt of a batch to the start of its runs: a read, a write, and half of the processor's work."""
    return 2 * facts.ITEM_SECONDS + settings.batch * settings.worker_ms / 1000 / settings.worker_processor / 2
