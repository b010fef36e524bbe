"""What the model is asked about: a spike, the morning after an outage, and a load that never ends."""

from collections import Counter

from bench.scale.calls import Calls
from bench.scale.settings import Settings
from bench.scale.simulation import Load
from bench.scale.work import DAILY, DUE_MS, job_id
from carillon.domain.job import PlanningRules
from carillon.domain.planning import fire_time

SPIKE = 620_000
OVERDUE = 10_000_000
OUTAGE_SECONDS = 7_200
STEADY_PER_SECOND = 50_000
STEADY_SECONDS, STEADY_WARM_UP_SECONDS = 120, 30
SAMPLED_OFFSETS = 20_000


def spike(settings: Settings, *, schedule: str = DAILY, calls: Calls | None = None, window_seconds: int = 0) -> Load:
    """620,000 runs due in one second; with a window, each job at its own place in it."""
    return Load(
        name="spike",
        arrivals=_in_window(SPIKE, window_seconds),
        begins=-float(settings.look_ahead_seconds),
        step=0.2,
        schedule=schedule,
        calls=calls or Calls(),
    )


def after_outage() -> Load:
    """Ten million runs that were due at midnight, found by a stage that comes back two hours later."""
    return Load(name="after an outage", arrivals=((0.0, OVERDUE),), begins=OUTAGE_SECONDS, step=1.0)


def steady(settings: Settings) -> Load:
    """50,000 runs in each second, long since."""
    return Load(
        name="steady",
        arrivals=tuple((float(second), STEADY_PER_SECOND) for second in range(STEADY_SECONDS)),
        begins=-float(settings.look_ahead_seconds),
        step=0.2,
        warmed_up=True,
        counted_from=STEADY_WARM_UP_SECONDS,
    )


def _in_window(count: int, window_seconds: int) -> tuple[tuple[float, float], ...]:
    """When so many jobs of one schedule are due, by whole seconds: their places in the window are those of the code."""
    if not window_seconds:
        return ((0.0, count),)
    rules = PlanningRules(window_ms=window_seconds * 1000)
    offsets = ((fire_time(job_id(number), rules, DUE_MS) - DUE_MS) // 1000 for number in range(SAMPLED_OFFSETS))
    return tuple((float(second), count * n / SAMPLED_OFFSETS) for second, n in sorted(Counter(offsets).items()))
